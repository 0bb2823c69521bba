/** G32: what becomes of requests while the shared store is away, whatever became of it. */
import { setTimeout as wait } from 'node:timers/promises';
import { afterEach, expect, it } from 'vitest';
import type { GatewayStore } from '#gateway/limits/open-store.ts';
import { type Share, WHOLE } from '#gateway/limits/share.ts';
import { type NetProxy, startNetProxy } from '../../fakes/net.ts';
import { waitFor } from '../../fakes/wait-for.ts';
import { budget, demands, mustTake, rate, take } from './counters.ts';
import { describeRedis } from './describe-redis.ts';
import { newPrefix, type RedisServers, startRedis } from './redis-servers.ts';
import { openShared } from './shared-store.ts';

const COST = 7;
/** The contract is 5 s; a machine that does other things as well may be slower to notice. */
const RECOVERED_MS = 5_000;

interface Scene {
  readonly servers: RedisServers;
  readonly proxy: NetProxy;
  readonly prefix: string;
  readonly store: GatewayStore;
  readonly events: string[];
}

const ends: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const end of ends.splice(0).reverse()) await end();
});

async function newScene(delayMs = 0, share: () => Share = () => WHOLE, timeoutMs = 25): Promise<Scene> {
  const servers = await startRedis();
  ends.push(() => servers.stop());
  const proxy = await startNetProxy(servers.url.replace('redis:', 'http:'), { delayMs });
  ends.push(() => proxy.close());
  const events: string[] = [];
  const prefix = newPrefix();
  const url = `redis://127.0.0.1:${proxy.port}`;
  const onEvent = (message: string) => events.push(message);
  const store = await openShared({ url, caFile: undefined }, { prefix, share, timeoutMs, onEvent });
  ends.push(() => store.close());
  return { servers, proxy, prefix, store, events };
}

/** Requests one after the other, until it is stopped. */
function traffic(store: GatewayStore) {
  const all = demands(rate('requests', 1_000_000), 1, budget('money', 10n ** 18n), 2 * COST);
  const waits: number[] = [];
  let isOver = false;
  const run = async () => {
    while (!isOver) {
      const begin = performance.now();
      const decision = await store.reserve(all);
      waits.push(performance.now() - begin);
      if (!decision.ok) throw new Error('a request was refused');
      await wait(1);
      decision.hold.settle([1, COST]);
    }
  };
  const lanes = Promise.all([run(), run()]);
  lanes.catch(() => undefined);
  const stop = async () => {
    isOver = true;
    await lanes;
    return waits;
  };
  return { stop };
}

/** As somebody sees it who was not there. */
async function usedIn({ servers, prefix }: Scene, settled: boolean): Promise<number> {
  const witness = await openShared(servers, { prefix });
  try {
    const { readings } = await mustTake(witness, budget('money', 10n ** 18n), 0);
    const used = [...(witness.usage?.() ?? [])].find(({ key }) => key === 'money')?.used;
    return settled ? Number(used) : (readings[0]?.used ?? 0);
  } finally {
    await witness.close();
  }
}

type Act = (scene: Scene) => unknown;
interface Away {
  readonly reason: string;
  readonly fails: Act;
  readonly heals: Act;
}

const nodeOf = ({ servers }: Scene) => {
  const [node] = servers.nodes;
  if (node === undefined) throw new Error('there is a server');
  return node;
};

const AWAY: Readonly<Record<string, Away>> = {
  'is hanging': {
    reason: 'timeout',
    fails: (scene) => nodeOf(scene).process.signal('SIGSTOP'),
    heals: (scene) => nodeOf(scene).process.signal('SIGCONT'),
  },
  'is half open': {
    reason: 'timeout',
    fails: ({ proxy }) => proxy.setFault('black-hole'),
    heals: ({ proxy }) => proxy.setFault('none'),
  },
  'is cut off': {
    reason: 'disconnected',
    fails: ({ proxy }) => proxy.setFault('reset'),
    heals: ({ proxy }) => proxy.setFault('none'),
  },
  'may not write': {
    reason: 'readonly',
    fails: (scene) => nodeOf(scene).client.call('REPLICAOF', '127.0.0.1', '1'),
    heals: (scene) => nodeOf(scene).client.call('REPLICAOF', 'NO', 'ONE'),
  },
  'has no memory left': {
    reason: 'refused',
    fails: (scene) => nodeOf(scene).client.config('SET', 'maxmemory', '1'),
    heals: (scene) => nodeOf(scene).client.config('SET', 'maxmemory', '0'),
  },
};

