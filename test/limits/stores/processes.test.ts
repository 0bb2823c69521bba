/** Several replicas on one store, some of them killed. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { setTimeout as wait } from 'node:timers/promises';
import { afterEach, expect, it } from 'vitest';
import { waitFor } from '../../fakes/wait-for.ts';
import { budget, mustTake, rate, take } from './counters.ts';
import { describeRedis } from './describe-redis.ts';
import { newPrefix, type RedisServers, startRedis } from './redis-servers.ts';
import type { Told } from './replica-process.ts';
import { openShared } from './shared-store.ts';
import { mostInAnyWindow } from './windows.ts';

const DEAD_AFTER_MS = 46_000;
const BEAT_MS = 5_000;
const WINDOW_MS = 1_000;
const VALUE = 300;
const LIMIT = 150_000n;

const ends: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const end of ends.splice(0).reverse()) await end();
});

interface Replica {
  readonly told: Told[];
  readonly child: ChildProcess;
  kill(): Promise<void>;
}

function startReplica(servers: RedisServers, prefix: string): Replica {
  const program = new URL('replica-process.ts', import.meta.url).pathname;
  const args = [program, servers.url, prefix, String(VALUE), String(WINDOW_MS), String(LIMIT)];
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] });
  const told: Told[] = [];
  createInterface({ input: child.stdout }).on('line', (line) => {
    // The last one of a process that is killed may be cut.
    if (line.endsWith('}')) told.push(JSON.parse(line) as Told);
  });
  const kill = async () => {
    if (child.exitCode !== null || child.signalCode !== null) return;
    child.kill('SIGKILL');
    await once(child, 'close');
  };
  ends.push(kill);
  return { told, child, kill };
}

/** As if nobody had heard of any replica for so long. */
async function age({ nodes }: RedisServers, prefix: string, ms: number): Promise<void> {
  const client = nodes[0]?.client;
  const key = `{${prefix}}:replicas`;
  for (const name of (await client?.zrange(key, '0', '-1')) ?? [])
    await client?.call('ZINCRBY', key, String(-ms), name);
}

const costOf = (told: readonly Told[]) => told.reduce((sum, { cost }) => sum + cost, 0);

describeRedis('four processes on one store', () => {
  it('never admit more than a rate limit in any window, nor outrun a budget, though they are killed at any moment', async () => {
    const servers = await startRedis();
    ends.push(() => servers.stop());
    const prefix = newPrefix();
    const replicas = [0, 1, 2, 3].map(() => startReplica(servers, prefix));
    for (let round = 0; round < 4; round++) {
      await waitFor(() => replicas.slice(-4).every(({ told }) => told.length > 10), 'all to be at work', 20_000);
      await wait(1_000);
      await replicas[round]?.kill();
      replicas.push(startReplica(servers, prefix));
    }
    await wait(500);
    for (const { kill } of replicas) await kill();
    const all = replicas.flatMap(({ told }) => told);
    const admitted = all.filter(({ kind }) => kind === 'admitted');
    const settled = all.filter(({ kind }) => kind === 'settled');
    expect(admitted.length).toBeGreaterThan(200);
    expect(all.some(({ kind }) => kind === 'refused')).toBe(true);
    const used = settled.map(({ sentMs, amount }) => ({ sentMs, amount }));
    const windows = admitted.map(({ sentMs, gotMs, amount }) => {
      // What was settled counts by what was used; what was not may lapse, but not so soon.
      const own = used.find((one) => one.sentMs === sentMs);
      return { fromMs: sentMs, toMs: gotMs, amount: own?.amount ?? amount };
    });
    // Clocks tell milliseconds, and not all the same.
    expect(mostInAnyWindow(windows, WINDOW_MS - 3)).toBeLessThanOrEqual(VALUE);
    expect(mostInAnyWindow(windows, WINDOW_MS)).toBeGreaterThan(VALUE / 2);

    const witness = await openShared(servers, { prefix });
    ends.push(() => witness.close());
    await age(servers, prefix, DEAD_AFTER_MS);
    const money = budget('money', 10n ** 18n);
    const read = async () => (await mustTake(witness, money, 0)).readings[0]?.used ?? 0;
    const settledOnly = () => Number([...(witness.usage?.() ?? [])].find(({ key }) => key === 'money')?.used);
    await waitFor(async () => (await read()) === settledOnly(), 'holds of the dead to lapse', 12 * BEAT_MS);
    expect(await read()).toBeLessThanOrEqual(Number(LIMIT));
    // Of what a process told, its last words may not have arrived at the store, or not at the test.
    const lastWords = replicas.length * 8 * 1_000;
    expect(Math.abs((await read()) - costOf(settled))).toBeLessThanOrEqual(lastWords);
  }, 180_000);

  it('have back what a dead one of them held, once it was not heard of for long enough', async () => {
    const servers = await startRedis();
    ends.push(() => servers.stop());
    const prefix = newPrefix();
    const [dead, alive] = await Promise.all([openShared(servers, { prefix }), openShared(servers, { prefix })]);
    ends.push(() => alive.close());
    const [counter, money] = [rate('requests', 10), budget('money', 100n)];
    (await mustTake(dead, counter, 3, money, 30)).hold.settle([3, 30]);
    await mustTake(dead, counter, 7, money, 70);
    expect(await take(alive, counter, 1)).toMatchObject({ ok: false });
    // Closed with something in hand, it is for the store as if it had died.
    await dead.close();
    await wait(BEAT_MS + 1_000);
    expect(await take(alive, counter, 1)).toMatchObject({ ok: false });
    await age(servers, prefix, DEAD_AFTER_MS);
    const isFree = async () => (await mustTake(alive, counter, 0, money, 0)).readings[0]?.used === 3;
    await waitFor(isFree, 'the holds to lapse', 4 * BEAT_MS);
    expect((await mustTake(alive, counter, 7, money, 70)).readings).toMatchObject([{ used: 10 }, { used: 100 }]);
  }, 60_000);
});
