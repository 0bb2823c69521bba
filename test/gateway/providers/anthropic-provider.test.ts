import { describe, expect, it } from 'vitest';
import { anthropic } from '#gateway/providers/anthropic/provider.ts';

describe('the provider anthropic', () => {
  it('says where it is and what it does', () => {
    expect(anthropic).toMatchObject({
      name: 'anthropic',
      dialect: 'anthropic',
      baseUrl: 'https://api.anthropic.com/v1',
      needsCredential: true,
      streamUsageOnRequest: false,
      operations: { chat: { path: '/messages' }, countTokens: { path: '/messages/count_tokens' } },
    });
    expect(anthropic.operations.embed).toBeUndefined();
  });

  it.each([
    ['a key', { api_key: 'sk-1' }, ['x-api-key', 'sk-1', 'anthropic-version', '2023-06-01']],
    ['no key', {}, ['anthropic-version', '2023-06-01']],
    ['a key that is no string', { api_key: 7 }, ['anthropic-version', '2023-06-01']],
  ])('authorizes with %s', (_what, credentials, headers) => {
    expect(anthropic.authorize(credentials)).toEqual(headers);
  });
});

const TOO_LONG = 'prompt is too long: 213462 tokens > 200000 maximum';
const OVER_LIMIT = 'input length and `max_tokens` exceed context limit: 190000 + 20000 > 200000';

describe('readProblem', () => {
  const cases: readonly (readonly [type: string, message: string, code: string])[] = [
    ['invalid_request_error', 'messages: at least one message is required', 'invalid_request_error'],
    ['invalid_request_error', TOO_LONG, 'context_length_exceeded'],
    ['invalid_request_error', OVER_LIMIT, 'context_length_exceeded'],
    ['authentication_error', 'invalid x-api-key', 'invalid_api_key'],
    ['billing_error', 'Your credit balance is too low', 'insufficient_quota'],
    ['permission_error', 'not allowed', 'permission_error'],
    ['not_found_error', 'model: claude-9', 'model_not_found'],
    ['request_too_large', 'Request exceeds the maximum size', 'request_too_large'],
    ['rate_limit_error', 'This request would exceed your rate limit', 'rate_limit_exceeded'],
    ['api_error', 'Internal server error', 'api_error'],
    ['overloaded_error', 'Overloaded', 'overloaded'],
    ['timeout_error', 'Request timed out', 'timeout'],
    ['an_error_of_tomorrow', 'Something', 'an_error_of_tomorrow'],
  ];

  it.each(cases)('keeps type and message of %s "%s" and gives the code %s', (type, message, code) => {
    const body = { type: 'error', error: { type, message }, request_id: 'req_1' };
    expect(anthropic.readProblem(body)).toEqual({ type, message, code, param: undefined });
  });

  it("prefers the provider's own stable code", () => {
    const error = { type: 'not_found_error', message: 'gone', details: { error_code: 'thread_not_found' } };
    expect(anthropic.readProblem({ type: 'error', error })).toMatchObject({ code: 'thread_not_found' });
  });

  it('manages without a type', () => {
    expect(anthropic.readProblem({ error: { message: 'no' } })).toEqual({
      message: 'no',
      type: undefined,
      code: undefined,
      param: undefined,
    });
  });

  it.each([
    ['text', 'Bad gateway'],
    ['null', null],
    ['a list', [{ error: { message: 'x' } }]],
    ['an error that is a string', { error: 'nope' }],
    ['an error without message', { error: { type: 'api_error' } }],
    ['another shape', { message: 'nope' }],
  ])('says nothing of %s', (_what, body) => {
    expect(anthropic.readProblem(body)).toBeUndefined();
  });

  it.each([TOO_LONG, OVER_LIMIT])('has words for "%s"', (message) => {
    const text = message.toLowerCase();
    expect(anthropic.contextLengthWords.some((words) => text.includes(words))).toBe(true);
  });

  it('has its words in lower case, and none that fits an unrelated refusal', () => {
    for (const words of anthropic.contextLengthWords) {
      expect(words).toBe(words.toLowerCase());
      expect('max_tokens: must be greater than 0'.includes(words)).toBe(false);
    }
  });
});