describeRedis('G32: a shared store that', () => {
  it.each(Object.entries(AWAY))(
    '%s keeps no request waiting and loses nothing that was used',
    async (_, { reason, fails, heals }) => {
      const scene = await newScene();
      const { stop } = traffic(scene.store);
      await wait(500);
      await fails(scene);
      await waitFor(() => scene.store.state?.() === 'degraded', 'the store to be known as away');
      await wait(1_500);
      expect(scene.store.state?.()).toBe('degraded');
      await heals(scene);
      const begin = performance.now();
      await waitFor(() => scene.store.state?.() === 'ok', 'the store to be back', 2 * RECOVERED_MS);
      expect(performance.now() - begin).toBeLessThan(RECOVERED_MS);
      await wait(500);
      const waits = await stop();
      const late = waits.filter((ms) => ms > 5);
      expect(late.length).toBeLessThanOrEqual(Math.max(20, waits.length / 50));
      expect([...(scene.store.faults?.() ?? [])].map(([word]) => word)).toContain(reason);
      await waitFor(async () => (await usedIn(scene, false)) === COST * waits.length, 'nothing to be held', 15_000);
      expect(await usedIn(scene, true)).toBe(COST * waits.length);
      const [away, back] = ['the shared store is away: this replica counts alone', 'the shared store is back'];
      const told = scene.events.filter((event) => event === away || event === back);
      expect(told).toEqual(told.map((_, at) => (at % 2 === 0 ? away : back)));
      expect(told.length).toBeGreaterThanOrEqual(2);
    },
    60_000,
  );

  it('is killed and comes back empty has the budgets again that are known', async () => {
    const scene = await newScene();
    const { port, process } = nodeOf(scene);
    const { stop } = traffic(scene.store);
    await wait(700);
    await process.kill();
    await waitFor(() => scene.store.state?.() === 'degraded', 'the store to be known as away');
    await wait(500);
    const again = await startRedis([], port);
    ends.push(() => again.stop());
    await waitFor(() => scene.store.state?.() === 'ok', 'the store to be back', RECOVERED_MS);
    await wait(300);
    const waits = await stop();
    await waitFor(async () => (await usedIn(scene, true)) === COST * waits.length, 'all to be handed in', 15_000);
  }, 60_000);

  it('is flushed goes on at once, and has the budgets again that are known', async () => {
    const scene = await newScene(0, undefined, 5_000);
    const { stop } = traffic(scene.store);
    await wait(300);
    await nodeOf(scene).client.flushall();
    await wait(300);
    const waits = await stop();
    expect(scene.store.state?.()).toBe('ok');
    expect(scene.store.faults?.().get('flushed')).toBe(1);
    await waitFor(async () => (await usedIn(scene, false)) === COST * waits.length, 'the same sum', 15_000);
  }, 60_000);

  it('forgets its scripts is told them again', async () => {
    const scene = await newScene(0, undefined, 5_000);
    const counter = rate('requests', 10);
    await mustTake(scene.store, counter, 5);
    await nodeOf(scene).client.script('FLUSH');
    expect((await mustTake(scene.store, counter, 5)).readings[0]).toMatchObject({ used: 10 });
    expect(scene.store.state?.()).toBe('ok');
  });

  it('has other things under our names writes over them', async () => {
    const scene = await newScene();
    const { client } = nodeOf(scene);
    const [counter, money] = [rate('requests', 10), budget('money', 100n)];
    await mustTake(scene.store, counter, 5, money, 5);
    for (const key of await client.keys(`{${scene.prefix}}:*`)) {
      await client.del(key);
      await client.call('XADD', key, '*', 'other', 'thing');
    }
    const works = async () => {
      await take(scene.store, counter, 1, money, 1);
      return scene.store.state?.() === 'ok';
    };
    await take(scene.store, counter, 1, money, 1);
    await waitFor(works, 'the store to be used again', RECOVERED_MS);
    expect(scene.store.faults?.().get('wrong_type')).toBeGreaterThan(0);
    expect(await client.type(`{${scene.prefix}}:requests`)).toBe('string');
  }, 30_000);

  it('answers slowly is left, though every answer is in time', async () => {
    // Each way.
    const scene = await newScene(30, undefined, 200);
    const { stop } = traffic(scene.store);
    await waitFor(() => scene.store.state?.() === 'degraded', 'the store to be known as slow', 10_000);
    expect([...(scene.store.faults?.().keys() ?? [])]).toContain('slow');
    await stop();
  }, 30_000);

  it('is away from the beginning does not keep a gateway from starting', async () => {
    const servers = await startRedis();
    const node = servers.nodes[0];
    await node?.process.kill();
    const store = await openShared(servers, { prefix: newPrefix(), timeoutMs: 25 });
    ends.push(
      () => servers.stop(),
      () => store.close(),
    );
    expect(store.state?.()).toBe('degraded');
    await mustTake(store, rate('requests', 10), 1);
    const again = await startRedis([], node?.port);
    ends.push(() => again.stop());
    await waitFor(() => store.state?.() === 'ok', 'the store to be there', RECOVERED_MS);
  }, 30_000);
});

