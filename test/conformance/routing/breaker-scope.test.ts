/** Circuit breakers in trees: what counts, what is skipped where, whose state it is, and what a new snapshot does to it. */
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { config } from '../../fakes/objects.ts';
import { openAiError } from '../../fakes/openai-wire.ts';
import {
  chat,
  hangAfterHeaders,
  hangBeforeHeaders,
  json,
  type Reply,
  resetBeforeHeaders,
  text,
} from '../../fakes/replies.ts';
import { waitFor } from '../../fakes/wait-for.ts';
import { type Stage, startStage, target } from '../stage.ts';
import { askBy, broken, CHAT, CHAT_STREAM, good, refusalOf, type Way } from './ways.ts';

const RULE = { failure_threshold: 1, cooldown_interval: 30_000 };
const DOWN = json(503, openAiError('down'));

let stage: Stage;
let serial = 0;
beforeAll(async () => {
  stage = await startStage(
    3,
    () => '',
    ({ 0: first, 1: second }) => ({ breakerClock: () => 0, requestHosts: [first?.origin ?? '', second?.origin ?? ''] }),
  );
});
afterAll(() => stage.close());
beforeEach(() => {
  serial += 1;
  for (const upstream of stage.upstreams) upstream.answer(chat());
});

const at = (index: number, more: object = {}) => target(stage.at(index), more);
const fallback = (targets: readonly object[], more: object = {}) => ({
  strategy: { mode: 'fallback' },
  targets,
  ...more,
});
const apply = (spec: object, other = '') => stage.gateway.apply(config(`scope-${serial}`, spec) + other);
const ask = (way: Way = CHAT, metadata: object = {}) =>
  askBy(stage, way, `scope-${serial}`, { headers: { 'x-gateway-metadata': JSON.stringify(metadata) } });

/** How often the first target is asked by five requests while it answers so. */
async function askedWhile(reply: Reply, rule: object, more: object = {}, way: Way = CHAT): Promise<number> {
  apply(fallback([at(0), at(1)], { cb_config: rule, ...more }));
  stage.at(0).answer(reply);
  stage.at(1).answer(good(way));
  let asked = 0;
  for (let request = 0; request < 5; request += 1) asked += (await ask(way)).calls[0] ?? 0;
  return asked;
}

describe('without failure_status_codes', () => {
  it.each([500, 501, 502, 503, 504, 529, 599])('counts %i', async (status) => {
    expect(await askedWhile(json(status, openAiError()), RULE)).toBe(1);
  });

  it.each([400, 401, 403, 404, 408, 409, 422, 429, 499])('does not count %i', async (status) => {
    expect(await askedWhile(json(status, openAiError()), RULE)).toBe(5);
  });

  it.each<[string, Reply, Way, object]>([
    ['a reset', resetBeforeHeaders, CHAT, {}],
    ['a wrong answer', text(200, 'hello'), CHAT, {}],
    ['a redirect', text(302, '', { location: '/' }), CHAT, {}],
    ['a timeout', hangBeforeHeaders, CHAT, { request_timeout: 150 }],
    ['a timeout after the headers', hangAfterHeaders, CHAT_STREAM, { request_timeout: 150 }],
    ['a stream that broke', broken('openai'), CHAT_STREAM, {}],
    ['JSON for a stream', chat(), CHAT_STREAM, {}],
  ])('counts %s', async (_what, reply, way, more) => {
    expect(await askedWhile(reply, RULE, more, way)).toBe(1);
  });
});

