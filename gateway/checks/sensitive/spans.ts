/** Places in a text that checks find, and their removal. */
import type { Rewrite } from '../rewrite.ts';
import { rewriteText } from '../rewrite.ts';
import type { SubjectText } from '../subject.ts';

/** UTF-16 offsets; `end` lies behind the last. */
export interface Span {
  readonly kind: string;
  readonly start: number;
  readonly end: number;
}

/** In the text's order; of two that overlap the one that was found first (the earlier in the list) stays. */
export function withoutOverlaps(spans: readonly Span[]): readonly Span[] {
  if (spans.length < 2) return spans;
  const ranked = spans
    .map((span, rank) => ({ span, rank }))
    .sort((a, b) => a.span.start - b.span.start || a.rank - b.rank);
  const kept: { span: Span; rank: number }[] = [];
  for (const item of ranked) {
    const before = kept.at(-1);
    if (before === undefined || before.span.end <= item.span.start) kept.push(item);
    else if (item.rank < before.rank) kept[kept.length - 1] = { span: joined(before.span, item.span), rank: item.rank };
    else kept[kept.length - 1] = { span: joined(item.span, before.span), rank: before.rank };
  }
  return kept.map(({ span }) => span);
}

/** Covers both: nothing of either may remain. */
function joined(other: Span, kept: Span): Span {
  return { kind: kept.kind, start: Math.min(other.start, kept.start), end: Math.max(other.end, kept.end) };
}

/** The text with `[KIND]` in the place of each span; the spans are in order and do not overlap. */
export function redacted(text: string, spans: readonly Span[]): string {
  let result = '';
  let at = 0;
  for (const { kind, start, end } of spans) {
    result += `${text.slice(at, start)}[${kind}]`;
    at = end;
  }
  return result + text.slice(at);
}

export interface FoundSpans {
  /** How often each kind was found. */
  readonly counts: Readonly<Record<string, number>>;
  readonly total: number;
  readonly rewrites: readonly Rewrite[];
}

/** Looks at every text; `rewrites` are made only where they are asked for. */
export function findSpans(
  texts: readonly SubjectText[],
  spansOf: (text: string) => readonly Span[],
  redact: boolean,
): FoundSpans {
  const counts: Record<string, number> = {};
  const rewrites: Rewrite[] = [];
  let total = 0;
  for (const text of texts) {
    const spans = spansOf(text.text);
    if (spans.length === 0) continue;
    for (const { kind } of spans) counts[kind] = (counts[kind] ?? 0) + 1;
    total += spans.length;
    if (redact) rewrites.push(rewriteText(text, redacted(text.text, spans)));
  }
  return { counts, total, rewrites };
}
