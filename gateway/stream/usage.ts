/** Usage as OpenAI words it, read from values of unknown shape. */
import type { CompletionDetails, Json, PromptDetails, Usage } from '../providers/provider.ts';

/** undefined unless it is an object with whole token counts. */
export function asUsage(value: unknown): Usage | undefined {
  if (typeof value !== 'object' || value === null) return undefined;
  const usage = value as Json;
  const prompt = count(usage['prompt_tokens']);
  const completion = count(usage['completion_tokens']) ?? 0;
  if (prompt === undefined) return undefined;
  const promptParts = promptDetails(usage['prompt_tokens_details']);
  const completionParts = completionDetails(usage['completion_tokens_details']);
  return {
    prompt_tokens: prompt,
    completion_tokens: completion,
    total_tokens: count(usage['total_tokens']) ?? prompt + completion,
    ...(promptParts === undefined ? {} : { prompt_tokens_details: promptParts }),
    ...(completionParts === undefined ? {} : { completion_tokens_details: completionParts }),
  };
}

type Counts<T> = { -readonly [Field in keyof T]: T[Field] };

function promptDetails(value: unknown): PromptDetails | undefined {
  if (typeof value !== 'object' || value === null) return undefined;
  const said = value as Json;
  const details: Counts<PromptDetails> = {};
  const cached = count(said['cached_tokens']);
  const written = count(said['cache_creation_tokens']) ?? count(said['cache_write_tokens']);
  if (cached !== undefined) details.cached_tokens = cached;
  if (written !== undefined) details.cache_creation_tokens = written;
  addRare(details, said, RARE_PROMPT_FIELDS);
  addCachedParts(details, said['cached_tokens_details']);
  return isEmpty(details) ? undefined : details;
}

function completionDetails(value: unknown): CompletionDetails | undefined {
  if (typeof value !== 'object' || value === null) return undefined;
  const said = value as Json;
  const details: Counts<CompletionDetails> = {};
  const reasoning = count(said['reasoning_tokens']);
  if (reasoning !== undefined) details.reasoning_tokens = reasoning;
  addRare(details, said, RARE_COMPLETION_FIELDS);
  return isEmpty(details) ? undefined : details;
}

/** Most answers have none of them: 0 is not kept. */
const RARE_PROMPT_FIELDS = ['cache_creation_1h_tokens', 'audio_tokens', 'image_tokens'] as const;
const RARE_COMPLETION_FIELDS = [
  'audio_tokens',
  'image_tokens',
  'accepted_prediction_tokens',
  'rejected_prediction_tokens',
] as const;

function addRare<Field extends string>(
  details: { [Key in Field]?: number },
  said: Json,
  fields: readonly Field[],
): void {
  for (const field of fields) {
    const tokens = count(said[field]);
    if (tokens !== undefined && tokens > 0) (details as Record<Field, number>)[field] = tokens;
  }
}

function addCachedParts(details: Counts<PromptDetails>, value: unknown): void {
  if (typeof value !== 'object' || value === null) return;
  const audio = count((value as Json)['audio_tokens']) ?? 0;
  const images = count((value as Json)['image_tokens']) ?? 0;
  if (audio > 0) details.cached_audio_tokens = audio;
  if (images > 0) details.cached_image_tokens = images;
}

function isEmpty(details: object): boolean {
  for (const _field in details) return false;
  return true;
}

/** Usage in Anthropic's words -> OpenAI's: the prompt is input + cache reads + cache writes. */
export function usageOfMessage(value: unknown): Usage | undefined {
  if (typeof value !== 'object' || value === null) return undefined;
  const usage = value as Json;
  const input = count(usage['input_tokens']);
  if (input === undefined) return undefined;
  const reads = count(usage['cache_read_input_tokens']) ?? 0;
  const writes = count(usage['cache_creation_input_tokens']) ?? 0;
  const kept = hourWrites(usage);
  const output = count(usage['output_tokens']) ?? 0;
  return {
    prompt_tokens: input + reads + writes,
    completion_tokens: output,
    total_tokens: input + reads + writes + output,
    ...(reads + writes === 0
      ? {}
      : {
          prompt_tokens_details: {
            cached_tokens: reads,
            cache_creation_tokens: writes,
            ...(kept === 0 ? {} : { cache_creation_1h_tokens: kept }),
          },
        }),
    ...thinkingOf(usage),
  };
}

/** Those of the written tokens that the provider keeps for an hour. */
function hourWrites({ cache_creation: writes }: Json): number {
  if (typeof writes !== 'object' || writes === null) return 0;
  return count((writes as Json)['ephemeral_1h_input_tokens']) ?? 0;
}

function thinkingOf({ output_tokens_details: details }: Json): Pick<Usage, 'completion_tokens_details'> {
  if (typeof details !== 'object' || details === null) return {};
  const thinking = count((details as Json)['thinking_tokens']);
  return thinking === undefined ? {} : { completion_tokens_details: { reasoning_tokens: thinking } };
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
