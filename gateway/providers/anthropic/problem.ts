import { isJson } from '../../dialects/json-shape.ts';
import { GatewayError } from '../../errors.ts';
import type { UpstreamProblem } from '../provider.ts';

/** Fragments of the messages that say that a prompt does not fit the model. */
export const CONTEXT_LENGTH_WORDS: readonly string[] = [
  'prompt is too long',
  'exceed context limit',
  'exceeds the context window',
  'model_context_window_exceeded',
];

/** The provider's types in the words that OpenAI's clients look for. */
const CODES: Readonly<Record<string, string>> = {
  authentication_error: 'invalid_api_key',
  billing_error: 'insufficient_quota',
  rate_limit_error: 'rate_limit_exceeded',
  overloaded_error: 'overloaded',
  not_found_error: 'model_not_found',
  request_too_large: 'request_too_large',
  timeout_error: 'timeout',
};

/** Reads `{"type":"error","error":{"type","message","details"?}}`. */
export function readProblem(body: unknown): UpstreamProblem | undefined {
  const error = isJson(body) ? body.error : undefined;
  if (!isJson(error) || typeof error.message !== 'string') return undefined;
  const type = typeof error.type === 'string' ? error.type : undefined;
  return { message: error.message, type, code: codeOf(error.message, type, error.details), param: undefined };
}

function codeOf(message: string, type: string | undefined, details: unknown): string | undefined {
  if (isJson(details) && typeof details.error_code === 'string') return details.error_code;
  const text = message.toLowerCase();
  if (CONTEXT_LENGTH_WORDS.some((words) => text.includes(words))) return 'context_length_exceeded';
  return type === undefined ? undefined : (CODES[type] ?? type);
}

/** An `error` event in a stream that had begun well. */
export function streamError(event: unknown): GatewayError {
  const problem = readProblem(event);
  if (problem === undefined) return upstreamInvalid('sent an error event without a message');
  const code = problem.type === 'rate_limit_error' ? 'upstream_rate_limited' : 'upstream_error';
  return new GatewayError(code, problem.message);
}

/** `what` continues "The provider ...". */
export function upstreamInvalid(what: string): GatewayError {
  return new GatewayError('upstream_invalid', `The provider ${what}.`);
}
