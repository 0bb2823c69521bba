/** The probe of an open circuit: one at a time, whatever way it is asked, and what each end of it means. */
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { config } from '../../fakes/objects.ts';
import { openAiError } from '../../fakes/openai-wire.ts';
import { chat, gated, hangBeforeHeaders, json, pieces, type Reply, resetBeforeHeaders } from '../../fakes/replies.ts';
import { waitFor } from '../../fakes/wait-for.ts';
import { type Stage, startStage } from '../stage.ts';
import {
  type Asked,
  askBy,
  broken,
  CHAT,
  CHAT_STREAM,
  eventsOf,
  good,
  isWhole,
  targetOf,
  WAYS,
  type Way,
} from './ways.ts';

const COOLDOWN_MS = 30_000;
const RULE = { failure_threshold: 1, cooldown_interval: COOLDOWN_MS };
const DOWN = json(503, openAiError('down'));

let stage: Stage;
let serial = 0;
let nowMs = 0;
beforeAll(async () => {
  stage = await startStage(
    3,
    () => '',
    () => ({ breakerClock: () => nowMs }),
  );
});
afterAll(() => stage.close());
beforeEach(() => {
  for (const upstream of stage.upstreams) upstream.answer(chat());
});

let name = '';

/** A fallback of the three upstreams under a name, and so with breakers, of its own. */
function use(way: Way, more: object = {}, rule: object = RULE): void {
  serial += 1;
  name = `half-open-${serial}`;
  const targets = stage.upstreams.map((upstream) => targetOf(way.wire, upstream));
  stage.gateway.apply(config(name, { strategy: { mode: 'fallback' }, cb_config: rule, targets, ...more }));
  for (const upstream of stage.upstreams) upstream.answer(good(way));
}

const ask = (way: Way): Promise<Asked> => askBy(stage, way, name);

/** Opens the circuit of the first target, and lets its cooldown pass. */
async function openAndCool(way: Way): Promise<void> {
  stage.at(0).answer(DOWN);
  expect((await ask(way)).calls[0]).toBe(1);
  expect((await ask(way)).calls).toEqual([0, 1, 0]);
  nowMs += COOLDOWN_MS;
}

/** What the next request does after `reply` was the probe's answer. */
async function afterProbe(way: Way, reply: Reply): Promise<{ probe: Asked; next: Asked }> {
  stage.at(0).answer(reply);
  const probe = await ask(way);
  stage.at(0).answer(good(way));
  return { probe, next: await ask(way) };
}

describe.each(WAYS)('%s', (_name, way) => {
  it('one probe of 30 requests at once; the others pass the target by', async () => {
    use(way);
    await openAndCool(way);
    const probe = gated(good(way));
    stage.at(0).answer(probe.reply);
    const before = stage.upstreams.map(({ calls }) => calls.length);
    const asked = Array.from({ length: 30 }, () => ask(way));
    await stage.at(1).called((before[1] ?? 0) + 29);
    expect(stage.at(0).calls.length - (before[0] ?? 0)).toBe(1);
    probe.open();
    const paths = (await Promise.all(asked)).map(({ path, status }) => `${status} ${path}`);
    expect(paths.filter((path) => path === '200 config.targets[0]')).toHaveLength(1);
    expect(paths.filter((path) => path === '200 config.targets[1]')).toHaveLength(29);
    expect((await ask(way)).calls).toEqual([1, 0, 0]);
  });

  it('a probe that succeeds closes the circuit', async () => {
    use(way);
    await openAndCool(way);
    const { probe, next } = await afterProbe(way, good(way));
    expect(probe).toMatchObject({ status: 200, calls: [1, 0, 0] });
    expect(next.calls).toEqual([1, 0, 0]);
  });

  it.each<[string, Reply]>([
    ['503', DOWN],
    ['500', json(500, openAiError())],
    ['a network error', resetBeforeHeaders],
    ['an answer of another kind', pieces(['hello'], { headers: { 'content-type': 'text/plain' } })],
  ])('a probe that fails with %s opens it for a whole cooldown again', async (_what, reply) => {
    use(way);
    await openAndCool(way);
    nowMs += 10_000;
    const { probe, next } = await afterProbe(way, reply);
    expect(probe).toMatchObject({ status: 200, calls: [1, 1, 0] });
    expect(next.calls).toEqual([0, 1, 0]);
    nowMs += COOLDOWN_MS - 1;
    expect((await ask(way)).calls).toEqual([0, 1, 0]);
    nowMs += 1;
    expect((await ask(way)).calls).toEqual([1, 0, 0]);
  });

  it('a probe that times out opens it again', async () => {
    use(way, { request_timeout: 60 });
    await openAndCool(way);
    const { next } = await afterProbe(way, hangBeforeHeaders);
    expect(next.calls).toEqual([0, 1, 0]);
  });

  it.each([400, 404, 422, 429])('a probe that is answered with %i closes it: the upstream lives', async (status) => {
    use(way);
    await openAndCool(way);
    const { next } = await afterProbe(way, json(status, openAiError('no')));
    expect(next.calls).toEqual([1, 0, 0]);
  });

  it('a probe whose caller leaves is no answer: the next request probes', async () => {
    use(way);
    await openAndCool(way);
    stage.at(0).answer(hangBeforeHeaders);
    const before = stage.at(0).calls.length;
    const leaving = new AbortController();
    const left = askBy(stage, way, name, { signal: leaving.signal }).catch(() => 'left');
    await stage.at(0).called(before + 1);
    expect((await ask(way)).calls[0]).toBe(0);
    leaving.abort();
    expect(await left).toBe('left');
    stage.at(0).answer(good(way));
    await waitFor(async () => (await ask(way)).calls[0] === 1, 'another probe');
  });
});

