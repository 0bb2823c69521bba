import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { asUsage, usageFromTail, usageOfMessage } from '#gateway/stream/usage.ts';

describe('usage in OpenAI’s words', () => {
  it.each([
    [
      { prompt_tokens: 1, completion_tokens: 2, total_tokens: 3 },
      { prompt_tokens: 1, completion_tokens: 2, total_tokens: 3 },
    ],
    [
      { prompt_tokens: 1, completion_tokens: 2 },
      { prompt_tokens: 1, completion_tokens: 2, total_tokens: 3 },
    ],
    [
      { prompt_tokens: 4, total_tokens: 4 },
      { prompt_tokens: 4, completion_tokens: 0, total_tokens: 4 },
    ],
    [
      { prompt_tokens: 0, completion_tokens: 0 },
      { prompt_tokens: 0, completion_tokens: 0, total_tokens: 0 },
    ],
    [
      { prompt_tokens: 9, completion_tokens: 1, total_tokens: 10, prompt_tokens_details: { cached_tokens: 3, x: 1 } },
      { prompt_tokens: 9, completion_tokens: 1, total_tokens: 10, prompt_tokens_details: { cached_tokens: 3 } },
    ],
    [
      { prompt_tokens: 9, completion_tokens: 1, prompt_tokens_details: { cached_tokens: 3, cache_creation_tokens: 2 } },
      {
        prompt_tokens: 9,
        completion_tokens: 1,
        total_tokens: 10,
        prompt_tokens_details: { cached_tokens: 3, cache_creation_tokens: 2 },
      },
    ],
    [
      { prompt_tokens: 9, completion_tokens: 1, prompt_tokens_details: { cache_creation_tokens: 2 } },
      {
        prompt_tokens: 9,
        completion_tokens: 1,
        total_tokens: 10,
        prompt_tokens_details: { cache_creation_tokens: 2 },
      },
    ],
    [
      { prompt_tokens: 1, completion_tokens: 5, completion_tokens_details: { reasoning_tokens: 4 } },
      {
        prompt_tokens: 1,
        completion_tokens: 5,
        total_tokens: 6,
        completion_tokens_details: { reasoning_tokens: 4 },
      },
    ],
    [
      { prompt_tokens: 9, completion_tokens: 0, prompt_tokens_details: { cached_tokens: 3, cache_write_tokens: 4 } },
      {
        prompt_tokens: 9,
        completion_tokens: 0,
        total_tokens: 9,
        prompt_tokens_details: { cached_tokens: 3, cache_creation_tokens: 4 },
      },
    ],
    [
      {
        prompt_tokens: 9,
        completion_tokens: 8,
        prompt_tokens_details: {
          cached_tokens: 3,
          audio_tokens: 2,
          image_tokens: 1,
          cached_tokens_details: { audio_tokens: 1, image_tokens: 1, text_tokens: 1 },
        },
        completion_tokens_details: {
          reasoning_tokens: 0,
          audio_tokens: 1,
          image_tokens: 2,
          accepted_prediction_tokens: 3,
          rejected_prediction_tokens: 2,
        },
      },
      {
        prompt_tokens: 9,
        completion_tokens: 8,
        total_tokens: 17,
        prompt_tokens_details: {
          cached_tokens: 3,
          audio_tokens: 2,
          image_tokens: 1,
          cached_audio_tokens: 1,
          cached_image_tokens: 1,
        },
        completion_tokens_details: {
          reasoning_tokens: 0,
          audio_tokens: 1,
          image_tokens: 2,
          accepted_prediction_tokens: 3,
          rejected_prediction_tokens: 2,
        },
      },
    ],
    [
      {
        prompt_tokens: 9,
        completion_tokens: 8,
        prompt_tokens_details: { audio_tokens: 0, image_tokens: -1 },
        completion_tokens_details: { audio_tokens: 0.5, rejected_prediction_tokens: '2' },
      },
      { prompt_tokens: 9, completion_tokens: 8, total_tokens: 17 },
    ],
    [
      { prompt_tokens: 1, completion_tokens: 1, prompt_tokens_details: null, completion_tokens_details: null },
      { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 },
    ],
  ])('%j is %j', (said, read) => {
    expect(asUsage(said)).toEqual(read);
  });

  it.each([undefined, null, 7, 'x', [], {}, { prompt_tokens: '1' }, { prompt_tokens: -1 }, { prompt_tokens: 1.5 }])(
    '%j is none',
    (said) => {
      expect(asUsage(said)).toBeUndefined();
    },
  );
});

