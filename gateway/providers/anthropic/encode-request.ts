/** Chat request -> messages request. */
import { given, isJson, refuse, requireObject } from '../../dialects/json-shape.ts';
import type { Json } from '../provider.ts';
import { encodeMessages } from './encode-messages.ts';
import { encodeThinking } from './encode-thinking.ts';
import { encodeToolChoice, encodeTools, isForced } from './encode-tools.ts';
import { type ModelTraits, modelTraits } from './models.ts';

const DEFAULT_MAX_TOKENS = 4_096;
/** Fields of the provider's own, for callers who know whom they talk to. */
const OWN_FIELDS = [
  'cache_control',
  'container',
  'context_management',
  'inference_geo',
  'mcp_servers',
  'speed',
] as const;
const SERVICE_TIERS: Readonly<Record<string, string>> = {
  auto: 'auto',
  default: 'standard_only',
  standard_only: 'standard_only',
};
const JSON_MODE: Json = { type: 'text', text: 'Answer with one valid JSON object and nothing else.' };

/**
 * What the provider has no word for and what does not change the meaning (seed, penalties, logprobs, ...) is left out;
 * sampling parameters too where the model refuses them. `json_object`, which the provider lacks, becomes a sentence of
 * the system prompt; `json_schema` is its structured output. Throws `invalid_value` naming the field.
 */
export function encodeRequest(request: Json): Json {
  refuseUnsayable(request);
  const traits = modelTraits(request.model);
  const { system, messages } = encodeMessages(request.messages);
  const tools = encodeTools(request);
  const toolChoice = encodeToolChoice(request, tools);
  const maxTokens = maxTokensOf(request, traits);
  const limits = { maxTokens, forcedTool: isForced(toolChoice), messages };
  const { thinking, effort } = encodeThinking(request, traits, limits);
  return defined({
    model: request.model,
    max_tokens: maxTokens,
    system: isJsonMode(request) ? withSentence(system) : system,
    messages,
    tools,
    tool_choice: toolChoice,
    ...sampling(request, traits, thinking),
    stop_sequences: stopSequences(request.stop),
    stream: request.stream === true ? true : undefined,
    metadata: metadata(request),
    service_tier: typeof request.service_tier === 'string' ? SERVICE_TIERS[request.service_tier] : undefined,
    thinking,
    output_config: outputConfig(request, effort),
    ...ownFields(request),
  });
}

function refuseUnsayable(request: Json): void {
  const n = given(request.n);
  if (n !== undefined && n !== 1) refuse('n', 'must be 1: this provider gives one answer');
  if (Array.isArray(request.modalities) && request.modalities.includes('audio')) {
    refuse('modalities', 'must not name audio: this provider answers in text');
  }
}

function maxTokensOf(request: Json, traits: ModelTraits): number {
  const asked = given(request.max_completion_tokens) ?? given(request.max_tokens);
  if (typeof asked === 'number') return asked;
  if (traits.maxOutputTokens !== undefined) return traits.maxOutputTokens;
  const budget = isJson(request.thinking) ? request.thinking.budget_tokens : undefined;
  return typeof budget === 'number' ? budget + DEFAULT_MAX_TOKENS : DEFAULT_MAX_TOKENS;
}

/** Thinking excludes sampling parameters; newer models take none, some take one of the two, and temperature ends at 1. */
function sampling(request: Json, traits: ModelTraits, thinking: Json | undefined): Json {
  const isThinking = thinking?.type === 'enabled' || thinking?.type === 'adaptive';
  if (traits.sampling === 'none' || isThinking) return {};
  const temperature = given(request.temperature);
  const topP = traits.sampling === 'one' && temperature !== undefined ? undefined : given(request.top_p);
  return {
    temperature: typeof temperature === 'number' ? Math.min(temperature, 1) : temperature,
    top_p: topP,
    top_k: given(request.top_k),
  };
}

function stopSequences(stop: unknown): unknown {
  if (typeof stop === 'string') return [stop];
  return Array.isArray(stop) && stop.length > 0 ? stop : undefined;
}

function metadata(request: Json): Json | undefined {
  if (typeof request.user === 'string') return { user_id: request.user };
  const userId = isJson(request.metadata) ? request.metadata.user_id : undefined;
  return typeof userId === 'string' ? { user_id: userId } : undefined;
}

function outputConfig(request: Json, effort: string | undefined): Json | undefined {
  const own = isJson(request.output_config) ? request.output_config : {};
  const config = defined({ ...own, effort: effort ?? own.effort, format: outputFormat(request) ?? own.format });
  return Object.keys(config).length === 0 ? undefined : config;
}

function outputFormat({ response_format: format }: Json): Json | undefined {
  if (!isJson(format) || format.type !== 'json_schema') return undefined;
  const path = 'response_format.json_schema';
  const schema = requireObject(requireObject(format.json_schema, path).schema, `${path}.schema`);
  return { type: 'json_schema', schema };
}

function isJsonMode({ response_format: format }: Json): boolean {
  return isJson(format) && format.type === 'json_object';
}

function withSentence(system: unknown): unknown {
  if (system === undefined) return JSON_MODE.text;
  return Array.isArray(system) ? [...system, JSON_MODE] : [{ type: 'text', text: system }, JSON_MODE];
}

function ownFields(request: Json): Json {
  const own: Json = {};
  for (const field of OWN_FIELDS) own[field] = request[field];
  return own;
}

function defined(fields: Json): Json {
  const kept: Json = {};
  for (const [name, value] of Object.entries(fields)) if (value !== undefined) kept[name] = value;
  return kept;
}
