/** The API server goes away, or answers nothing: requests do not notice, and when it is back everything goes on. */
import { afterAll, beforeAll, expect, it } from 'vitest';
import { type OwnCluster, startOwnCluster } from '../cluster/cluster.ts';
import { describeCluster } from '../cluster/describe-cluster.ts';
import { waitFor } from '../fakes/wait-for.ts';
import { sleep } from '../operator/folder.ts';
import { type Load, loadOn } from '../system/cluster-gateway-process.ts';
import { PATIENCE_MS, type Stage, startStage } from './stage.ts';
import { apiKey, chat } from './world.ts';

const CHAT = 'gatewayconfig/chat';
const OUTAGE_MS = 60_000;
/** Longer than a leader may be without its lease, and than any request waits. */
const PAUSE_MS = 20_000;
/** The promise, from the return of the API server to the last replica. */
const CONVERGED_MS = 10_000;
const CALLERS = 2;
const CALLER_PAUSE_MS = 40;

describeCluster('an outage of the API server', () => {
  let own: OwnCluster;
  let stage: Stage;
  let key = '';
  let loads: Load[] = [];

  beforeAll(async () => {
    own = await startOwnCluster();
    stage = await startStage(own.cluster);
    await stage.apply(chat('first'), apiKey('caller'));
    await stage.wait(CHAT);
    key = await stage.keyOf('caller');
  }, 120_000);
  afterAll(async () => {
    await stopLoads();
    await stage?.stop();
    await own?.plane.stop();
  });

  const loadOf = (index: number) => {
    const gateway = stage.gateway(index);
    return loadOn({ ask: () => gateway.ask(key) }, CALLERS, CALLER_PAUSE_MS);
  };

  const startLoads = () => {
    loads = stage.gateways.map((_, index) => loadOf(index));
  };

  async function stopLoads(): Promise<void> {
    for (const load of loads) await load.stop();
  }

  const failures = () => loads.flatMap((load) => load.failures);
  const answered = () => loads.flatMap((load) => load.words);

  /** Watches readiness until then: it never goes back. */
  async function readyUntil(endMs: number): Promise<void> {
    while (performance.now() < endMs) {
      for (const gateway of stage.gateways)
        expect([gateway.name, await gateway.status('/readyz')]).toEqual([gateway.name, 200]);
      await sleep(500);
    }
  }

  /** Its callers are elsewhere meanwhile. */
  async function restart(index: number): Promise<void> {
    const gateway = stage.gateway(index);
    const [before] = loads.splice(index, 1);
    await before?.stop();
    expect(before?.failures).toEqual([]);
    await gateway.process.kill();
    await gateway.start();
    await waitFor(async () => (await gateway.status('/readyz')) === 200, 'readiness', PATIENCE_MS);
    loads.splice(index, 0, loadOf(index));
  }

  it('of a minute fails no request, lets a gateway start anew, and is made up for within 10 s', async () => {
    startLoads();
    const endMs = performance.now() + OUTAGE_MS;
    await own.plane.stopApiServer();
    await readyUntil(endMs - OUTAGE_MS * 0.8);
    await restart(2);
    expect((await stage.gateway(2).ask(key)).word).toBe('first');
    await readyUntil(endMs);
    expect(new Set(answered())).toEqual(new Set(['first']));
    await own.plane.startApiServer();
    const backMs = performance.now();
    await stage.apply(chat('second'));
    await stage.answers(key, 'second');
    expect(performance.now() - backMs).toBeLessThanOrEqual(CONVERGED_MS);
    await stage.wait(CHAT);
    await stopLoads();
    expect(failures()).toEqual([]);
    expect(answered().length).toBeGreaterThan(1_000);
  }, 180_000);

  it('that leaves connections open and answers nothing fails no request, and is made up for within 10 s', async () => {
    startLoads();
    const endMs = performance.now() + PAUSE_MS;
    own.plane.pauseApiServer();
    // Who starts now publishes nothing.
    await stage.operator().kill();
    const operator = stage.startOperator();
    await operator.told('starting', 'msg');
    await readyUntil(endMs);
    expect(operator.log().map(({ msg }) => msg)).not.toContain('ready');
    own.plane.resumeApiServer();
    const backMs = performance.now();
    await stage.apply(chat('third'));
    await stage.answers(key, 'third');
    expect(performance.now() - backMs).toBeLessThanOrEqual(CONVERGED_MS);
    await stage.wait(CHAT);
    await stopLoads();
    expect(failures()).toEqual([]);
    expect(new Set(answered())).toEqual(new Set(['second', 'third']));
  }, 120_000);
}, ['helm', 'address']);