describe('usage in Anthropic’s words', () => {
  it.each([
    [
      { input_tokens: 1, output_tokens: 2 },
      { prompt_tokens: 1, completion_tokens: 2, total_tokens: 3 },
    ],
    [{ input_tokens: 1 }, { prompt_tokens: 1, completion_tokens: 0, total_tokens: 1 }],
    [
      { input_tokens: 10, output_tokens: 5, cache_read_input_tokens: 3, cache_creation_input_tokens: 2 },
      {
        prompt_tokens: 15,
        completion_tokens: 5,
        total_tokens: 20,
        prompt_tokens_details: { cached_tokens: 3, cache_creation_tokens: 2 },
      },
    ],
    [
      {
        input_tokens: 1,
        output_tokens: 5,
        cache_creation_input_tokens: 9,
        cache_creation: { ephemeral_5m_input_tokens: 5, ephemeral_1h_input_tokens: 4 },
        output_tokens_details: { thinking_tokens: 3 },
      },
      {
        prompt_tokens: 10,
        completion_tokens: 5,
        total_tokens: 15,
        prompt_tokens_details: { cached_tokens: 0, cache_creation_tokens: 9, cache_creation_1h_tokens: 4 },
        completion_tokens_details: { reasoning_tokens: 3 },
      },
    ],
    [
      { input_tokens: 1, output_tokens: 1, cache_read_input_tokens: null },
      { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 },
    ],
  ])('%j is %j', (said, read) => {
    expect(usageOfMessage(said)).toEqual(read);
  });

  it.each([undefined, null, 'x', {}, { output_tokens: 3 }, { input_tokens: null }])('%j is none', (said) => {
    expect(usageOfMessage(said)).toBeUndefined();
  });
});

describe('usage at the end of an answer', () => {
  const USAGE = { prompt_tokens: 3, completion_tokens: 4, total_tokens: 7 };
  const tail = (text: string) => usageFromTail(Buffer.from(text), asUsage);

  it.each([
    ['compact', `{"id":"x","usage":${JSON.stringify(USAGE)}}`],
    ['spaced', `{ "usage" : ${JSON.stringify(USAGE, null, 2)} }`],
    ['before other fields', `{"usage":${JSON.stringify(USAGE)},"system_fingerprint":"fp","x":{"y":[1]}}`],
    ['with objects in it', `{"usage":${JSON.stringify({ ...USAGE, cost: { a: { b: 1 } } })}}`],
    ['after a long text', `{"x":"${'é'.repeat(100_000)}","usage":${JSON.stringify(USAGE)}}`],
    [
      'after a text that speaks of usage',
      `{"x":"\\"usage\\":{\\"prompt_tokens\\":99}","usage":${JSON.stringify(USAGE)}}`,
    ],
  ])('is found %s', (_what, text) => {
    expect(tail(text)).toEqual(USAGE);
  });

  it.each([
    ['no usage', '{"id":"x"}'],
    ['null for it', '{"usage":null}'],
    ['an empty body', ''],
    ['an object that breaks off', '{"usage":{"prompt_tokens":3'],
    ['something else of that name', '{"usage":{"cpu":3}}'],
    ['a list of that name', '{"usage":[1]}'],
    ['that word in a text alone', '{"x":"\\"usage\\":{\\"prompt_tokens\\":99}"}'],
  ])('is not made up of %s', (_what, text) => {
    expect(tail(text)).toBeUndefined();
  });

  it('is what it is, whatever the answer says', () => {
    const said = fc.record({ content: fc.string(), usage: fc.constant(USAGE) });
    fc.assert(
      fc.property(said, fc.constantFrom(0, 1, 2), (answer, indent) => {
        expect(tail(JSON.stringify({ choices: [answer.content], usage: answer.usage }, null, indent))).toEqual(USAGE);
      }),
    );
  });
});
