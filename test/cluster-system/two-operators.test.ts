/** Two operators of a release: one writes, and the other takes over, whatever becomes of the first. */
import { afterAll, beforeAll, expect, it } from 'vitest';
import { cluster } from '../cluster/cluster.ts';
import { describeCluster } from '../cluster/describe-cluster.ts';
import { waitFor } from '../fakes/wait-for.ts';
import { at } from '../helm/manifest.ts';
import { sleep } from '../operator/folder.ts';
import { loadOn } from '../system/cluster-gateway-process.ts';
import { PATIENCE_MS, type Stage, startStage } from './stage.ts';
import { storedVersions } from './stored-versions.ts';
import { apiKey, chat } from './world.ts';

const CHAT = 'gatewayconfig/chat';
const OPERATORS = ['operator-a', 'operator-b'];
/** The Lease's 15 s since the standby saw it renewed, and a standby looks every 2 to 2.4 s. */
const TAKE_OVER_MS = 20_000;
/** From its lead to the end of `kubectl wait`, on a machine that is busy with others. */
const PUBLISHED_MS = 5_000;
/** Long enough for whoever woke up to write what it wanted to write. */
const SETTLED_MS = 5_000;

describeCluster('two real operators', () => {
  let stage: Stage;
  let key = '';

  beforeAll(async () => {
    stage = await startStage(cluster(), { operators: OPERATORS });
    await stage.apply(chat('first'), apiKey('caller'));
    await stage.wait(CHAT);
    key = await stage.keyOf('caller');
  }, 120_000);
  afterAll(() => stage?.stop());

  const everywhere = (word: string) => stage.gateways.map(() => word);

  async function leader(): Promise<string> {
    return at<string>(await stage.read('lease/edge-operator', stage.release.namespace), 'spec.holderIdentity') ?? '';
  }

  async function generation(): Promise<number> {
    const index = await stage.read('configmap/edge-snapshot-index', stage.release.namespace);
    return JSON.parse(at<string>(index, 'data.index') ?? '').generation;
  }

  function otherThan(identity: string): string {
    return OPERATORS.find((one) => one !== identity) ?? '';
  }

  it('lead one at a time: the other writes nothing, and both follow', async () => {
    const [first, second] = [await leader(), otherThan(await leader())];
    const said = (identity: string, message: string) =>
      stage
        .operator(identity)
        .log()
        .filter(({ msg }) => msg === message).length;
    expect([said(first, 'leading'), said(second, 'leading')]).toEqual([1, 0]);
    expect([said(first, 'snapshot published') > 0, said(second, 'snapshot published')]).toEqual([true, 0]);
  });

  it('the standby takes over from a leader that was killed, within the time of its lease', async () => {
    const killed = await leader();
    const load = loadOn({ ask: () => stage.gateway(0).ask(key) }, 1, 20);
    await stage.operator(killed).kill();
    const startedMs = performance.now();
    await stage.apply(chat('second'));
    await stage.wait(CHAT);
    const tookMs = performance.now() - startedMs;
    expect(await stage.words(key)).toEqual(everywhere('second'));
    expect(await leader()).toBe(otherThan(killed));
    expect(tookMs).toBeLessThan(TAKE_OVER_MS + PUBLISHED_MS);
    await load.stop();
    expect(load.failures).toEqual([]);
    await stage.startOperator(killed).told('ready', 'msg');
  }, 90_000);

  it('a leader that slept beyond its lease wakes up as a standby, and writes nothing', async () => {
    const slept = await leader();
    const other = otherThan(slept);
    const before = await generation();
    // In the middle of its work.
    await stage.apply(chat('third'));
    await sleep(60);
    stage.operator(slept).signal('SIGSTOP');
    await waitFor(async () => (await leader()) === other, 'the standby to lead', PATIENCE_MS);
    await stage.apply(chat('fourth'));
    await stage.wait(CHAT);
    expect(await stage.words(key)).toEqual(everywhere('fourth'));
    await sleep(SETTLED_MS / 2);
    const versions = await storedVersions(stage, slept);
    stage.operator(slept).signal('SIGCONT');
    await waitFor(
      () =>
        stage
          .operator(slept)
          .log()
          .some(({ msg }) => msg === 'no longer leading'),
      'it to know that it leads no longer',
      PATIENCE_MS,
    );
    await sleep(SETTLED_MS);
    expect(await storedVersions(stage, slept)).toEqual(versions);
    expect(await leader()).toBe(other);
    expect((await generation()) - before).toBeLessThanOrEqual(2);
    // Both are awake: one publishes, once.
    const published = await generation();
    await stage.apply(chat('fifth'));
    await stage.wait(CHAT);
    expect(await generation()).toBe(published + 1);
  }, 120_000);

  it('a leader that is asked to end gives its lease up, so that the standby need not wait', async () => {
    const ended = await leader();
    await stage.operator(ended).stop();
    const startedMs = performance.now();
    await waitFor(async () => (await leader()) === otherThan(ended), 'the standby to lead', PATIENCE_MS);
    expect(performance.now() - startedMs).toBeLessThan(10_000);
    await stage.apply(chat('sixth'));
    await stage.wait(CHAT);
    expect(await stage.words(key)).toEqual(everywhere('sixth'));
  }, 60_000);
}, ['helm', 'address']);