describe('with failure_status_codes', () => {
  const listing = (...failure_status_codes: number[]) => ({ ...RULE, failure_status_codes });
  it.each<[string, number, number[], Reply, Way, object]>([
    ['401 where listed', 1, [401], json(401, openAiError()), CHAT, {}],
    ['403 where listed', 1, [403], json(403, openAiError()), CHAT, {}],
    ['429 where listed', 1, [429], json(429, openAiError()), CHAT, {}],
    ['no 503 where it is not listed', 5, [429], DOWN, CHAT, {}],
    ['nothing where nothing is listed', 5, [], DOWN, CHAT, {}],
    ['a network error as 502', 1, [502], resetBeforeHeaders, CHAT, {}],
    ['a network error as nothing else', 5, [500, 503, 504], resetBeforeHeaders, CHAT, {}],
    ['a timeout as 408', 1, [408], hangBeforeHeaders, CHAT, { request_timeout: 150 }],
    ['a timeout as nothing else', 5, [502, 504], hangBeforeHeaders, CHAT, { request_timeout: 150 }],
    ['a broken stream as 502', 1, [502], broken('openai'), CHAT_STREAM, {}],
    ['a broken stream as nothing else', 5, [408, 500], broken('openai'), CHAT_STREAM, {}],
    [
      'a stalled stream as 408',
      1,
      [408],
      broken('openai', { ending: 'stall' }),
      CHAT_STREAM,
      { strategy: { mode: 'fallback', stream_idle_timeout: 150 } },
    ],
  ])('counts %s', async (_what, asked, codes, reply, way, more) => {
    const moving = { strategy: { mode: 'fallback', on_status_codes: [401, 403, 429, 503, 502, 408] } };
    expect(await askedWhile(reply, listing(...codes), { ...moving, ...more }, way)).toBe(asked);
  });
});

describe('failure_threshold', () => {
  it.each([1, 2, 3, 4])('%i failures in a row open the circuit', async (failure_threshold) => {
    expect(await askedWhile(DOWN, { ...RULE, failure_threshold })).toBe(failure_threshold);
  });

  it('is met by one request with all its retries only once', async () => {
    const retry = { attempts: 2, use_retry_after_headers: true };
    const reply = json(503, openAiError(), { 'retry-after-ms': '1' });
    const own = { retry, targets: [at(0, { api_key: `scope-${serial}` }), at(1)] };
    expect(await askedWhile(reply, { ...RULE, failure_threshold: 2 }, own)).toBe(6);
  });

  it('is not met by a success of a retry', async () => {
    const retry = { attempts: 1, use_retry_after_headers: true };
    const turns = Array.from({ length: 5 }, () => [json(503, openAiError(), { 'retry-after-ms': '1' }), chat()]).flat();
    apply(fallback([at(0, { api_key: `scope-${serial}` }), at(1)], { cb_config: RULE, retry }));
    stage.at(0).answer(turns);
    for (let request = 0; request < 5; request += 1) expect((await ask()).calls).toEqual([2, 0, 0]);
  });

  it.each([
    [{ failure_threshold: 0, cooldown_interval: 30_000 }, 'failure_threshold'],
    [{ failure_threshold: 1, cooldown_interval: 29_999 }, 'cooldown_interval'],
    [{ failure_threshold: 1 }, 'cooldown_interval'],
    [{ cooldown_interval: 30_000 }, 'failure_threshold'],
    [{ ...RULE, failure_status_codes: [99] }, 'failure_status_codes'],
    [{ ...RULE, minimum_requests: 5 }, 'minimum_requests'],
  ])('%j is refused', async (cb_config, named) => {
    expect(await refusalOf(stage, { provider: 'simulator', cb_config })).toContain(named);
  });
});

describe('callers who leave', () => {
  it.each([
    ['before the answer', CHAT, hangBeforeHeaders],
    ['before the first event', CHAT_STREAM, hangAfterHeaders],
  ])('%s are no failures of the upstream', async (_when, way, reply) => {
    apply(fallback([at(0), at(1)], { cb_config: RULE }));
    stage.at(0).answer(reply);
    for (let caller = 0; caller < 3; caller += 1) {
      const leaving = new AbortController();
      const before = stage.at(0).calls.length;
      const left = askBy(stage, way, `scope-${serial}`, { signal: leaving.signal }).catch(() => 'left');
      await stage.at(0).called(before + 1);
      leaving.abort();
      expect(await left).toBe('left');
      await waitFor(() => stage.at(0).calls.at(-1)?.abortedAt !== undefined, 'the upstream to be hung up on');
    }
    stage.at(0).answer(good(way));
    expect((await ask(way)).calls).toEqual([1, 0, 0]);
  });
});

