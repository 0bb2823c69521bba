/** Messages request -> chat request. */
import { GatewayError } from '../../errors.ts';
import type { Json } from '../../providers/provider.ts';
import { given, isJson, refuse, requireList, requireObject, requireText } from '../json-shape.ts';
import { decodeMessages } from './decode-messages.ts';

type FieldCheck = (value: unknown) => boolean;

const isNumber: FieldCheck = (value) => typeof value === 'number';
const isTokenCount: FieldCheck = (value) => Number.isSafeInteger(value) && Number(value) >= 0;
const isTextList: FieldCheck = (value) => Array.isArray(value) && value.every((item) => typeof item === 'string');

/** Fields that keep their value: what they are called in the hub, and what they must be. */
const FIELDS: readonly (readonly [name: string, hubName: string, check: FieldCheck, expectation: string])[] = [
  ['model', 'model', (value) => typeof value === 'string', 'must be a string'],
  ['max_tokens', 'max_completion_tokens', isTokenCount, 'must be an integer of at least 0'],
  ['stop_sequences', 'stop', isTextList, 'must be an array of strings'],
  ['temperature', 'temperature', isNumber, 'must be a number'],
  ['top_p', 'top_p', isNumber, 'must be a number'],
  ['top_k', 'top_k', isNumber, 'must be a number'],
  ['thinking', 'thinking', isJson, 'must be an object'],
  ['stream', 'stream', (value) => typeof value === 'boolean', 'must be true or false'],
];
const SERVICE_TIERS: Readonly<Record<string, string>> = { auto: 'auto', standard_only: 'default' };

/**
 * Throws `missing_field` or `invalid_value` naming the field. Fields that the chat has no word for are left out; the
 * provider's own tools and blocks, which would change what is asked, are refused.
 */
export function decodeRequest(body: Json): Json {
  if (given(body.max_tokens) === undefined) {
    throw new GatewayError('missing_field', 'max_tokens is missing: say how many tokens the answer may have.', {
      param: 'max_tokens',
    });
  }
  const request: Json = {};
  for (const [name, hubName, check, expectation] of FIELDS) {
    const value = given(body[name]);
    if (value === undefined) continue;
    if (!check(value)) return refuse(name, expectation);
    request[hubName] = value;
  }
  if (Array.isArray(request.stop) && request.stop.length === 0) delete request.stop;
  if (request.stream === true) request.stream_options = { include_usage: true };
  request.messages = decodeMessages(body);
  return { ...request, ...decodeTools(body), ...decodeOutput(body), ...decodeCaller(body) };
}

function decodeTools(body: Json): Json {
  const tools = requireList(given(body.tools) ?? [], 'tools').map((tool, index) => decodeTool(tool, `tools[${index}]`));
  // Servers of the chat refuse an empty list, and a choice among nothing.
  return tools.length === 0 ? {} : { tools, ...decodeToolChoice(given(body.tool_choice)) };
}

function decodeTool(value: unknown, path: string): Json {
  const tool = requireObject(value, path);
  const type = given(tool.type) ?? 'custom';
  if (type !== 'custom')
    return refuse(`${path}.type`, 'must be custom: tools that run at the provider need that provider');
  const definition: Json = {
    name: requireText(tool.name, `${path}.name`),
    parameters: requireObject(tool.input_schema, `${path}.input_schema`),
  };
  if (typeof tool.description === 'string') definition.description = tool.description;
  if (tool.strict === true) definition.strict = true;
  const cacheControl = isJson(tool.cache_control) ? { cache_control: tool.cache_control } : {};
  return { type: 'function', function: definition, ...cacheControl };
}

const CHOICES: Readonly<Record<string, string>> = { auto: 'auto', any: 'required', none: 'none' };

function decodeToolChoice(value: unknown): Json {
  if (value === undefined) return {};
  const choice = requireObject(value, 'tool_choice');
  const type = requireText(choice.type, 'tool_choice.type');
  const serial = choice.disable_parallel_tool_use === true ? { parallel_tool_calls: false } : {};
  if (type === 'tool') {
    return {
      tool_choice: { type: 'function', function: { name: requireText(choice.name, 'tool_choice.name') } },
      ...serial,
    };
  }
  const word = Object.hasOwn(CHOICES, type) ? CHOICES[type] : undefined;
  return word === undefined
    ? refuse('tool_choice.type', 'must be auto, any, tool or none')
    : { tool_choice: word, ...serial };
}

function decodeOutput(body: Json): Json {
  const config = requireObject(given(body.output_config) ?? {}, 'output_config');
  const effort = given(config.effort);
  const format = given(config.format);
  return {
    ...(effort !== undefined && { reasoning_effort: requireText(effort, 'output_config.effort') }),
    ...(format !== undefined && { response_format: responseFormat(requireObject(format, 'output_config.format')) }),
  };
}

function responseFormat(format: Json): Json {
  if (format.type !== 'json_schema') return refuse('output_config.format.type', 'must be json_schema');
  const schema = requireObject(format.schema, 'output_config.format.schema');
  return { type: 'json_schema', json_schema: { name: 'output', schema, strict: true } };
}

function decodeCaller(body: Json): Json {
  const metadata = requireObject(given(body.metadata) ?? {}, 'metadata');
  const user = given(metadata.user_id);
  const tier = typeof body.service_tier === 'string' ? SERVICE_TIERS[body.service_tier] : undefined;
  return {
    ...(user !== undefined && { user: requireText(user, 'metadata.user_id') }),
    ...(tier !== undefined && { service_tier: tier }),
  };
}
