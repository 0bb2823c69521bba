/** What goes wrong, as the official SDKs report it: in all four combinations of SDK and wire. */
import Anthropic from '@anthropic-ai/sdk';
import OpenAI from 'openai';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { anthropicError, anthropicEvents } from '../fakes/anthropic-wire.ts';
import { openAiError, openAiEvents } from '../fakes/openai-wire.ts';
import { json, pieces, type Reply } from '../fakes/replies.ts';
import { COMBINATIONS, type Sdk, type Stage, startStage, type Wire } from './stage.ts';

let stage: Stage;
beforeAll(async () => {
  stage = await startStage();
});
afterAll(() => stage.close());

const HI = [{ role: 'user' as const, content: 'Hi' }];

function ask(sdk: Sdk, wire: Wire, headers?: Record<string, string>): Promise<unknown> {
  return sdk === 'openai'
    ? stage.openai(wire, headers).chat.completions.create({ model: 'm', messages: HI })
    : stage.anthropic(wire, headers).messages.create({ model: 'm', max_tokens: 10, messages: HI });
}

async function readStream(sdk: Sdk, wire: Wire): Promise<string> {
  let text = '';
  if (sdk === 'openai') {
    const stream = await stage.openai(wire).chat.completions.create({ model: 'm', messages: HI, stream: true });
    for await (const chunk of stream) text += chunk.choices[0]?.delta.content ?? '';
  } else {
    const stream = await stage
      .anthropic(wire)
      .messages.create({ model: 'm', max_tokens: 10, messages: HI, stream: true });
    for await (const event of stream)
      if (event.type === 'content_block_delta' && event.delta.type === 'text_delta') text += event.delta.text;
  }
  return text;
}

const STATUSES = [
  [400, 'BadRequestError', 'invalid_request_error'],
  [404, 'NotFoundError', 'not_found_error'],
  [422, 'UnprocessableEntityError', 'invalid_request_error'],
  [429, 'RateLimitError', 'rate_limit_error'],
  [500, 'InternalServerError', 'api_error'],
  [529, 'InternalServerError', 'overloaded_error'],
] as const;

const ERROR_CLASSES = { openai: OpenAI, anthropic: Anthropic } as const;

describe.each(COMBINATIONS)('%s SDK over the wire of %s', (sdk, wire) => {
  it.each(STATUSES)('an upstream error %i is %s', async (status, errorClass, type) => {
    const body = wire === 'openai' ? openAiError('It was said.', type) : anthropicError(type, 'It was said.');
    stage.upstream[wire].answer(json(status, body));
    const failure = await ask(sdk, wire).catch((error: unknown) => error);
    expect(failure).toBeInstanceOf(ERROR_CLASSES[sdk][errorClass]);
    expect(failure).toMatchObject({ status });
    expect((failure as Error).message).toContain('It was said.');
  });

  it('a stored credential that is refused is no concern of the caller', async () => {
    stage.upstream[wire].answer(json(401, wire === 'openai' ? openAiError('bad key upstream-key') : anthropicError()));
    const failure = await ask(sdk, wire).catch((error: unknown) => error);
    expect(failure).toMatchObject({ status: 502 });
    expect((failure as Error).message).not.toContain('upstream-key');
  });

  it('a wrong gateway key is AuthenticationError', async () => {
    const wrong = { 'x-gateway-api-key': 'not-the-key-at-all' };
    await expect(ask(sdk, wire, wrong)).rejects.toBeInstanceOf(ERROR_CLASSES[sdk].AuthenticationError);
  });

  it('a bad field is BadRequestError, before anything is sent', async () => {
    const before = stage.upstream[wire].calls.length;
    const messages: never[] = [];
    const asked =
      sdk === 'openai'
        ? stage.openai(wire).chat.completions.create({ model: 'm', messages })
        : stage.anthropic(wire).messages.create({ model: 'm', max_tokens: 10, messages });
    const failure = await asked.catch((error: unknown) => error);
    expect(failure).toBeInstanceOf(ERROR_CLASSES[sdk].BadRequestError);
    expect((failure as Error).message).toContain('messages');
    expect(stage.upstream[wire].calls.length).toBe(before);
  });

  const events =
    wire === 'openai' ? openAiEvents({ text: 'one two three four' }) : anthropicEvents({ text: 'one two three four' });
  const early = events.slice(0, -3);
  const broken: readonly (readonly [string, Reply])[] = [
    ['cut', pieces(early)],
    ['reset', pieces(early, { ending: 'reset' })],
    ['followed by garbage', pieces([...early, 'data: not json at all\n\n'])],
    ['cut inside an event', pieces([...early, events.at(-3)?.slice(0, 20) ?? ''])],
    [
      'ended by an error event',
      pieces([
        ...early,
        wire === 'openai'
          ? 'data: {"error":{"message":"It broke.","type":"server_error"}}\n\n'
          : 'event: error\ndata: {"type":"error","error":{"type":"overloaded_error","message":"It broke."}}\n\n',
      ]),
    ],
  ];
  it.each(broken)('a stream that is %s throws', async (_what, reply) => {
    stage.upstream[wire].answer(reply);
    await expect(readStream(sdk, wire)).rejects.toThrow();
  });

  it('a stream that finished does not', async () => {
    stage.upstream[wire].answer(pieces(events));
    expect(await readStream(sdk, wire)).toBe('one two three four');
  });

  it('a stream that the caller aborts is aborted upstream', async () => {
    const upstream = stage.upstream[wire];
    upstream.answer(pieces(early, { ending: 'stall' }));
    const before = upstream.calls.length;
    const abort = new AbortController();
    const reading = async () => {
      const options = { signal: abort.signal };
      const stream =
        sdk === 'openai'
          ? await stage.openai(wire).chat.completions.create({ model: 'm', messages: HI, stream: true }, options)
          : await stage
              .anthropic(wire)
              .messages.create({ model: 'm', max_tokens: 10, messages: HI, stream: true }, options);
      for await (const _ of stream) abort.abort();
    };
    await reading().catch(() => undefined);
    await expect.poll(() => upstream.calls[before]?.abortedAt).toBeDefined();
  });
});