describe('our own refusals', () => {
  it('are no failures of the upstream', async () => {
    apply(fallback([at(0, { provider: 'anthropic' }), at(1)], { cb_config: RULE }));
    const headers = { 'x-gateway-config': `scope-${serial}` };
    for (let request = 0; request < 3; request += 1)
      await (await stage.gateway.post('/v1/embeddings', { model: 'm', input: 'x' }, headers)).text();
    stage.at(0).answer(good({ wire: 'anthropic', stream: false }));
    expect((await ask()).calls).toEqual([1, 0, 0]);
  });
});

describe('an open target', () => {
  it('is asked all the same where there is no other: single', async () => {
    apply({ strategy: { mode: 'single' }, cb_config: RULE, targets: [at(0)] });
    stage.at(0).answer(DOWN);
    for (let request = 0; request < 3; request += 1) expect((await ask()).calls).toEqual([1, 0, 0]);
  });

  it('is asked all the same where a condition chose it', async () => {
    const strategy = {
      mode: 'conditional',
      conditions: [{ query: { 'metadata.to': 'a' }, then: 'a' }],
      default: 'b',
    };
    apply({ strategy, cb_config: RULE, targets: [at(0, { name: 'a' }), at(1, { name: 'b' })] });
    stage.at(0).answer(DOWN);
    for (let request = 0; request < 3; request += 1) expect((await ask(CHAT, { to: 'a' })).calls).toEqual([1, 0, 0]);
    expect((await ask()).calls).toEqual([0, 1, 0]);
  });

  it('makes a fallback pass the condition by that chose it, for whom it chose it', async () => {
    const chosen = {
      strategy: { mode: 'conditional', conditions: [{ query: { 'metadata.to': 'a' }, then: 'a' }], default: 'b' },
      targets: [at(0, { name: 'a' }), at(1, { name: 'b' })],
    };
    apply(fallback([chosen, at(2)], { cb_config: RULE }));
    stage.at(0).answer(DOWN);
    expect((await ask(CHAT, { to: 'a' })).calls).toEqual([1, 0, 1]);
    expect((await ask(CHAT, { to: 'a' })).calls).toEqual([0, 0, 1]);
    expect((await ask()).calls).toEqual([0, 1, 0]);
  });

  it('is not drawn; with all open one of all is', async () => {
    apply({ strategy: { mode: 'loadbalance' }, cb_config: RULE, targets: [at(0), at(1)] });
    stage.at(0).answer(DOWN);
    await waitFor(async () => (await ask()).calls[0] === 1, 'a draw of the first');
    for (let request = 0; request < 20; request += 1) expect((await ask()).calls).toEqual([0, 1, 0]);
    stage.at(1).answer(DOWN);
    expect((await ask()).calls).toEqual([0, 1, 0]);
    const drawn = new Set<string | null>();
    for (let request = 0; request < 30; request += 1) drawn.add((await ask()).path);
    expect(drawn.size).toBe(2);
  });

  it('makes room for nobody without a weight', async () => {
    const targets = [at(0), at(1, { weight: 0 })];
    apply({ strategy: { mode: 'loadbalance' }, cb_config: RULE, targets });
    stage.at(0).answer(DOWN);
    for (let request = 0; request < 10; request += 1) expect((await ask()).calls).toEqual([1, 0, 0]);
  });

  it('closes its branch where all of the branch are open', async () => {
    apply(fallback([fallback([at(0), at(1)]), at(2)], { cb_config: RULE }));
    stage.at(0).answer(DOWN);
    stage.at(1).answer(DOWN);
    expect((await ask()).calls).toEqual([1, 1, 1]);
    expect((await ask()).calls).toEqual([0, 0, 1]);
    stage.at(2).answer(DOWN);
    expect((await ask()).calls).toEqual([0, 0, 1]);
    expect(await ask()).toMatchObject({ calls: [1, 1, 1], status: 503 });
  });

  it('is the matter of the targets that have a breaker alone', async () => {
    apply(fallback([at(0, { cb_config: RULE }), at(1), at(2)]));
    stage.at(0).answer(DOWN);
    stage.at(1).answer(DOWN);
    expect((await ask()).calls).toEqual([1, 1, 1]);
    expect((await ask()).calls).toEqual([0, 1, 1]);
    expect((await ask()).calls).toEqual([0, 1, 1]);
  });
});

