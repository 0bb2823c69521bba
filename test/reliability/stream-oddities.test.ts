/** What upstreams put into streams: faults in good company, odd shapes, sizes and types, and what may not leak. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { HI, type Stage, startStage, target } from '../conformance/stage.ts';
import { config } from '../fakes/objects.ts';
import { openAiEvent } from '../fakes/openai-wire.ts';
import { cutAt, json, neverEnding, pieces, type Reply } from '../fakes/replies.ts';
import { chatTextOf, parseSse } from '../fakes/sse.ts';
import type { Upstream } from '../fakes/upstream.ts';
import {
  ExpectedLines,
  earlyEvents,
  endsInError,
  errorEvent,
  eventsOf,
  goodStream,
  isFinished,
  PAIRS,
  readStream,
  WIRES,
  type Wire,
} from './stream-stage.ts';

let stage: Stage;
beforeAll(async () => {
  const limits = { firstByteMs: 5_000, attemptsMs: 700 };
  stage = await startStage(
    2,
    ([first, second]) => {
      const [a, b] = [first, second] as [Upstream, Upstream];
      return WIRES.flatMap((wire) => [
        config(wire, target(a, { provider: wire })),
        config(`fall-${wire}`, {
          strategy: { mode: 'fallback' },
          targets: [target(a, { provider: wire }), target(b, { provider: wire })],
        }),
        config(`again-${wire}`, target(a, { provider: wire, retry: { attempts: 1, use_retry_after_headers: true } })),
      ]).join('');
    },
    () => ({ limits }),
  );
});
afterAll(async () => {
  expect(
    (await stage.gateway.logs()).filter(({ msg, error }) => msg === 'internal error' || error === 'internal'),
  ).toEqual([]);
  expect(await stage.gateway.metric('modelgateway_requests_in_flight')).toBe(0);
  await stage.close();
});

const SSE = { 'content-type': 'text/event-stream' };
const FIRST = (wire: Wire) => eventsOf(wire)[0] ?? '';
const REST = (wire: Wire) => earlyEvents(wire).slice(1).join('');

const GARBAGE: readonly (readonly [what: string, code: string, make: (wire: Wire) => string])[] = [
  ['words', 'upstream_invalid', () => 'data: hello\n\n'],
  ['an array', 'upstream_invalid', () => 'data: [1]\n\n'],
  ['a number', 'upstream_invalid', () => 'data: 42\n\n'],
  ['null', 'upstream_invalid', () => 'data: null\n\n'],
  ['a string', 'upstream_invalid', () => 'data: "x"\n\n'],
  ['empty data', 'upstream_invalid', () => 'data:\n\n'],
  ['half an object', 'upstream_invalid', () => 'data: {"a":\n\n'],
  ['a marker of another sort', 'upstream_invalid', () => 'data: [STOP]\n\n'],
  ['HTML', 'upstream_invalid', () => 'data: <html></html>\n\n'],
  ['an error event', 'upstream_error', (wire) => errorEvent(wire, 'It broke.')],
];

describe.each(PAIRS)('a caller of %s, an upstream of %s', (client, wire) => {
  const lines = new ExpectedLines();

  it.each(GARBAGE)('gets all that was good before %s in the same packet', async (_what, code, make) => {
    stage.at(0).answer(pieces([FIRST(wire), REST(wire) + make(wire)], { gapMs: 5 }));
    const answer = await readStream(stage, client, wire);
    expect(answer.status).toBe(200);
    expect(answer.text).toContain('two ');
    expect(endsInError(client, answer.text)).toBe(true);
    expect(answer.text).toContain(code);
    lines.add(answer, { status: 200, error: code, stream_failed: true, attempts: 1 });
  });

  it.each(GARBAGE)('%s as the first event is an ordinary failure: it falls back', async (_what, code, make) => {
    stage.at(0).answer(pieces([make(wire), ...eventsOf(wire)]));
    stage.at(1).answer(goodStream(wire));
    const answer = await readStream(stage, client, `fall-${wire}`);
    expect(isFinished(client, answer.text)).toBe(true);
    expect(answer.text).not.toContain('"error"');
    lines.add(answer, { status: 200, attempts: 2, error: undefined, stream_failed: undefined });
    const alone = await readStream(stage, client, wire);
    expect(alone.status).toBe(502);
    const { error } = JSON.parse(alone.text) as { error: { code: string } };
    if (code !== 'upstream_error') expect(error.code).toBe(code);
    lines.add(alone, { status: 502, attempts: 1, error: code, stream_failed: undefined });
  });

  it('a broken first event is tried again on the same target', async () => {
    const broken = pieces(['data: hello\n\n'], { headers: { ...SSE, 'retry-after-ms': '1' } });
    stage.at(0).answer([broken, goodStream(wire)]);
    const answer = await readStream(stage, client, `again-${wire}`);
    expect(isFinished(client, answer.text)).toBe(true);
    expect(answer.headers.get('x-gateway-retry-attempt-count')).toBe('1');
    lines.add(answer, { status: 200, attempts: 2, retries: 1 });
  });

  it.each(['text/event-stream; charset=utf-8', 'text/event-stream;charset=UTF-8', 'Text/Event-Stream'])(
    'a stream of type %s is one',
    async (type) => {
      stage.at(0).answer(pieces(eventsOf(wire), { headers: { 'content-type': type } }));
      expect(isFinished(client, (await readStream(stage, client, wire)).text)).toBe(true);
    },
  );

  const NO_STREAM: readonly (readonly [string, Reply])[] = [
    ['without a type', pieces(eventsOf(wire), { headers: {} })],
    ['of type text/plain', pieces(eventsOf(wire), { headers: { 'content-type': 'text/plain' } })],
    ['of type text/event-streams', pieces(eventsOf(wire), { headers: { 'content-type': 'text/event-streams' } })],
    ['of type application/json', json(200, { choices: [] })],
    ['in gzip', pieces(eventsOf(wire), { headers: { ...SSE, 'content-encoding': 'gzip' } })],
    ['that is empty, 204', pieces([], { status: 204, headers: {} })],
  ];
  it.each(NO_STREAM)('an answer %s is none, and falls back', async (_what, reply) => {
    stage.at(0).answer(reply);
    stage.at(1).answer(goodStream(wire));
    expect(isFinished(client, (await readStream(stage, client, `fall-${wire}`)).text)).toBe(true);
    const alone = await readStream(stage, client, wire);
    expect(alone.status).toBe(502);
    lines.add(alone, { status: 502, error: 'upstream_invalid' });
  });

  it('never shows our credential in the words of an error event', async () => {
    const words = 'Incorrect API key provided: upstream-key.';
    for (const parts of [[...earlyEvents(wire), errorEvent(wire, words)], [errorEvent(wire, words)]]) {
      stage.at(0).answer(pieces(parts, { gapMs: 3 }));
      const { text } = await readStream(stage, client, wire);
      expect(text).toContain('Incorrect API key provided: ***.');
      expect(text).not.toContain('upstream-key');
    }
  });

  it('comments alone, for ever, end at the limit of all attempts', async () => {
    stage.at(0).answer(neverEnding(': wait\n\n', { gapMs: 10 }));
    const answer = await readStream(stage, client, wire);
    expect(answer.status).toBe(504);
    await expect.poll(() => stage.at(0).calls.at(-1)?.abortedAt).toBeDefined();
    lines.add(answer, { status: 504, error: 'upstream_timeout', stream_failed: undefined });
  });

  it('many comments before the first event hold nothing up', async () => {
    const comments = ': wait and see\n\n'.repeat(10_000);
    stage.at(0).answer(pieces([comments, ...eventsOf(wire)]));
    expect(isFinished(client, (await readStream(stage, client, wire)).text)).toBe(true);
  });

  it('is told in the log, as it was', () => lines.check(stage));
});

const LONG = 'a'.repeat(1_000_000);
const text = (content: string, finish: string | null = null) =>
  openAiEvent({ id: 'x', model: 'm', choices: [{ index: 0, delta: { content }, finish_reason: finish }] });

describe('sizes', () => {
  it.each(WIRES)('a burst of 500 KB at once arrives whole, for a caller of %s', async (client) => {
    const burst = Array.from({ length: 5_000 }, (_, index) => text(`word${index} `)).join('');
    stage.at(0).answer(pieces([burst + text('', 'stop'), openAiEvent('[DONE]')], { gapMs: 2 }));
    const answer = await readStream(stage, client, 'openai');
    expect(isFinished(client, answer.text)).toBe(true);
    for (const index of [0, 1, 2_500, 4_999]) expect(answer.text).toContain(`"word${index} "`);
    expect(answer.text.match(/word\d+ /g)).toHaveLength(5_000);
  });

  it.each(WIRES)('an event of 1 MB, in packets of 500 bytes, arrives whole, for a caller of %s', async (client) => {
    const event = text(LONG);
    const offsets = Array.from({ length: Math.floor(event.length / 500) }, (_, index) => index * 500);
    stage.at(0).answer(pieces([...cutAt(event, offsets), text('', 'stop'), openAiEvent('[DONE]')]));
    const answer = await readStream(stage, client, 'openai');
    expect(isFinished(client, answer.text)).toBe(true);
    expect(answer.text).toContain(LONG);
  });

  it('an event of 4 MiB less a little passes, one of more does not', async () => {
    const event = (bytes: number) => text('x'.repeat(bytes));
    stage.at(0).answer(pieces([text('a'), event(4 * 1024 * 1024 - 1_000), openAiEvent('[DONE]')]));
    expect(isFinished('openai', (await readStream(stage, 'openai', 'openai')).text)).toBe(true);
    stage.at(0).answer(pieces([text('a'), event(4.2 * 1024 * 1024), openAiEvent('[DONE]')], { gapMs: 5 }));
    const answer = await readStream(stage, 'openai', 'openai');
    expect(endsInError('openai', answer.text)).toBe(true);
    expect(answer.text).toContain('upstream_invalid');
  });

  it('a large last event leaves a connection that can be used again', async () => {
    const reply = pieces([text(LONG.slice(0, 200_000), 'stop') + openAiEvent('[DONE]')]);
    stage.at(0).answer(reply);
    for (let request = 0; request < 4; request += 1)
      expect(isFinished('openai', (await readStream(stage, 'openai', 'openai')).text)).toBe(true);
  });
});

const ODD_CHUNKS: readonly (readonly [what: string, chunk: object, finished: boolean])[] = [
  ['error: null', { choices: [], error: null }, true],
  ['no choices', { id: 'x' }, true],
  ['choices that are null', { choices: null }, true],
  ['a choice that is null', { choices: [null] }, true],
  ['a choice that is a number', { choices: [5] }, true],
  ['a delta that is null', { choices: [{ index: 0, delta: null }] }, true],
  ['a delta that is a list', { choices: [{ index: 0, delta: [] }] }, true],
  ['content that is an object', { choices: [{ index: 0, delta: { content: { a: 1 } } }] }, true],
  ['tool_calls that are an object', { choices: [{ index: 0, delta: { tool_calls: {} } }] }, true],
  ['a tool call that is null', { choices: [{ index: 0, delta: { tool_calls: [null] } }] }, true],
  ['a function that is null', { choices: [{ index: 0, delta: { tool_calls: [{ index: 0, function: null }] } }] }, true],
  ['an index that is an object', { choices: [{ index: {}, delta: {}, finish_reason: 'stop' }] }, true],
  ['a finish reason that is a number', { choices: [{ index: 0, delta: {}, finish_reason: 5 }] }, true],
  ['usage that is a word', { choices: [], usage: 'much' }, true],
  ['usage below zero', { choices: [], usage: { prompt_tokens: -1, completion_tokens: 1.5 } }, true],
  ['a model that is a number', { model: 5, choices: [] }, true],
];

describe('a chunk with', () => {
  it.each(ODD_CHUNKS)('%s is passed on by bytes, and never an error of ours', async (_what, chunk) => {
    stage.at(0).answer(pieces([text('one '), openAiEvent(chunk), text('two', 'stop'), openAiEvent('[DONE]')]));
    const through = await readStream(stage, 'openai', 'openai', { stream_options: { include_usage: true } });
    expect(through.text).toBe([text('one '), openAiEvent(chunk), text('two', 'stop'), openAiEvent('[DONE]')].join(''));
    const translated = await readStream(stage, 'anthropic', 'openai');
    expect(translated.text).not.toMatch(/"internal"|undefined|\[object/);
    expect(isFinished('anthropic', translated.text)).toBe(!translated.text.includes('"error"'));
  });

  it('error: null is no error for a caller of the other dialect either', async () => {
    const spoken = { id: 'x', model: 'm', error: null };
    const chunk = openAiEvent({ ...spoken, choices: [{ index: 0, delta: { content: 'a' }, finish_reason: 'stop' }] });
    stage.at(0).answer(pieces([chunk, openAiEvent('[DONE]')]));
    expect(isFinished('anthropic', (await readStream(stage, 'anthropic', 'openai')).text)).toBe(true);
  });

  it.each(['{ "error": {"message":"It broke."} }', '{"error" : {"message":"It broke."}}', '{"error":"It broke."}'])(
    'an error, written %s, ends the stream',
    async (written) => {
      stage
        .at(0)
        .answer(pieces([text('one '), text('two '), `data: ${written}\n\n`, openAiEvent('[DONE]')], { gapMs: 3 }));
      const answer = await readStream(stage, 'openai', 'openai');
      expect(endsInError('openai', answer.text)).toBe(true);
      expect(answer.text).toContain('It broke.');
      expect(answer.text).toContain('upstream_error');
    },
  );
});

describe('an event of a message', () => {
  it.each(['__proto__', 'constructor', 'toString', '__defineGetter__', 'hasOwnProperty', 'later'])(
    'called %s is passed on like any that is yet to come',
    async (name) => {
      const odd = `event: ${name}\ndata: {"type":"${name}","a":1}\n\n`;
      const events = eventsOf('anthropic').toSpliced(3, 0, odd);
      stage.at(0).answer(pieces(events));
      expect((await readStream(stage, 'anthropic', 'anthropic')).text).toBe(events.join(''));
      const { text: translated } = await readStream(stage, 'openai', 'anthropic');
      expect(isFinished('openai', translated)).toBe(true);
      expect(chatTextOf(parseSse(translated))).toBe('one two three four');
    },
  );

  const ODD_EVENTS: readonly (readonly [type: string, more: object])[] = [
    ['message_start', { message: null }],
    ['message_start', { message: { usage: 5 } }],
    ['message_delta', { delta: null, usage: null }],
    ['message_delta', { delta: 5, usage: [] }],
    ['content_block_start', { content_block: null }],
    ['content_block_start', { index: 9, content_block: { type: 'text', text: 5 } }],
    ['content_block_start', { index: 9, content_block: { type: 'tool_use' } }],
    ['content_block_delta', { index: 77, delta: { type: 'text_delta', text: 'x' } }],
    ['content_block_delta', { index: 0, delta: { type: 'text_delta', text: {} } }],
    ['content_block_stop', { index: {} }],
  ];
  it.each(ODD_EVENTS)('%s with %j is never an error of ours', async (type, more) => {
    const odd = `event: ${type}\ndata: ${JSON.stringify({ type, ...more })}\n\n`;
    const events = eventsOf('anthropic').toSpliced(4, 0, odd);
    stage.at(0).answer(pieces(events));
    expect((await readStream(stage, 'anthropic', 'anthropic')).text).toBe(events.join(''));
    const { text: translated } = await readStream(stage, 'openai', 'anthropic');
    expect(translated).not.toMatch(/"internal"|undefined|\[object/);
    expect(isFinished('openai', translated)).toBe(!translated.includes('"error"'));
  });

  it('unary requests answered with a stream are upstream_invalid', async () => {
    stage.at(0).answer(pieces(eventsOf('openai')));
    const response = await stage.gateway.chat(HI, { 'x-gateway-config': 'openai' });
    expect(response.status).toBe(502);
    expect(await response.text()).toContain('upstream_invalid');
  });
});
