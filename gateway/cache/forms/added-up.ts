/** Fields of many pieces, added up to those of the whole. */
import { isJson } from '../../dialects/json-shape.ts';
import type { Json } from '../../providers/provider.ts';

/** Appends a text. False: what is there, or what comes, is none. */
export function addText(whole: Json, field: string, piece: unknown): boolean {
  const before = whole[field] ?? '';
  if (typeof before !== 'string' || typeof piece !== 'string') return false;
  whole[field] = before + piece;
  return true;
}

/** A field of which nobody knows how its pieces belong together: one piece alone is the whole. */
export function setOnce(whole: Json, field: string, piece: unknown): boolean {
  if (Object.hasOwn(whole, field) && whole[field] !== null) return false;
  whole[field] = piece;
  return true;
}

/** Lists of an object, each followed by what comes, e.g. `logprobs.content`; null says nothing. False: something is no list. */
export function addLists(before: unknown, piece: unknown): Json | undefined {
  if (!isJson(piece)) return undefined;
  const whole: Json = isJson(before) ? before : {};
  for (const [field, items] of Object.entries(piece)) {
    const known = whole[field];
    if (items === null) whole[field] ??= null;
    else if (!Array.isArray(items)) return undefined;
    else if (Array.isArray(known)) known.push(...items);
    else whole[field] = [...items];
  }
  return whole;
}

export function without(from: Json, fields: ReadonlySet<string>): Json {
  const rest: Json = {};
  for (const field of Object.keys(from)) if (!fields.has(field)) rest[field] = from[field];
  return rest;
}
