/** `strategy.sticky`: the same fields lead to the same target, on every replica, for as long as `ttl` says. */
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest';
import { startTestGateway, type TestGateway } from '../../fakes/gateway.ts';
import { config } from '../../fakes/objects.ts';
import { openAiError } from '../../fakes/openai-wire.ts';
import { chat, json } from '../../fakes/replies.ts';
import { HI, type Stage, startStage, target } from '../stage.ts';
import { askBy, CHAT, errorOf, good, targetOf, WAYS } from './ways.ts';

let stage: Stage;
let replica: TestGateway;

const USERS = Array.from({ length: 24 }, (_, index) => `user-${index}`);
const STICKY = { enabled: true, hash_fields: ['metadata.user'] };

const FIELDS: Readonly<Record<string, readonly string[]>> = {
  metadata: ['metadata.user'],
  headers: ['headers.X-Session'],
  params: ['params.user'],
  deep: ['params.metadata.session.id'],
  two: ['metadata.user', 'headers.x-session'],
};

beforeAll(async () => {
  stage = await startStage(3, (upstreams) => {
    const targets = upstreams.map((upstream) => target(upstream));
    const balanced = (sticky: object, more: object = {}) => ({
      strategy: { mode: 'loadbalance', sticky },
      targets,
      ...more,
    });
    return [
      ...Object.entries(FIELDS).map(([name, hash_fields]) => config(name, balanced({ enabled: true, hash_fields }))),
      config('off', balanced({ ...STICKY, enabled: false })),
      config('unsaid', balanced({ hash_fields: ['metadata.user'] })),
      config('ttl', balanced({ ...STICKY, ttl: 60 })),
      config(
        'weighted',
        balanced(STICKY, {
          targets: upstreams.map((upstream, index) => target(upstream, { weight: [8, 2, 0][index] })),
        }),
      ),
      config('guarded', balanced(STICKY, { cb_config: { failure_threshold: 1, cooldown_interval: 30_000 } })),
      config('anthropic', {
        strategy: { mode: 'loadbalance', sticky: STICKY },
        targets: upstreams.map((upstream) => targetOf('anthropic', upstream)),
      }),
    ].join('');
  });
  replica = await startTestGateway({ manifests: stage.manifests });
});
afterAll(async () => {
  await stage.close();
  await replica.close();
});
afterEach(() => {
  vi.useRealTimers();
  for (const upstream of stage.upstreams) upstream.answer(chat());
});

interface Who {
  readonly metadata?: Readonly<Record<string, unknown>>;
  readonly headers?: Readonly<Record<string, string>>;
  readonly params?: object;
}

async function choiceOf(gateway: TestGateway, name: string, who: Who): Promise<string> {
  const headers = {
    'x-gateway-config': name,
    'x-gateway-metadata': JSON.stringify(who.metadata ?? {}),
    ...who.headers,
  };
  const response = await gateway.chat({ ...HI, ...who.params }, headers);
  await response.text();
  return response.headers.get('x-gateway-last-used-option-index') ?? String(response.status);
}

/** Where each of `times` requests, turn by turn to the two replicas, went. */
async function choices(name: string, who: Who, times = 6): Promise<ReadonlySet<string>> {
  const gateways = Array.from({ length: times }, (_, index) => (index % 2 === 0 ? stage.gateway : replica));
  return new Set(await Promise.all(gateways.map((gateway) => choiceOf(gateway, name, who))));
}

const of = (user: string): Who => ({ metadata: { user } });

describe('the same value', () => {
  const WHO: readonly (readonly [name: string, who: (value: string) => Who])[] = [
    ['metadata', of],
    ['headers', (value) => ({ headers: { 'x-session': value } })],
    ['headers', (value) => ({ headers: { 'X-SESSION': value } })],
    ['params', (user) => ({ params: { user } })],
    ['deep', (id) => ({ params: { metadata: { session: { id } } } })],
    ['two', (user) => ({ metadata: { user }, headers: { 'x-session': 'same' } })],
    ['two', (value) => ({ metadata: { user: 'same' }, headers: { 'x-session': value } })],
    ['two', of],
  ];
  it.each(WHO)('of %s stays on one target of both replicas, and values spread over all', async (name, who) => {
    const seen = new Set<string>();
    for (const value of USERS) {
      const chosen = await choices(name, who(value), 4);
      expect(chosen.size).toBe(1);
      for (const path of chosen) seen.add(path);
    }
    expect(seen.size).toBe(3);
  });

  it.each(WAYS)('stays in each way to ask: %s', async (_name, way) => {
    for (const upstream of stage.upstreams) upstream.answer(good(way));
    const name = way.wire === 'openai' ? 'metadata' : 'anthropic';
    for (const user of USERS.slice(0, 6)) {
      const expected = await choiceOf(replica, 'metadata', of(user));
      const headers = { 'x-gateway-metadata': JSON.stringify({ user }) };
      expect((await askBy(stage, way, name, { headers })).path).toBe(expected);
    }
  });

  it('is the same as a number and as text', async () => {
    for (let id = 0; id < 12; id += 1) {
      const [text] = await choices('metadata', { metadata: { user: String(id) } }, 1);
      expect(await choices('metadata', { metadata: { user: id } }, 2)).toEqual(new Set([text]));
    }
  });

  it('is not mixed up with the neighbour’s', async () => {
    const paths = new Set<string>();
    for (const user of USERS) {
      const apart = await choiceOf(stage.gateway, 'two', { metadata: { user }, headers: { 'x-session': 'ab' } });
      const other = await choiceOf(stage.gateway, 'two', {
        metadata: { user: `${user}a` },
        headers: { 'x-session': 'b' },
      });
      paths.add(apart === other ? 'same' : 'other');
    }
    expect(paths).toContain('other');
  });

  it('outlives a new snapshot', async () => {
    const before = await Promise.all(USERS.map((user) => choiceOf(stage.gateway, 'metadata', of(user))));
    stage.gateway.apply(stage.manifests + config('another', { provider: 'simulator' }));
    expect(await Promise.all(USERS.map((user) => choiceOf(stage.gateway, 'metadata', of(user))))).toEqual(before);
  });
});

