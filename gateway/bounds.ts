/** Bounds of the seed on request fields, checked before anything is sent: 400 naming the field. Unknown fields pass. */
import { GatewayError } from './errors.ts';
import type { Json } from './providers/provider.ts';

/** What is wrong with a value, as the end of the sentence "temperature ..."; undefined: nothing. */
type Rule = (value: unknown, body: Json) => string | undefined;
export type Bounds = readonly (readonly [field: string, rule: Rule, required?: true])[];

const number =
  (min: number, max: number): Rule =>
  (value) =>
    typeof value === 'number' && value >= min && value <= max ? undefined : `must be a number from ${min} to ${max}`;
const integer =
  (min: number, max = Number.POSITIVE_INFINITY): Rule =>
  (value) =>
    typeof value === 'number' && Number.isInteger(value) && value >= min && value <= max
      ? undefined
      : max === Number.POSITIVE_INFINITY
        ? `must be an integer of at least ${min}`
        : `must be an integer from ${min} to ${max}`;
const boolean: Rule = (value) => (typeof value === 'boolean' ? undefined : 'must be true or false');
const text: Rule = (value) => (typeof value === 'string' ? undefined : 'must be a string');
const object: Rule = (value) => (isObject(value) ? undefined : 'must be an object');
const array =
  (min: number, max: number): Rule =>
  (value) =>
    Array.isArray(value) && value.length >= min && value.length <= max
      ? undefined
      : max === Number.POSITIVE_INFINITY
        ? `must be an array of at least ${min} item${min === 1 ? '' : 's'}`
        : `must be an array of ${min} to ${max} items`;

/** Line ends would reach headers and logs of those who trust a model's name. */
const modelName: Rule = (value) => {
  if (typeof value !== 'string' || value === '') return 'must be a non-empty string';
  for (let index = 0; index < value.length; index += 1)
    if (value.charCodeAt(index) < 32) return 'may hold no control characters';
  return undefined;
};
const stop: Rule = (value) => {
  if (typeof value === 'string') return undefined;
  return Array.isArray(value) && value.length <= 4 && value.every((entry) => typeof entry === 'string')
    ? undefined
    : 'must be a string or an array of at most 4 strings';
};
const logitBias: Rule = (value) =>
  isObject(value) && Object.values(value).every((bias) => typeof bias === 'number' && bias >= -100 && bias <= 100)
    ? undefined
    : 'must map token ids to numbers from -100 to 100';
const messages: Rule = (value) => {
  if (!Array.isArray(value) || value.length === 0) return 'must be an array of at least 1 message';
  const wrong = value.findIndex((message) => !isObject(message) || typeof message['role'] !== 'string');
  return wrong === -1 ? undefined : `must hold objects with a role: messages[${wrong}] is none`;
};
const streamOptions: Rule = (value, body) => {
  if (!isObject(value)) return 'must be an object';
  return body['stream'] === true ? undefined : 'may only be set when stream is true';
};
const topLogprobs: Rule = (value, body) =>
  integer(0, 20)(value, body) ?? (body['logprobs'] === true ? undefined : 'requires logprobs to be true');
const prompt: Rule = (value) =>
  typeof value === 'string' || (Array.isArray(value) && value.length > 0)
    ? undefined
    : 'must be a string or a non-empty array';
const bestOf: Rule = (value, body) => {
  const wrong = integer(0, 20)(value, body);
  if (wrong !== undefined) return wrong;
  if (body['stream'] === true) return 'cannot be streamed';
  return typeof body['n'] === 'number' && body['n'] >= (value as number) ? 'must be greater than n' : undefined;
};

const SAMPLING: Bounds = [
  ['temperature', number(0, 2)],
  ['top_p', number(0, 1)],
  ['frequency_penalty', number(-2, 2)],
  ['presence_penalty', number(-2, 2)],
  ['logit_bias', logitBias],
  ['n', integer(1, 128)],
  ['seed', integer(-9223372036854776000, 9223372036854776000)],
  ['stop', stop],
  ['stream', boolean],
  ['stream_options', streamOptions],
  ['user', text],
];

export const CHAT_BOUNDS: Bounds = [
  ['messages', messages, true],
  ['model', modelName],
  ...SAMPLING,
  ['logprobs', boolean],
  ['top_logprobs', topLogprobs],
  ['max_tokens', integer(0)],
  ['max_completion_tokens', integer(0)],
  ['response_format', object],
  ['thinking', object],
  ['tools', array(0, 128)],
  ['functions', array(1, 128)],
  ['parallel_tool_calls', boolean],
];

export const COMPLETION_BOUNDS: Bounds = [
  ['model', modelName],
  ['prompt', prompt, true],
  ...SAMPLING,
  ['best_of', bestOf],
  ['echo', boolean],
  ['logprobs', integer(0, 5)],
  ['max_tokens', integer(0)],
  ['suffix', text],
];

export const EMBEDDING_BOUNDS: Bounds = [
  ['model', modelName],
  ['input', prompt, true],
  ['dimensions', integer(1)],
  ['user', text],
];

export const MESSAGE_BOUNDS: Bounds = [
  ['model', modelName],
  ['messages', messages, true],
  ['max_tokens', integer(0), true],
  ['temperature', number(0, 1)],
  ['top_p', number(0, 1)],
  ['stream', boolean],
  ['stop_sequences', array(0, Number.POSITIVE_INFINITY)],
  ['tools', array(0, Number.POSITIVE_INFINITY)],
];

/** Throws `missing_field` or `invalid_value`. `null` counts as absent, as it does upstream. */
export function assertBounds(body: Json, bounds: Bounds): void {
  for (const [field, rule, required] of bounds) {
    const value = body[field];
    if (value === undefined || value === null) {
      if (required) throw new GatewayError('missing_field', `${field} is required.`, { param: field });
      continue;
    }
    const wrong = rule(value, body);
    if (wrong !== undefined) throw new GatewayError('invalid_value', `${field} ${wrong}.`, { param: field });
  }
}

function isObject(value: unknown): value is Json {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
