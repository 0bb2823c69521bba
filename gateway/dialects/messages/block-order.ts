import type { Json } from '../../providers/provider.ts';
import { isJson } from '../json-shape.ts';

/**
 * Puts text and tool blocks where `shown` (a message's `content_blocks`) has them, because thinking is only accepted
 * back in its original place. `texts` and `calls` have the last word on what is said: where the text differs from what
 * was shown, all of it takes the place of the first shown text, or follows the leading thinking; calls that were not
 * shown come last.
 */
export function inShownOrder(shown: unknown, texts: readonly Json[], calls: readonly Json[]): Json[] {
  if (!Array.isArray(shown)) return [...texts, ...calls];
  const blocks: Json[] = shown.filter(isJson);
  const sameText = joinedText(blocks) === joinedText(texts);
  const place = textPlace(blocks);
  const rest = new Map(calls.map((call) => [call.id, call]));
  const ordered: Json[] = [];
  for (const [index, block] of blocks.entries()) {
    if (!sameText && index === place) ordered.push(...texts);
    const placed = sameText || block.type !== 'text' ? placedBlock(block, rest) : undefined;
    if (placed !== undefined) ordered.push(placed);
  }
  if (!sameText && place === blocks.length) ordered.push(...texts);
  return [...ordered, ...rest.values()];
}

function textPlace(blocks: readonly Json[]): number {
  const firstText = blocks.findIndex((block) => block.type === 'text');
  const firstOther = blocks.findIndex((block) => block.type !== 'thinking' && block.type !== 'redacted_thinking');
  const place = firstText < 0 ? firstOther : firstText;
  return place < 0 ? blocks.length : place;
}

function placedBlock(block: Json, calls: Map<unknown, Json>): Json | undefined {
  if (block.type === 'thinking')
    return { type: 'thinking', thinking: block.thinking ?? '', signature: block.signature ?? '' };
  if (block.type === 'redacted_thinking') return { type: 'redacted_thinking', data: block.data };
  if (block.type === 'text') return block.text === '' ? undefined : { type: 'text', text: block.text };
  if (block.type !== 'tool_use') return undefined;
  const call = calls.get(block.id);
  calls.delete(block.id);
  return call;
}

function joinedText(blocks: readonly Json[]): string {
  return blocks.map((block) => (block.type === 'text' ? block.text : '')).join('');
}
