/** Gateways whose snapshots come by the volume that the chart mounts, and snapshots that none takes. */
import { afterAll, beforeAll, expect, it } from 'vitest';
import { cluster } from '../cluster/cluster.ts';
import { describeCluster } from '../cluster/describe-cluster.ts';
import { waitFor } from '../fakes/wait-for.ts';
import { at } from '../helm/manifest.ts';
import type { GatewayReplica } from './gateway-replica.ts';
import { ProjectedVolume } from './projected-volume.ts';
import { PATIENCE_MS, type Stage, startStage } from './stage.ts';
import { apiKey, chat } from './world.ts';

const CHAT = 'gatewayconfig/chat';

describeCluster('volumes, filled by a real operator', () => {
  let stage: Stage;
  let volume: ProjectedVolume;
  /** It has no token. */
  let alone: GatewayReplica;
  let key = '';

  beforeAll(async () => {
    stage = await startStage(cluster(), { gateways: 2 });
    await stage.apply(chat('first'), apiKey('caller'));
    await stage.wait(CHAT);
    key = await stage.keyOf('caller');
    volume = new ProjectedVolume(stage);
    alone = stage.newGateway('alone', undefined, [`--snapshot-dir=${volume.path}`]);
    await alone.start();
  }, 120_000);
  afterAll(async () => {
    await alone?.process.kill();
    await stage?.stop();
    volume?.remove();
  });

  const asked = async () => (await alone.ask(key)).word;

  it('a gateway without a token is unready on an empty volume, and serves what is mounted then', async () => {
    expect([await alone.status('/healthz'), await alone.status('/readyz')]).toEqual([200, 503]);
    await volume.mount();
    await waitFor(async () => (await alone.status('/readyz')) === 200, 'readiness', PATIENCE_MS);
    expect(await asked()).toBe('first');
    expect(await alone.config()).toMatchObject({ hash: (await stage.gateway(0).config()).hash });
  }, 60_000);

  it('nothing is programmed before its kubelet has mounted it', async () => {
    await stage.announce(alone);
    await stage.apply(chat('second'));
    await stage.answers(key, 'second');
    await expect(stage.wait(CHAT, 'Programmed', 2)).rejects.toThrow(/timed out/);
    expect(await asked()).toBe('first');
    await volume.mount();
    await stage.wait(CHAT);
    expect(await asked()).toBe('second');
  }, 60_000);

  it('a snapshot that it cannot read is refused: it keeps the former, says so, and the object says so', async () => {
    const before = await alone.config();
    await stage.apply(chat('third'));
    await stage.answers(key, 'third');
    const { generation, hash } = await stage.gateway(0).config();
    await volume.mount({ index: JSON.stringify({ format: 99, generation, hash, shards: [] }) });
    await waitFor(async () => (await alone.config()).refused !== undefined, 'a refusal', PATIENCE_MS);
    const config = await alone.config();
    expect(config).toMatchObject({ generation: before.generation, hash: before.hash });
    expect(config.refused).toMatchObject({ generation, reason: expect.stringContaining('format 99') });
    expect([await alone.status('/readyz'), await asked()]).toEqual([200, 'second']);
    const condition = () => stage.condition(CHAT, 'Programmed');
    await waitFor(async () => (await condition())?.reason === 'RefusedByGateway', 'the condition', PATIENCE_MS);
    expect(await condition()).toMatchObject({ status: 'False', message: expect.stringMatching(/^alone: .*format 99/) });
    await volume.mount();
    await stage.wait(CHAT);
    expect(await asked()).toBe('third');
    expect(await alone.config()).not.toHaveProperty('refused');
  }, 90_000);

  it('a gateway whose token nobody takes serves from its volume, and is ready', async () => {
    const refused = stage.cluster.kubeconfigFor('nobody-has-this-token', stage.release.namespace);
    const stranger = stage.newGateway('stranger', refused, [`--snapshot-dir=${volume.path}`]);
    try {
      await stranger.start();
      await waitFor(async () => (await stranger.status('/readyz')) === 200, 'readiness', PATIENCE_MS);
      expect((await stranger.ask(key)).word).toBe('third');
    } finally {
      await stranger.process.kill();
    }
  }, 60_000);

  it('a snapshot that somebody else published is refused by all, and replaced by the operator', async () => {
    const before = await stage.gateway(0).config();
    const name = 'configmap/edge-snapshot-index';
    const { namespace } = stage.release;
    const index = JSON.parse(at<string>(await stage.read(name, namespace), 'data.index') ?? '');
    const forged = JSON.stringify({ ...index, generation: index.generation + 1, hash: 'f'.repeat(64) });
    const operator = stage.operator();
    operator.signal('SIGSTOP');
    try {
      const patch = JSON.stringify({ data: { index: forged } });
      await stage.kubectl(['patch', name, '-n', namespace, '--type=merge', '-p', patch]);
      for (const gateway of stage.gateways) {
        await waitFor(async () => (await gateway.config()).refused !== undefined, 'a refusal', PATIENCE_MS);
        expect(await gateway.config()).toMatchObject({
          generation: before.generation,
          refused: { generation: index.generation + 1, reason: expect.stringContaining('hash') },
        });
        expect(await gateway.status('/readyz')).toBe(200);
      }
      expect(await stage.words(key)).toEqual(['third', 'third']);
    } finally {
      operator.signal('SIGCONT');
    }
    const isMended = async () => {
      const configs = await Promise.all(stage.gateways.map((gateway) => gateway.config()));
      return configs.every(({ hash, refused }) => hash === before.hash && refused === undefined);
    };
    await waitFor(isMended, 'what the operator publishes', PATIENCE_MS);
    await volume.mount();
    await stage.apply(chat('fourth'));
    await stage.answers(key, 'fourth');
    await volume.mount();
    await stage.wait(CHAT);
    expect(await asked()).toBe('fourth');
  }, 90_000);
}, ['helm', 'address']);