describe('the state', () => {
  const open = async () => {
    stage.at(0).answer(DOWN);
    expect((await ask()).calls[0]).toBe(1);
    expect((await ask()).calls[0]).toBe(0);
  };
  const tree = (rule: object = RULE) => fallback([at(0), at(1)], { cb_config: rule });

  it('is a target’s of one config, not the upstream’s', async () => {
    apply(tree(), config(`twin-${serial}`, tree()));
    await open();
    expect((await askBy(stage, CHAT, `twin-${serial}`)).calls).toEqual([1, 1, 0]);
  });

  it('is each path’s, where one upstream stands twice', async () => {
    apply(fallback([at(0), at(0), at(1)], { cb_config: { ...RULE, failure_threshold: 2 } }));
    stage.at(0).answer(DOWN);
    expect((await ask()).calls).toEqual([2, 1, 0]);
    expect((await ask()).calls).toEqual([2, 1, 0]);
    expect((await ask()).calls).toEqual([0, 1, 0]);
  });

  it.each<[string, (name: string) => string, boolean]>([
    ['the same again', (name) => config(name, tree()), true],
    ['other objects beside it', (name) => config(name, tree()) + config('x', { provider: 'simulator' }), true],
    ['the same codes in another order', (name) => config(name, tree(coded(503, 500))), true],
    ['another threshold', (name) => config(name, tree({ ...RULE, failure_threshold: 2 })), false],
    ['another cooldown', (name) => config(name, tree({ ...RULE, cooldown_interval: 31_000 })), false],
    ['other codes', (name) => config(name, tree(coded(503))), false],
  ])('is kept over a new snapshot with %s: %s', async (_what, next, kept) => {
    apply(tree(_what.includes('codes') ? coded(500, 503) : RULE));
    await open();
    stage.gateway.apply(next(`scope-${serial}`));
    expect((await ask()).calls[0]).toBe(kept ? 0 : 1);
  });

  it('goes with its config', async () => {
    apply(tree());
    await open();
    stage.gateway.apply(config('x', { provider: 'simulator' }));
    apply(tree());
    expect((await ask()).calls).toEqual([1, 1, 0]);
  });

  it('is kept while a new snapshot is refused', async () => {
    apply(tree());
    await open();
    stage.gateway.apply(config(`scope-${serial}`, { strategy: { mode: 'fallback' } }), { allowComplaints: true });
    expect((await ask()).calls).toEqual([0, 1, 0]);
  });

  it('of an inline config is shared by equal ones, and outlives a new snapshot', async () => {
    const inline = { ...tree(), name: `inline-${serial}` };
    stage.gateway.apply('');
    stage.at(0).answer(DOWN);
    expect((await askBy(stage, CHAT, inline)).calls).toEqual([1, 1, 0]);
    expect((await askBy(stage, CHAT, inline)).calls).toEqual([0, 1, 0]);
    expect((await askBy(stage, CHAT, { ...inline, name: 'another' })).calls).toEqual([1, 1, 0]);
    apply(tree());
    expect((await askBy(stage, CHAT, inline)).calls).toEqual([0, 1, 0]);
  });

  it('is on the metrics page, per target', async () => {
    apply(tree());
    await open();
    const page = await stage.gateway.metrics();
    const lines = page
      .split('\n')
      .filter((line) => line.includes('breaker_state{') && line.includes(`scope-${serial}`));
    expect(lines.some((line) => line.includes('config.targets[0]') && line.endsWith(' 2'))).toBe(true);
  });
});

function coded(...failure_status_codes: number[]): object {
  return { ...RULE, failure_status_codes };
}
