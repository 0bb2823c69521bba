import { describe, expect, it } from 'vitest';
import { chatDialect } from '#gateway/dialects/chat.ts';
import { GatewayError } from '#gateway/errors.ts';
import type { Json } from '#gateway/providers/provider.ts';

describe('the chat dialect', () => {
  it('is the hub: requests and answers are the very same objects', () => {
    const body = { model: 'm', messages: [] };
    expect(chatDialect.name).toBe('openai');
    expect(chatDialect.decodeRequest(body)).toBe(body);
    expect(chatDialect.encodeAnswer(body)).toBe(body);
  });

  it('writes chunks as data alone, and one end marker', () => {
    const encoder = chatDialect.encoder({});
    const chunk = { id: 'c', choices: [{ delta: { content: 'a\nb "é"' } }] };
    const text = encoder.encode(chunk);
    expect(text.startsWith('data: ')).toBe(true);
    expect(text.endsWith('\n\n')).toBe(true);
    expect(text.trimEnd().split('\n')).toHaveLength(1);
    expect(JSON.parse(text.slice('data: '.length))).toEqual(chunk);
    expect(encoder.end()).toBe('data: [DONE]\n\n');
  });

  it('writes errors in the one envelope', () => {
    const error = new GatewayError('invalid_value', 'n must be 1.', { param: 'n', provider: 'p' });
    const envelope = {
      error: { message: 'n must be 1.', type: 'invalid_request_error', code: 'invalid_value', param: 'n' },
      provider: 'p',
    };
    expect(chatDialect.errorBody(error)).toEqual(envelope);
    expect(chatDialect.errorEvent(error)).toBe(`data: ${JSON.stringify(envelope)}\n\n`);
  });

  it('keeps all four fields of an error that has no parameter', () => {
    const body = chatDialect.errorBody(new GatewayError('upstream_cut', 'Gone.'));
    expect(body).toEqual({ error: { message: 'Gone.', type: 'upstream_error', code: 'upstream_cut', param: null } });
  });

  const usages: readonly (readonly [what: string, answer: Json, usage: Json | undefined])[] = [
    ['none', {}, undefined],
    ['null', { usage: null }, undefined],
    ['a list', { usage: [] }, undefined],
    [
      'the three counts',
      { usage: { prompt_tokens: 1, completion_tokens: 2, total_tokens: 3 } },
      { prompt_tokens: 1, completion_tokens: 2, total_tokens: 3 },
    ],
    [
      'a total of its own',
      { usage: { prompt_tokens: 1, completion_tokens: 2, total_tokens: 9 } },
      { prompt_tokens: 1, completion_tokens: 2, total_tokens: 9 },
    ],
    [
      'counts without total',
      { usage: { prompt_tokens: 1, completion_tokens: 2 } },
      { prompt_tokens: 1, completion_tokens: 2, total_tokens: 3 },
    ],
    [
      'an embedding',
      { usage: { prompt_tokens: 4, total_tokens: 4 } },
      { prompt_tokens: 4, completion_tokens: 0, total_tokens: 4 },
    ],
    [
      'details',
      {
        usage: {
          prompt_tokens: 9,
          completion_tokens: 8,
          total_tokens: 17,
          prompt_tokens_details: { cached_tokens: 5, audio_tokens: 0 },
          completion_tokens_details: { reasoning_tokens: 3 },
        },
      },
      {
        prompt_tokens: 9,
        completion_tokens: 8,
        total_tokens: 17,
        prompt_tokens_details: { cached_tokens: 5 },
        completion_tokens_details: { reasoning_tokens: 3 },
      },
    ],
    [
      'null details',
      { usage: { prompt_tokens: 1, completion_tokens: 2, total_tokens: 3, prompt_tokens_details: null } },
      { prompt_tokens: 1, completion_tokens: 2, total_tokens: 3 },
    ],
    [
      'writes to a cache',
      {
        usage: {
          prompt_tokens: 1,
          completion_tokens: 2,
          total_tokens: 3,
          prompt_tokens_details: { cache_creation_tokens: 1 },
        },
      },
      { prompt_tokens: 1, completion_tokens: 2, total_tokens: 3, prompt_tokens_details: { cache_creation_tokens: 1 } },
    ],
  ];

  it.each(usages)('reads usage: %s', (_what, answer, usage) => {
    expect(chatDialect.readUsage(answer)).toStrictEqual(usage);
  });
});
