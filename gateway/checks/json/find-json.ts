/** The JSON in what a model says: all of it, a fenced block, or the first object or list in prose. */
import { findFences } from './fences.ts';

/** Deeper JSON is not looked into: recursion would end in a full stack. */
const MAX_DEPTH = 64;
/** Places where an object or list may begin in prose. */
const MAX_STARTS = 16;
const MAX_FOUND = 16;

/** Every JSON value that stands on its own, in the text's order; none: empty. Bounded in count, depth and time. */
export function findJson(text: string): readonly unknown[] {
  const whole = parse(text);
  if (whole !== undefined) return [whole];
  const fenced = findFences(text)
    .filter(({ tag }) => tag === '' || tag.startsWith('json'))
    .slice(0, MAX_FOUND)
    .map(({ inside }) => parse(inside))
    .filter((value) => value !== undefined);
  return fenced.length > 0 ? fenced : inProse(text);
}

function inProse(text: string): readonly unknown[] {
  const starts = text.matchAll(/[[{]/g);
  for (let tries = 0; tries < MAX_STARTS; tries++) {
    const next = starts.next();
    if (next.done) return [];
    const end = balancedEnd(text, next.value.index);
    const value = end === undefined ? undefined : parse(text.slice(next.value.index, end));
    if (value !== undefined) return [value];
  }
  return [];
}

/** Behind the bracket that closes the one at `from`; brackets in strings do not count. */
function balancedEnd(text: string, from: number): number | undefined {
  const brackets = /["[\]{}]/g;
  brackets.lastIndex = from;
  let depth = 0;
  for (let match = brackets.exec(text); match !== null; match = brackets.exec(text)) {
    if (match[0] === '"') {
      const end = stringEnd(text, match.index);
      if (end === undefined) return undefined;
      brackets.lastIndex = end;
    } else if (match[0] === '{' || match[0] === '[') depth++;
    else if (--depth === 0) return brackets.lastIndex;
  }
  return undefined;
}

function stringEnd(text: string, from: number): number | undefined {
  for (let at = from + 1; at < text.length; at++) {
    const unit = text.charCodeAt(at);
    if (unit === 0x5c) at++;
    else if (unit === 0x22) return at + 1;
  }
  return undefined;
}

function parse(text: string): unknown {
  const trimmed = text.trim();
  if (!isShallow(trimmed)) return undefined;
  try {
    return JSON.parse(trimmed);
  } catch {
    return undefined;
  }
}

/** Brackets in strings count too: then it is refused wrongly rather than parsed too deep. */
function isShallow(text: string): boolean {
  let depth = 0;
  for (const [bracket] of text.matchAll(/[[\]{}]/g)) {
    depth += bracket === '{' || bracket === '[' ? 1 : -1;
    if (depth > MAX_DEPTH) return false;
  }
  return true;
}
