/** What happens while a watch is away and its version is forgotten is noticed all the same, deletions above all. */
import { afterAll, beforeAll, expect, it } from 'vitest';
import { type OwnCluster, startOwnCluster } from '../cluster/cluster.ts';
import { describeCluster } from '../cluster/describe-cluster.ts';
import { waitFor } from '../fakes/wait-for.ts';
import type { Running } from '../helm/running.ts';
import { PATIENCE_MS, type Stage, startStage } from './stage.ts';
import { apiKey, chat, config } from './world.ts';

const EXPIRED = /is too old/;

describeCluster('compaction, seen by a real operator and real gateways', () => {
  let own: OwnCluster;
  let stage: Stage;

  beforeAll(async () => {
    own = await startOwnCluster({ watchCache: false });
    stage = await startStage(own.cluster, { gateways: 2 });
    await stage.apply(chat('first'), config('extra', 'extra'), apiKey('stays'), apiKey('goes'));
    for (const name of ['chat', 'extra']) await stage.wait(`gatewayconfig/${name}`);
  }, 120_000);
  afterAll(async () => {
    await stage?.stop();
    await own?.plane.stop();
  });

  const words = (word: string) => stage.gateways.map(() => word);
  const expired = (process: Running) => process.log().filter((line) => EXPIRED.test(JSON.stringify(line))).length;

  /** The process sees nothing of `change`, and the versions that it knows are forgotten when it wakes up. */
  async function missed(process: Running, change: () => Promise<void>): Promise<void> {
    process.signal('SIGSTOP');
    try {
      // Its connections are broken: what it does not read would wait for it there.
      await own.plane.restartApiServer();
      await change();
      await own.plane.compact();
    } finally {
      process.signal('SIGCONT');
    }
  }

  it('the operator lists anew, and what was deleted meanwhile is gone from every replica', async () => {
    const [stays, goes] = [await stage.keyOf('stays'), await stage.keyOf('goes')];
    expect(await stage.words(goes, { 'x-gateway-config': 'extra' })).toEqual(words('extra'));
    const operator = stage.operator();
    const before = expired(operator);
    await missed(operator, async () => {
      await stage.delete('apikey/goes');
      await stage.delete('gatewayconfig/extra');
      await stage.apply(chat('second'), apiKey('comes'));
    });
    await stage.answers(goes, '401');
    await stage.wait('gatewayconfig/chat');
    expect(await stage.words(stays)).toEqual(words('second'));
    expect(await stage.words(await stage.keyOf('comes'))).toEqual(words('second'));
    expect(await stage.words(stays, { 'x-gateway-config': 'extra' })).not.toContain('extra');
    expect(expired(operator)).toBeGreaterThan(before);
  }, 120_000);

  it('a gateway lists anew, and serves what was published meanwhile', async () => {
    const stays = await stage.keyOf('stays');
    const gone = await stage.keyOf('comes');
    const { process } = stage.gateway(1);
    const before = expired(process);
    await missed(process, async () => {
      await stage.apply(chat('third'));
      await stage.delete('apikey/comes');
      const isServed = async () => (await stage.gateway(0).ask(stays)).word === 'third';
      await waitFor(isServed, 'the other gateway to serve it', PATIENCE_MS);
      await waitFor(async () => (await stage.gateway(0).ask(gone)).status === 401, 'the key to go', PATIENCE_MS);
    });
    await stage.answers(stays, 'third');
    await stage.answers(gone, '401');
    await stage.wait('gatewayconfig/chat');
    expect(expired(process)).toBeGreaterThan(before);
  }, 120_000);
}, ['helm', 'address']);
