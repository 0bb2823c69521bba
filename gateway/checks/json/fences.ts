/** Fenced blocks of Markdown: ``` or more, with a tag behind it; one that is never closed ends with the text. */

export interface Fence {
  /** Lower case; '' where there is none. */
  readonly tag: string;
  readonly inside: string;
}

export function findFences(text: string): readonly Fence[] {
  if (!text.includes('```')) return [];
  const fences: Fence[] = [];
  let at = text.indexOf('```');
  while (at !== -1) {
    const ticks = runOf(text, at);
    const open = text.indexOf('\n', at + ticks);
    const close = text.indexOf('`'.repeat(ticks), at + ticks);
    const end = close === -1 ? text.length : close;
    const isBlock = open !== -1 && open < end;
    const tag = isBlock
      ? text
          .slice(at + ticks, open)
          .trim()
          .split(/\s/, 1)[0]
      : '';
    fences.push({ tag: (tag ?? '').toLowerCase(), inside: text.slice(isBlock ? open + 1 : at + ticks, end) });
    at = close === -1 ? -1 : text.indexOf('```', end + ticks);
  }
  return fences;
}

function runOf(text: string, from: number): number {
  let to = from;
  while (text.charCodeAt(to) === 0x60) to++;
  return to - from;
}
