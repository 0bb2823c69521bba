/** The end of a stream, to the byte: what may stand for it, what may not, and what comes after it. */
import { connect } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Stage, startStage, target } from '../conformance/stage.ts';
import { config } from '../fakes/objects.ts';
import { openAiEvent } from '../fakes/openai-wire.ts';
import { rawPost } from '../fakes/raw.ts';
import { neverEnding, pieces, type Reply, rawBytes } from '../fakes/replies.ts';
import type { Upstream } from '../fakes/upstream.ts';
import {
  ExpectedLines,
  earlyEvents,
  endsInError,
  errorEvent,
  eventsOf,
  isFinished,
  PAIRS,
  PATHS,
  readStream,
  streamBody,
  WIRES,
  type Wire,
} from './stream-stage.ts';

let stage: Stage;
beforeAll(async () => {
  stage = await startStage(1, ([upstream]) => {
    const up = upstream as Upstream;
    return [
      ...WIRES.map((wire) => config(wire, target(up, { provider: wire }))),
      config('two', target(up, { override_params: { n: 2 } })),
    ].join('');
  });
});
afterAll(() => stage.close());

const WHOLE = { status: 200, input_tokens: 9, output_tokens: 12, error: undefined, stream_failed: undefined };
const CUT = { status: 200, error: 'upstream_cut', stream_failed: true };

const CHUNKED = 'HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n';
const chunked = (text: string) => `${Buffer.byteLength(text).toString(16)}\r\n${text}\r\n`;
const all = (wire: Wire) => eventsOf(wire).join('');

/** Everything but the end marker: OpenAI's `[DONE]`, Anthropic's `message_stop`. */
const unmarked = (wire: Wire) => eventsOf(wire).slice(0, -1);

const AFTER: readonly (readonly [what: string, make: (wire: Wire) => Reply])[] = [
  ['a reset', (wire) => pieces([all(wire)], { ending: 'reset' })],
  ['a reset a moment later', (wire) => pieces([all(wire), ''], { gapMs: 20, ending: 'reset' })],
  ['silence', (wire) => pieces([all(wire)], { ending: 'stall' })],
  ['silence in small packets', (wire) => pieces(eventsOf(wire), { gapMs: 2, ending: 'stall' })],
  ['words in the same packet', (wire) => pieces([`${all(wire)}data: hello\n\n`])],
  ['words a moment later', (wire) => pieces([all(wire), 'data: hello\n\n'], { gapMs: 20 })],
  ['half an event', (wire) => pieces([`${all(wire)}data: {"half":`])],
  ['an error event', (wire) => pieces([`${all(wire)}${errorEvent(wire, 'too late')}`])],
  ['an error event a moment later', (wire) => pieces([all(wire), errorEvent(wire, 'too late')], { gapMs: 20 })],
  ['5 MiB without an end', (wire) => pieces([`${all(wire)}data: {"x":"${'x'.repeat(5 * 1024 * 1024)}`])],
  ['events without end', (wire) => neverEnding(`${all(wire)}data: {"late":true}\n\n`)],
  ['a break of the chunked body', (wire) => rawBytes([CHUNKED + chunked(all(wire)), 'zz\r\n'], { gapMs: 5 })],
  ['no end of the chunked body', (wire) => rawBytes([CHUNKED + chunked(all(wire))])],
];

describe.each(PAIRS)('a caller of %s, an upstream of %s: the end marker and then', (client, wire) => {
  const lines = new ExpectedLines();
  it.each(AFTER)('%s is a finished stream', async (_what, make) => {
    stage.at(0).answer(make(wire));
    const failures = await stage.gateway.metric('modelgateway_stream_failures_total');
    const answer = await readStream(stage, client, wire);
    const { status, text } = answer;
    expect(status).toBe(200);
    expect(isFinished(client, text)).toBe(true);
    expect(text).toContain('four');
    expect(text).not.toMatch(/"error"|hello|half|late/);
    lines.add(answer, WHOLE);
    expect(await stage.gateway.metric('modelgateway_stream_failures_total')).toBe(failures);
  });

  it('an upstream that goes on and on is left alone after a moment', async () => {
    stage.at(0).answer(neverEnding(all(wire), { gapMs: 5 }));
    const before = stage.at(0).calls.length;
    expect(isFinished(client, (await readStream(stage, client, wire)).text)).toBe(true);
    await expect.poll(() => stage.at(0).calls[before]?.abortedAt, { timeout: 10_000 }).toBeDefined();
  });

  it('is told as finished, with its usage', () => lines.check(stage));
});

const NO_MARKER: readonly (readonly [what: string, make: (wire: Wire) => Reply, whole: boolean])[] = [
  ['a clean end after every finish reason', (wire) => pieces(unmarked(wire)), true],
  ['a clean end a moment later', (wire) => pieces([...unmarked(wire), ''], { gapMs: 3 }), true],
  ['a last event without its blank line', (wire) => pieces([unmarked(wire).join('').trimEnd()], { gapMs: 3 }), true],
  ['a reset after every finish reason', (wire) => pieces(unmarked(wire), { gapMs: 3, ending: 'reset' }), false],
  [
    'a chunked body that is cut',
    (wire) => rawBytes([CHUNKED + chunked(earlyEvents(wire).join('')), 'ff\r\ndata: {'], { gapMs: 5 }),
    false,
  ],
  [
    'a chunked body without its last chunk',
    (wire) => rawBytes([CHUNKED, ...unmarked(wire).map(chunked)], { gapMs: 2 }),
    false,
  ],
  [
    'half an end marker',
    (wire) => pieces([...unmarked(wire), (eventsOf(wire).at(-1) ?? '').slice(0, -6)], { gapMs: 3 }),
    false,
  ],
  [
    'an event that is cut where an object ends',
    (wire) => pieces([...earlyEvents(wire), ...unmarked(wire).slice(-2), 'data: {"usage":{"a":1}'], { gapMs: 3 }),
    false,
  ],
  ['no finish reason', (wire) => pieces(earlyEvents(wire), { gapMs: 3 }), false],
];