describe('a draw is free', () => {
  it.each([
    ['where no field is there', 'metadata', {}],
    ['where none of two fields is there', 'two', { metadata: { other: 'x' } }],
    ['where the field is an object', 'deep', { params: { metadata: { session: { id: { a: 'x' } } } } }],
    ['where it is switched off', 'off', of('user-1')],
    ['where nothing switches it on', 'unsaid', of('user-1')],
  ])('%s', async (_what, name, who) => {
    // 40 draws that leave out one of three targets: once in 10 million runs.
    expect((await choices(name, who as Who, 40)).size).toBe(3);
  });
});

describe('ttl', () => {
  it('keeps a choice for its span, draws anew after it, and not for all at one moment', async () => {
    vi.useFakeTimers({ toFake: ['Date'], now: 1_700_000_000_000 });
    const all = () => Promise.all(USERS.map((user) => choiceOf(stage.gateway, 'ttl', of(user))));
    const changes = (one: readonly string[], other: readonly string[]) =>
      one.filter((path, index) => path !== other[index]).length;
    const first = await all();
    expect(changes(first, await all())).toBe(0);
    let former = first;
    let moves = 0;
    for (let step = 1; step <= 6; step += 1) {
      vi.setSystemTime(1_700_000_000_000 + step * 10_000);
      const now = await all();
      expect(now).toEqual(await Promise.all(USERS.map((user) => choiceOf(replica, 'ttl', of(user)))));
      const moved = changes(former, now);
      expect(moved).toBeLessThan(USERS.length / 2);
      moves += moved;
      former = now;
    }
    expect(moves).toBeGreaterThan(USERS.length / 4);
    expect(moves).toBeLessThanOrEqual(USERS.length);
  });

  it('absent: a choice is kept for good', async () => {
    const before = await Promise.all(USERS.map((user) => choiceOf(stage.gateway, 'metadata', of(user))));
    vi.useFakeTimers({ toFake: ['Date'], now: Date.now() + 365 * 86_400_000 });
    expect(await Promise.all(USERS.map((user) => choiceOf(stage.gateway, 'metadata', of(user))))).toEqual(before);
  });
});

describe('weights', () => {
  it('are shares of the values, and 0 is none of them', async () => {
    const users = Array.from({ length: 300 }, (_, index) => `weighted-${index}`);
    const chosen = await Promise.all(users.map((user) => choiceOf(stage.gateway, 'weighted', of(user))));
    const second = chosen.filter((path) => path === 'config.targets[1]').length;
    expect(chosen).not.toContain('config.targets[2]');
    // 60 of 300 expected; the hash is fixed, so that this cannot change from run to run.
    expect(second).toBeGreaterThan(30);
    expect(second).toBeLessThan(95);
  });
});

describe('a target whose circuit is open', () => {
  it('loses its values to the others, which keep theirs', async () => {
    const choose = () => Promise.all(USERS.map((user) => choiceOf(stage.gateway, 'guarded', of(user))));
    const before = await choose();
    stage.at(0).answer(json(503, openAiError()));
    const victim = USERS[before.indexOf('config.targets[0]')] ?? '';
    await choiceOf(stage.gateway, 'guarded', of(victim));
    const after = await choose();
    expect(after).not.toContain('config.targets[0]');
    for (const [index, path] of before.entries()) if (path !== 'config.targets[0]') expect(after[index]).toBe(path);
  });
});

describe('a config is refused', () => {
  const refused = (sticky: unknown, mode = 'loadbalance') => ({
    strategy: { mode, sticky },
    targets: [{ provider: 'simulator' }],
  });
  it.each([
    ['without fields', refused({ enabled: true })],
    ['with an empty list of fields', refused({ enabled: true, hash_fields: [] })],
    ['with a field of another source', refused({ enabled: true, hash_fields: ['url.pathname'] })],
    ['with a field without a name', refused({ enabled: true, hash_fields: ['metadata.'] })],
    ['with a ttl of 0', refused({ ...STICKY, ttl: 0 })],
    ['with a ttl in fractions', refused({ ...STICKY, ttl: 1.5 })],
    ['with an unknown key', refused({ ...STICKY, seed: 1 })],
    ['in a fallback', refused(STICKY, 'fallback')],
  ])('%s', async (_what, spec) => {
    const { status, text } = await askBy(stage, CHAT, spec);
    expect(status).toBe(400);
    expect(String(errorOf(text)['message'])).toContain('sticky');
  });
});
