import type { Json } from '../../providers/provider.ts';
import { isJson } from '../json-shape.ts';

/**
 * Puts text and tool blocks where `shown` (a message's `content_blocks`) has them, because thinking is only accepted
 * back in its original place. `texts` and `calls` have the last word on what is said: where the text differs from what
 * was shown, all of it follows the leading thinking; calls that were not shown come last.
 */
export function inShownOrder(shown: unknown, texts: readonly Json[], calls: readonly Json[]): Json[] {
  if (!Array.isArray(shown)) return [...texts, ...calls];
  const blocks: Json[] = shown.filter(isJson);
  const sameText = joinedText(blocks) === joinedText(texts);
  const rest = new Map(calls.map((call) => [call.id, call]));
  const ordered: Json[] = [];
  for (const block of blocks) {
    const placed = sameText || block.type !== 'text' ? place(block, rest) : undefined;
    if (placed !== undefined) ordered.push(placed);
  }
  if (!sameText) {
    const firstOther = ordered.findIndex((block) => !THINKING.has(block.type));
    ordered.splice(firstOther < 0 ? ordered.length : firstOther, 0, ...texts);
  }
  return [...ordered, ...rest.values()];
}

const THINKING: ReadonlySet<unknown> = new Set(['thinking', 'redacted_thinking']);

function place(block: Json, calls: Map<unknown, Json>): Json | undefined {
  if (block.type === 'thinking') return thinkingBlock(block);
  if (block.type === 'redacted_thinking') return { type: 'redacted_thinking', data: block.data };
  if (block.type === 'text') return block.text === '' ? undefined : { type: 'text', text: block.text };
  const call = calls.get(block.id);
  if (block.type === 'tool_use') calls.delete(block.id);
  return block.type === 'tool_use' ? call : undefined;
}

function thinkingBlock(block: Json): Json {
  return { type: 'thinking', thinking: block.thinking ?? '', signature: block.signature ?? '' };
}

function joinedText(blocks: readonly Json[]): string {
  return blocks.map((block) => (block.type === 'text' ? block.text : '')).join('');
}
