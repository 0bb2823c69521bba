/** JSON with templates in its strings, made ready: what has none is never walked again. */
import type { Filling } from './filling.ts';
import type { ReadyNode } from './ready-template.ts';

type ReadyValue =
  | { readonly kind: 'fixed'; readonly value: unknown }
  | { readonly kind: 'text'; readonly nodes: readonly ReadyNode[] }
  /** A tag alone, where it stands for a value of any type. */
  | { readonly kind: 'whole'; readonly steps: readonly string[] }
  | { readonly kind: 'list'; readonly items: readonly ReadyValue[] }
  | { readonly kind: 'object'; readonly entries: readonly (readonly [string, ReadyValue])[] };

export type ReadyContent = ReadyValue;

/** `keepsTypes`: a string that is one tag alone becomes its value, e.g. a number, not its text. */
export function readyContent(
  value: unknown,
  ready: (text: string) => readonly ReadyNode[],
  keepsTypes: boolean,
): ReadyContent {
  if (typeof value === 'string')
    return value.includes('{{') ? readyText(ready(value), keepsTypes) : { kind: 'fixed', value };
  if (Array.isArray(value)) {
    const items = value.map((item) => readyContent(item, ready, keepsTypes));
    return items.every(isFixed) ? { kind: 'fixed', value } : { kind: 'list', items };
  }
  if (typeof value !== 'object' || value === null) return { kind: 'fixed', value };
  const entries = Object.entries(value).map(([key, child]) => [key, readyContent(child, ready, keepsTypes)] as const);
  return entries.every(([, child]) => isFixed(child)) ? { kind: 'fixed', value } : { kind: 'object', entries };
}

function readyText(nodes: readonly ReadyNode[], keepsTypes: boolean): ReadyContent {
  const [only] = nodes;
  if (keepsTypes && nodes.length === 1 && only?.kind === 'value') return { kind: 'whole', steps: only.steps };
  return { kind: 'text', nodes };
}

function isFixed({ kind }: ReadyValue): boolean {
  return kind === 'fixed';
}

/** undefined: a tag alone, whose variable nobody gave. */
export function filled(content: ReadyContent, filling: Filling): unknown {
  return FILL[content.kind](content as never, filling);
}

type Fill<K extends ReadyValue['kind']> = (content: Extract<ReadyValue, { kind: K }>, filling: Filling) => unknown;

const FILL: { readonly [K in ReadyValue['kind']]: Fill<K> } = {
  fixed: ({ value }) => value,
  text: ({ nodes }, filling) => filling.text(nodes),
  whole: ({ steps }, filling) => filling.value(steps),
  list: ({ items }, filling) => items.map((item) => filled(item, filling)).filter((item) => item !== undefined),
  object: ({ entries }, filling) =>
    Object.fromEntries(
      entries.map(([key, child]) => [key, filled(child, filling)]).filter(([, child]) => child !== undefined),
    ),
};