describeRedis('while the shared store is away', () => {
  it('rate limits hold by the share of this replica, from the first request on', async () => {
    const share: Share = { count: 4, rank: 1, usedByOthers: () => 0n };
    const { proxy, store } = await newScene(0, () => share);
    proxy.setFault('black-hole');
    const counters = Array.from({ length: 20 }, (_, at) => rate(`requests-${at}`, 8));
    const decisions = await Promise.all(counters.flatMap((one) => [1, 2, 3].map(() => take(store, one, 1))));
    expect(decisions.filter(({ ok }) => ok)).toHaveLength(40);
    expect(store.state?.()).toBe('degraded');
  });

  it('budgets are as each says, and none is used that is known to be spent', async () => {
    const { proxy, store } = await newScene();
    const spent = budget('spent', 10n);
    (await mustTake(store, spent, 10)).hold.settle([10]);
    await waitFor(() => [...(store.usage?.() ?? [])].some(({ used }) => used === 10n), 'what was used to be known');
    proxy.setFault('black-hole');
    const [allowed, denied] = [budget('a', 10n), budget('d', 10n, { onUnavailable: 'deny' })];
    await mustTake(store, allowed, 10);
    expect(await take(store, rate('r', 5), 5, denied, 1)).toMatchObject({ ok: false, refused: 1, retryMs: undefined });
    await mustTake(store, rate('r', 5), 5);
    expect(await take(store, spent, 1)).toMatchObject({ ok: false });
    expect(await take(store, allowed, 1)).toMatchObject({ ok: false });
  });

  it('what it takes counts in the store when that is back', async () => {
    const scene = await newScene();
    const counter = rate('requests', 10);
    scene.proxy.setFault('reset');
    const { hold } = await mustTake(scene.store, counter, 6, budget('money', 100n), 50);
    scene.proxy.setFault('none');
    await waitFor(() => scene.store.state?.() === 'ok', 'the store to be back', RECOVERED_MS);
    const other = await openShared(scene.servers, { prefix: scene.prefix });
    ends.push(() => other.close());
    expect(await take(other, counter, 5)).toMatchObject({ ok: false, readings: [{ used: 6, remaining: 4 }] });
    hold.settle([6, 30]);
    await waitFor(async () => (await usedIn(scene, true)) === 30, 'what ended later to be handed in');
  }, 30_000);
});