describe.each(WAYS.filter(([, { stream }]) => stream))('%s: a probe that began', (_name, way) => {
  it('and broke opens the circuit again', async () => {
    use(way);
    await openAndCool(way);
    const { probe, next } = await afterProbe(way, broken(way.wire));
    expect(probe.calls).toEqual([1, 0, 0]);
    expect(probe.text).toContain('"error"');
    expect(next.calls).toEqual([0, 1, 0]);
  });

  it('and stalled opens it again', async () => {
    use(way, { strategy: { mode: 'fallback', stream_idle_timeout: 60 } });
    await openAndCool(way);
    const { next } = await afterProbe(way, broken(way.wire, { ending: 'stall' }));
    expect(next.calls).toEqual([0, 1, 0]);
  });

  it('and goes on holds nobody up', async () => {
    use(way);
    await openAndCool(way);
    const events = eventsOf(way.wire, 'a b c');
    const gate = Promise.withResolvers<void>();
    stage.at(0).answer({
      async send(response) {
        response.writeHead(200, { 'content-type': 'text/event-stream' });
        response.write(events.slice(0, 4).join(''));
        await gate.promise;
        response.end(events.slice(4).join(''));
      },
    });
    const before = stage.at(0).calls.length;
    const running = ask(way);
    await stage.at(0).called(before + 1);
    stage.at(0).answer(good(way));
    await waitFor(async () => (await ask(way)).calls[0] === 1, 'the circuit to close').finally(gate.resolve);
    expect(isWhole(way, (await running).text)).toBe(true);
  });
});

describe('a stream wanted whole', () => {
  it('is a probe to its end: cut in the middle it opens the circuit again', async () => {
    use(CHAT_STREAM, { strategy: { mode: 'fallback', stream_delivery: 'whole' } });
    await openAndCool(CHAT_STREAM);
    const { probe, next } = await afterProbe(CHAT_STREAM, broken('openai'));
    expect(probe).toMatchObject({ status: 200, calls: [1, 1, 0] });
    expect(probe.text).toContain('[DONE]');
    expect(next.calls).toEqual([0, 1, 0]);
  });
});

describe('a probe with retries', () => {
  it('is one probe, and closes the circuit with its last answer', async () => {
    const retry = { attempts: 1, use_retry_after_headers: true };
    use(CHAT, { retry });
    stage.at(0).answer(json(503, openAiError(), { 'retry-after-ms': '1' }));
    expect((await ask(CHAT)).calls).toEqual([2, 1, 0]);
    nowMs += COOLDOWN_MS;
    stage.at(0).answer([json(503, openAiError(), { 'retry-after-ms': '1' }), chat()]);
    expect(await ask(CHAT)).toMatchObject({ calls: [2, 0, 0], retries: '1' });
    expect((await ask(CHAT)).calls).toEqual([1, 0, 0]);
  });
});

describe('answers from before the circuit opened', () => {
  it('neither close it nor open it anew', async () => {
    use(CHAT);
    const early = gated(chat());
    stage.at(0).answer(early.reply);
    const before = stage.at(0).calls.length;
    const slow = ask(CHAT);
    await stage.at(0).called(before + 1);
    stage.at(0).answer(DOWN);
    await ask(CHAT);
    early.open();
    expect(await slow).toMatchObject({ status: 200, path: 'config.targets[0]' });
    expect((await ask(CHAT)).calls).toEqual([0, 1, 0]);
  });
});

describe('two targets that are due at once', () => {
  it('are probed one by one, in order', async () => {
    use(CHAT);
    stage.at(0).answer(DOWN);
    stage.at(1).answer(DOWN);
    expect((await ask(CHAT)).calls).toEqual([1, 1, 1]);
    expect((await ask(CHAT)).calls).toEqual([0, 0, 1]);
    nowMs += COOLDOWN_MS;
    expect((await ask(CHAT)).calls).toEqual([1, 1, 1]);
    nowMs += COOLDOWN_MS;
    stage.at(0).answer(chat());
    stage.at(1).answer(chat());
    expect((await ask(CHAT)).calls).toEqual([1, 0, 0]);
    stage.at(0).answer(DOWN);
    expect((await ask(CHAT)).calls).toEqual([1, 1, 0]);
  });
});
