/** Usage as OpenAI words it, read from values of unknown shape. */
import type { Json, Usage } from '../providers/provider.ts';

/** undefined unless it is an object with whole token counts. */
export function asUsage(value: unknown): Usage | undefined {
  if (typeof value !== 'object' || value === null) return undefined;
  const usage = value as Json;
  const prompt = count(usage['prompt_tokens']);
  const completion = count(usage['completion_tokens']) ?? 0;
  if (prompt === undefined) return undefined;
  const details = promptDetails(usage['prompt_tokens_details']);
  const reasoning = count((usage['completion_tokens_details'] as Json | null | undefined)?.['reasoning_tokens']);
  return {
    prompt_tokens: prompt,
    completion_tokens: completion,
    total_tokens: count(usage['total_tokens']) ?? prompt + completion,
    ...(details === undefined ? {} : { prompt_tokens_details: details }),
    ...(reasoning === undefined ? {} : { completion_tokens_details: { reasoning_tokens: reasoning } }),
  };
}

function promptDetails(value: unknown): Usage['prompt_tokens_details'] {
  const details = value as Json | null | undefined;
  const cached = count(details?.['cached_tokens']);
  const created = count(details?.['cache_creation_tokens']);
  if (created === undefined) return cached === undefined ? undefined : { cached_tokens: cached };
  return { ...(cached === undefined ? {} : { cached_tokens: cached }), cache_creation_tokens: created };
}

/** Usage in Anthropic's words -> OpenAI's: the prompt is input + cache reads + cache writes. */
export function usageOfMessage(value: unknown): Usage | undefined {
  if (typeof value !== 'object' || value === null) return undefined;
  const usage = value as Json;
  const input = count(usage['input_tokens']);
  if (input === undefined) return undefined;
  const reads = count(usage['cache_read_input_tokens']) ?? 0;
  const writes = count(usage['cache_creation_input_tokens']) ?? 0;
  const output = count(usage['output_tokens']) ?? 0;
  return {
    prompt_tokens: input + reads + writes,
    completion_tokens: output,
    total_tokens: input + reads + writes + output,
    ...(reads + writes === 0 ? {} : { prompt_tokens_details: { cached_tokens: reads, cache_creation_tokens: writes } }),
  };
}

function count(value: unknown): number | undefined {
  return typeof value === 'number' && Number.isSafeInteger(value) && value >= 0 ? value : undefined;
}

const USAGE_KEY = '"usage"';
/** Usage stands near the end of an answer; this is far more than its fields need. */
const TAIL_BYTES = 4096;

/** Usage of a whole answer, from its tail alone: the text of an answer never holds an unescaped `"usage"`. */
export function usageFromTail(body: Buffer, read: (value: unknown) => Usage | undefined): Usage | undefined {
  const from = Math.max(0, body.length - TAIL_BYTES);
  const tail = body.toString('latin1', from, body.length);
  const key = tail.lastIndexOf(USAGE_KEY);
  if (key === -1) return undefined;
  const open = tail.indexOf('{', key);
  const close = open === -1 ? -1 : endOfObject(tail, open);
  if (close === -1) return undefined;
  try {
    return read(JSON.parse(tail.slice(open, close)));
  } catch {
    return undefined;
  }
}

/** Index after the brace that closes the one at `open`. Usage holds no strings with braces. */
function endOfObject(text: string, open: number): number {
  let depth = 0;
  for (let index = open; index < text.length; index += 1) {
    const code = text.charCodeAt(index);
    if (code === 123) depth += 1;
    else if (code === 125 && --depth === 0) return index + 1;
  }
  return -1;
}