describe.each(PAIRS)('a caller of %s, an upstream of %s: no end marker but', (client, wire) => {
  const lines = new ExpectedLines();
  it.each(NO_MARKER)('%s (finished: %#)', async (_what, make, whole) => {
    stage.at(0).answer(make(wire));
    const answer = await readStream(stage, client, wire);
    expect(isFinished(client, answer.text)).toBe(whole);
    expect(endsInError(client, answer.text)).toBe(!whole);
    expect(answer.text).not.toMatch(/"a":1/);
    lines.add(answer, whole ? WHOLE : CUT);
  });

  it('a clean end tells usage to who asked', async () => {
    stage.at(0).answer(pieces(unmarked(wire)));
    const body = client === 'openai' ? { stream_options: { include_usage: true } } : {};
    const { text } = await readStream(stage, client, wire, body);
    expect(isFinished(client, text)).toBe(true);
    expect(text).toMatch(client === 'openai' ? /"completion_tokens":12/ : /"output_tokens":12/);
  });

  it('is told as it ended', () => lines.check(stage));
});

describe('a stream of several choices without an end marker', () => {
  const chunk = (index: number, finish: string | null) =>
    openAiEvent({
      id: 'x',
      model: 'm',
      choices: [{ index, text: 'a', delta: { content: 'a' }, finish_reason: finish }],
    });
  const CHAT = '/v1/chat/completions';
  const one = [chunk(0, null), chunk(1, null), chunk(0, 'stop')];
  const both = [...one, chunk(1, 'length')];
  it.each<
    readonly [what: string, path: string, config: string, body: object, parts: readonly string[], whole: boolean]
  >([
    ['n of the config, one finished', CHAT, 'two', {}, one, false],
    ['n of the config, both finished', CHAT, 'two', {}, both, true],
    ['n of the config wins', CHAT, 'two', { n: 1 }, one, false],
    ['two prompts, one finished', '/v1/completions', 'openai', { prompt: ['a', 'b'] }, one, false],
    ['two prompts, both finished', '/v1/completions', 'openai', { prompt: ['a', 'b'] }, both, true],
    ['two prompts in tokens, one finished', '/v1/completions', 'openai', { prompt: [[1], [2, 3]] }, one, false],
    ['one prompt of two tokens', '/v1/completions', 'openai', { prompt: [1, 2] }, [chunk(0, 'stop')], true],
    [
      'two prompts of two, three finished',
      '/v1/completions',
      'openai',
      { prompt: ['a', 'b'], n: 2 },
      [...both, chunk(2, 'stop')],
      false,
    ],
    ['one prompt alone', '/v1/completions', 'openai', { prompt: 'a' }, [chunk(0, 'stop')], true],
    ['one choice twice', CHAT, 'openai', { n: 2 }, [chunk(0, 'stop'), chunk(0, 'stop')], false],
    [
      'both in one event',
      CHAT,
      'openai',
      { n: 2 },
      [openAiEvent({ choices: [0, 1].map((index) => ({ index, delta: {}, finish_reason: 'stop' })) })],
      true,
    ],
    ['for a message, the first of two is open', PATHS.anthropic, 'two', {}, [chunk(0, null), chunk(1, 'stop')], false],
    ['for a message, both finished', PATHS.anthropic, 'two', {}, both, true],
  ])('%s', async (_what, path, name, body, parts, whole) => {
    stage.at(0).answer(pieces(parts, { gapMs: 3 }));
    const client: Wire = path === PATHS.anthropic ? 'anthropic' : 'openai';
    const response = await stage.gateway.post(path, streamBody(client, body), { 'x-gateway-config': name });
    const text = await response.text();
    if (whole) expect(text).not.toContain('"error"');
    expect(isFinished(client, text)).toBe(whole);
    if (text.startsWith('{')) expect(response.status).toBe(502);
    else expect(endsInError(client, text)).toBe(!whole);
  });
});

describe.each(WIRES)('for a caller of %s, the error event', (client) => {
  it('is the last of the body, which ends well, and the connection is closed', async () => {
    stage.at(0).answer(pieces(earlyEvents('openai'), { gapMs: 3 }));
    const { hostname, port } = new URL(stage.gateway.origin);
    const socket = connect(Number(port), hostname);
    const headers = { 'x-gateway-api-key': stage.gateway.key, 'x-gateway-config': 'openai' };
    socket.write(rawPost(PATHS[client], JSON.stringify(streamBody(client)), headers));
    let text = '';
    for await (const bytes of socket) text += String(bytes);
    expect(text).toMatch(/"error":[^\r]+\n\n\r\n0\r\n\r\n$/);
    expect(text.match(/HTTP\/1\.1/g)).toHaveLength(1);
  });
});
