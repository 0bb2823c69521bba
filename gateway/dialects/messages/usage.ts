/** Token counts between the messages dialect, which counts cached input apart, and the hub, which includes it. */
import type { Json, Usage } from '../../providers/provider.ts';
import { isJson } from '../json-shape.ts';

/** Counts of a message or of stream events so far; a later word replaces an earlier one, because they are cumulative. */
export function hubUsage(usage: Json): Usage {
  const reads = count(usage.cache_read_input_tokens);
  const writes = count(usage.cache_creation_input_tokens);
  const kept = isJson(usage.cache_creation) ? count(usage.cache_creation.ephemeral_1h_input_tokens) : 0;
  const prompt = count(usage.input_tokens) + reads + writes;
  const completion = count(usage.output_tokens);
  const thinking = isJson(usage.output_tokens_details) ? usage.output_tokens_details.thinking_tokens : undefined;
  return {
    prompt_tokens: prompt,
    completion_tokens: completion,
    total_tokens: prompt + completion,
    prompt_tokens_details: {
      cached_tokens: reads,
      cache_creation_tokens: writes,
      ...(kept > 0 && { cache_creation_1h_tokens: kept }),
    },
    ...(typeof thinking === 'number' && { completion_tokens_details: { reasoning_tokens: count(thinking) } }),
  };
}

/** Merges the usage of a stream event into what earlier events said; null means "not said". */
export function mergeUsage(before: Json, event: Json): Json {
  const merged: Json = { ...before };
  for (const [field, value] of Object.entries(event)) {
    if (value !== null && value !== undefined) merged[field] = value;
  }
  return merged;
}

/** The usage that closes a stream; a whole message has some more fields, see `messageUsage`. */
export function deltaUsage(usage: unknown): Json {
  const hub = isJson(usage) ? usage : {};
  const details = isJson(hub.prompt_tokens_details) ? hub.prompt_tokens_details : {};
  const reads = count(details.cached_tokens);
  const writes = count(details.cache_creation_tokens);
  const reasoning = isJson(hub.completion_tokens_details) ? hub.completion_tokens_details.reasoning_tokens : undefined;
  return {
    // A provider that counts cached tokens apart must not make this negative.
    input_tokens: Math.max(0, count(hub.prompt_tokens) - reads - writes),
    cache_creation_input_tokens: writes,
    cache_read_input_tokens: reads,
    output_tokens: count(hub.completion_tokens),
    output_tokens_details: typeof reasoning === 'number' ? { thinking_tokens: reasoning } : null,
    server_tool_use: null,
  };
}

export function messageUsage(usage: unknown): Json {
  return { ...deltaUsage(usage), cache_creation: null, inference_geo: null, service_tier: null, speed: null };
}

/** What is no whole number of 0 or more counts nothing: sums and bills are made of it. */
function count(value: unknown): number {
  return typeof value === 'number' && Number.isSafeInteger(value) && value >= 0 ? value : 0;
}
