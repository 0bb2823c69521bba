import Anthropic from '@anthropic-ai/sdk';
import { describe, expect, it } from 'vitest';
import { messagesDialect } from '#gateway/dialects/messages/dialect.ts';
import { errorType } from '#gateway/dialects/messages/error-body.ts';
import { ERRORS, type ErrorCode, GatewayError } from '#gateway/errors.ts';

const CODES = Object.keys(ERRORS) as ErrorCode[];

describe('errorType', () => {
  it.each([
    [400, 'invalid_request_error'],
    [401, 'authentication_error'],
    [402, 'billing_error'],
    [403, 'permission_error'],
    [404, 'not_found_error'],
    [405, 'invalid_request_error'],
    [408, 'timeout_error'],
    [409, 'conflict_error'],
    [412, 'usage_limit_error'],
    [413, 'request_too_large'],
    [422, 'invalid_request_error'],
    [429, 'rate_limit_error'],
    [446, 'hooks_failed'],
    [500, 'api_error'],
    [501, 'not_found_error'],
    [502, 'api_error'],
    [503, 'overloaded_error'],
    [504, 'timeout_error'],
    [529, 'overloaded_error'],
  ])('of %d is %s', (status, type) => {
    expect(errorType(status)).toBe(type);
  });
});

describe('errorBody', () => {
  it('has the form of the dialect, and our code and parameter besides', () => {
    const error = new GatewayError('missing_field', 'max_tokens is missing.', { param: 'max_tokens' });
    expect(messagesDialect.errorBody(error)).toEqual({
      type: 'error',
      error: {
        type: 'invalid_request_error',
        message: 'max_tokens is missing.',
        code: 'missing_field',
        param: 'max_tokens',
        details: { error_code: 'missing_field' },
      },
    });
  });

  it("keeps an upstream's own status and code", () => {
    const upstream = { status: 429, type: 'tokens', code: 'rate_limit_exceeded' };
    const error = new GatewayError('upstream_rate_limited', 'Slow down', { provider: 'openai', upstream });
    expect(messagesDialect.errorBody(error)).toMatchObject({
      provider: 'openai',
      error: { type: 'rate_limit_error', message: 'Slow down', code: 'rate_limit_exceeded', param: null },
    });
  });

  it.each(CODES)('of %s is read by the official SDK', async (code) => {
    const error = new GatewayError(code, `It is ${code}.`);
    const body = JSON.stringify(messagesDialect.errorBody(error));
    const fetch = async (): Promise<Response> =>
      new Response(body, { status: error.status, headers: { 'content-type': 'application/json' } });
    const client = new Anthropic({ apiKey: 'x', baseURL: 'http://gateway.test', fetch, maxRetries: 0 });
    const failed = await client.messages
      .create({ model: 'm', max_tokens: 1, messages: [] })
      .catch((failure: unknown) => failure);
    expect(failed).toBeInstanceOf(Anthropic.APIError);
    expect(failed).toMatchObject({
      status: error.status,
      type: errorType(error.status),
      errorCode: code,
      apiMessage: `It is ${code}.`,
    });
  });
});

describe('errorEvent', () => {
  it('is one event of its own name', () => {
    const error = new GatewayError('upstream_cut', 'Gone\n"away".');
    const text = messagesDialect.errorEvent(error);
    const [name, data, ...rest] = text.split('\n');
    expect(name).toBe('event: error');
    expect(rest).toEqual(['', '']);
    expect(JSON.parse(data?.slice('data: '.length) ?? '')).toEqual(messagesDialect.errorBody(error));
  });

  it('ends a stream for the official SDK, with our words', async () => {
    const encoder = messagesDialect.encoder({});
    const chunk = { id: 'c', model: 'm', choices: [{ index: 0, delta: { content: 'Hel' }, finish_reason: null }] };
    const body =
      encoder.encode(chunk) + messagesDialect.errorEvent(new GatewayError('upstream_cut', 'The provider broke off.'));
    const fetch = async (): Promise<Response> =>
      new Response(body, { headers: { 'content-type': 'text/event-stream' } });
    const client = new Anthropic({ apiKey: 'x', baseURL: 'http://gateway.test', fetch, maxRetries: 0 });
    const seen: string[] = [];
    const stream = client.messages
      .stream({ model: 'm', max_tokens: 1, messages: [] })
      .on('text', (text) => seen.push(text));
    const failed = await stream.finalMessage().catch((failure: unknown) => failure);
    expect(seen).toEqual(['Hel']);
    expect(failed).toMatchObject({
      type: 'api_error',
      apiMessage: 'The provider broke off.',
      errorCode: 'upstream_cut',
    });
  });
});
