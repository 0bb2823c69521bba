/** Streams never lie: G24 and section 5 of the semantics, for each pair of dialects. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Stage, startStage, target } from '../conformance/stage.ts';
import { config } from '../fakes/objects.ts';
import { openAiChunks, openAiEvent } from '../fakes/openai-wire.ts';
import { json, pieces, type Reply, text } from '../fakes/replies.ts';
import type { Upstream } from '../fakes/upstream.ts';
import {
  ExpectedLines,
  earlyEvents as early,
  endsInError,
  errorEvent,
  eventsOf as events,
  goodStream as good,
  isFinished,
  PAIRS,
  type ReadAnswer,
  readStream,
  WIRES,
  type Wire,
  WORDS,
} from './stream-stage.ts';

let stage: Stage;
beforeAll(async () => {
  stage = await startStage(2, ([first, second]) => {
    const [a, b] = [first, second] as [Upstream, Upstream];
    const fall = (wire: Wire) => ({
      strategy: { mode: 'fallback' },
      targets: [target(a, { provider: wire }), target(b, { provider: wire })],
    });
    return WIRES.flatMap((wire) => [
      config(wire, target(a, { provider: wire, strategy: undefined })),
      config(`idle-${wire}`, {
        strategy: { mode: 'single', stream_idle_timeout: 80 },
        targets: [target(a, { provider: wire })],
      }),
      config(`fall-${wire}`, fall(wire)),
      config(`whole-${wire}`, {
        strategy: { mode: 'fallback', stream_delivery: 'whole' },
        targets: [target(a, { provider: wire }), target(b, { provider: wire })],
      }),
    ]).join('');
  });
});
afterAll(() => stage.close());

function read(client: Wire, name: string, body: object = {}): Promise<ReadAnswer> {
  return readStream(stage, client, name, body);
}

const FAULTS: readonly (readonly [what: string, code: string, make: (wire: Wire) => Reply])[] = [
  ['cut cleanly', 'upstream_cut', (wire) => pieces(early(wire), { gapMs: 3 })],
  ['reset', 'upstream_cut', (wire) => pieces(early(wire), { gapMs: 3, ending: 'reset' })],
  [
    'cut inside an event',
    'upstream_cut',
    (wire) => pieces([...early(wire), (events(wire)[4] ?? '').slice(0, 30)], { gapMs: 3 }),
  ],
  ['followed by words', 'upstream_invalid', (wire) => pieces([...early(wire), 'data: hello\n\n'], { gapMs: 3 })],
  ['followed by an array', 'upstream_invalid', (wire) => pieces([...early(wire), 'data: ["a"]\n\n'], { gapMs: 3 })],
  [
    'followed by half an object',
    'upstream_invalid',
    (wire) => pieces([...early(wire), 'data: {"a":\n\n'], { gapMs: 3 }),
  ],
  [
    'followed by an event of more than 4 MiB',
    'upstream_invalid',
    (wire) => pieces([...early(wire), `data: {"a":"${'x'.repeat(4.5 * 1024 * 1024)}`], { gapMs: 3, ending: 'stall' }),
  ],
  [
    'followed by an error event',
    'upstream_error',
    (wire) => pieces([...early(wire), errorEvent(wire, 'It broke.')], { gapMs: 3 }),
  ],
];

describe.each(PAIRS)('a caller of %s, an upstream of %s: a stream that is', (client, wire) => {
  const lines = new ExpectedLines();
  it.each(FAULTS)('%s ends with one error event, and is told as failed', async (_what, code, make) => {
    stage.at(0).answer(make(wire));
    const before = await stage.gateway.metric('modelgateway_stream_failures_total');
    const answer = await read(client, wire);
    const { status, text } = answer;
    expect(status).toBe(200);
    expect(isFinished(client, text)).toBe(false);
    expect(endsInError(client, text)).toBe(true);
    expect(text).toContain('one');
    expect(text.match(/"error"/g)).toHaveLength(client === 'openai' ? 1 : 2);
    lines.add(answer, { stream_failed: true, error: code, status: 200, attempts: 1 });
    expect((await stage.gateway.metric('modelgateway_stream_failures_total')) - before).toBe(1);
  });

  it('stalled ends with an error event after its idle time', async () => {
    stage.at(0).answer(pieces(early(wire), { ending: 'stall' }));
    const answer = await read(client, `idle-${wire}`);
    expect(endsInError(client, answer.text)).toBe(true);
    lines.add(answer, { error: 'upstream_stalled', stream_failed: true });
    await expect.poll(() => stage.at(0).calls.at(-1)?.abortedAt).toBeDefined();
  });

  it('whole is told as whole, with its usage', async () => {
    stage.at(0).answer(good(wire));
    const answer = await read(client, wire);
    expect(isFinished(client, answer.text)).toBe(true);
    expect(answer.text).not.toContain('"error"');
    lines.add(answer, { status: 200, input_tokens: 9, output_tokens: 12, stream: true, stream_failed: undefined });
  });

  it('followed by more after its end is whole, and the rest is dropped', async () => {
    stage.at(0).answer(pieces([...events(wire), 'data: {"late":true}\n\n']));
    const { text } = await read(client, wire);
    expect(isFinished(client, text)).toBe(true);
    expect(text).not.toContain('late');
  });

  const NEVER_BEGUN: readonly (readonly [string, Reply])[] = [
    ['empty', pieces([])],
    ['only comments', pieces([': hello\n\n'])],
    ['broken in its first event', pieces(['data: hello\n\n'])],
    ['cut in its first event', pieces(['data: {"id"'])],
    ['JSON', json(200, { id: 'x', choices: [] })],
    ['HTML', text(200, '<html></html>', { 'content-type': 'text/html' })],
    ['reset at once', pieces([], { ending: 'reset' })],
  ];
  it.each(NEVER_BEGUN)('%s is an ordinary failure, and falls back', async (_what, reply) => {
    stage.at(0).answer(reply);
    stage.at(1).answer(good(wire));
    const answer = await read(client, `fall-${wire}`);
    expect(answer.status).toBe(200);
    expect(isFinished(client, answer.text)).toBe(true);
    lines.add(answer, { attempts: 2 });
    const alone = await read(client, wire);
    expect(alone.status).toBe(502);
    expect(alone.text).toContain('"error"');
  });

  it('begun is not sent to another target', async () => {
    stage.at(0).answer(pieces(early(wire), { gapMs: 3 }));
    const before = stage.at(1).calls.length;
    const { text } = await read(client, `fall-${wire}`);
    expect(endsInError(client, text)).toBe(true);
    expect(stage.at(1).calls.length).toBe(before);
  });

  it.each(FAULTS.slice(0, 4))('%s moves on from the start where the whole is wanted', async (_what, _code, make) => {
    stage.at(0).answer(make(wire));
    stage.at(1).answer(good(wire));
    const answer = await read(client, `whole-${wire}`);
    expect(isFinished(client, answer.text)).toBe(true);
    expect(answer.text.match(/one/g)).toHaveLength(1);
    lines.add(answer, { attempts: 2, status: 200, stream_failed: undefined });
  });

  it('broken everywhere is an ordinary error where the whole is wanted', async () => {
    stage.at(0).answer(pieces(early(wire)));
    stage.at(1).answer(pieces(early(wire)));
    const { status, text } = await read(client, `whole-${wire}`);
    expect(status).toBe(502);
    expect(JSON.parse(text)).toHaveProperty('error');
  });

  it('is told in the log, as it was', () => lines.check(stage));
});

describe('the end of a stream without an end marker', () => {
  const chunk = (index: number, finish: string | null) =>
    openAiEvent({ id: 'x', model: 'm', choices: [{ index, delta: { content: 'a' }, finish_reason: finish }] });
  it.each([
    ['every choice has finished', 1, [chunk(0, null), chunk(0, 'stop')], true],
    ['no choice has finished', 1, [chunk(0, null)], false],
    ['both choices have finished', 2, [chunk(0, 'stop'), chunk(1, 'length')], true],
    ['one of two has finished', 2, [chunk(0, 'stop'), chunk(1, null)], false],
    [
      'the JSON is written with spaces',
      1,
      ['data: {"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]}\n\n'],
      true,
    ],
    [
      'the JSON is written with spaces, unfinished',
      1,
      ['data: {"choices": [{"index": 0, "delta": {}, "finish_reason": null}]}\n\n'],
      false,
    ],
    [
      'finish_reason is in a text alone',
      1,
      [openAiEvent({ choices: [{ index: 0, delta: { content: '"finish_reason":"stop"' }, finish_reason: null }] })],
      false,
    ],
  ])('is clean where %s', async (_what, n, parts, whole) => {
    stage.at(0).answer(pieces(parts));
    const { text } = await read('openai', 'openai', { n });
    expect(text.endsWith('data: [DONE]\n\n')).toBe(whole);
    expect(endsInError('openai', text)).toBe(!whole);
  });

  it('usage is asked for, and its chunk kept from who did not ask', async () => {
    stage.at(0).answer(good('openai'));
    const { text } = await read('openai', 'openai');
    expect(stage.at(0).json(-1)['stream_options']).toEqual({ include_usage: true });
    expect(text).not.toContain('"usage":{');
    const asked = await read('openai', 'openai', { stream_options: { include_usage: true } });
    expect(asked.text).toContain('"usage":{"prompt_tokens":9');
  });

  it('what comes is what was sent, byte for byte', async () => {
    const sent = [...openAiChunks({ text: WORDS, includeUsage: false }).map(openAiEvent), openAiEvent('[DONE]')].join(
      '',
    );
    stage.at(0).answer(pieces([sent]));
    expect((await read('openai', 'openai')).text).toBe(sent);
    const message = events('anthropic').join('');
    stage.at(0).answer(pieces([message]));
    expect((await read('anthropic', 'anthropic')).text).toBe(message);
  });
});
