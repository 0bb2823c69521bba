/** O13: others edit and delete what the operator wrote; it is restored, and then there is rest. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type ApiObject, CONFIG_MAPS, SECRETS } from '#crds/api/api-object.ts';
import { SNAPSHOT_LABEL } from '#crds/snapshot/object-names.ts';
import { pass } from '../../crds/api/virtual-time.ts';
import { conditionsOf, dataOf, digestOf, NAMESPACE, objectIn, published, RELEASE, RESOURCES } from './outcome.ts';
import { running } from './running.ts';
import { openStage, type Stage, useStages } from './stage.ts';
import { apiKey, BEGINNING, config, STEPS, secret, take } from './workload.ts';

useStages();

const REST_MS = 10 * 60_000;

/** Nothing at all is written for ten minutes, but the Lease. */
async function expectRest(stage: Stage): Promise<void> {
  const [writes, renewals] = [stage.writes.length, stage.server.writes().length - stage.writes.length];
  await pass(REST_MS);
  expect(stage.writes.slice(writes).map(({ verb, resource, name }) => `${verb} ${resource} ${name}`)).toEqual([]);
  expect(stage.server.writes().length - stage.writes.length).toBeGreaterThan(renewals + 200);
}

function children({ server }: Stage): ApiObject[] {
  const isOurs = ({ metadata }: ApiObject) => metadata.labels?.[SNAPSHOT_LABEL] === RELEASE;
  return [...server.list(CONFIG_MAPS, NAMESPACE), ...server.list(SECRETS, NAMESPACE)].filter(isOurs);
}

function resourceOfChild({ kind }: ApiObject) {
  return kind === 'Secret' ? SECRETS : CONFIG_MAPS;
}

type Prank = (stage: Stage, child: ApiObject) => void;

const PRANKS: Readonly<Record<string, Prank>> = {
  'is deleted': ({ server }, child) => server.delete(resourceOfChild(child), NAMESPACE, child.metadata.name),
  'says something else': ({ server }, child) => {
    const field = child.kind === 'ConfigMap' && child['binaryData'] !== undefined ? 'binaryData' : 'data';
    const values = Object.keys(dataOf(child, field)).map((key) => [key, Buffer.from('nonsense').toString('base64')]);
    server.patch(resourceOfChild(child), NAMESPACE, child.metadata.name, { [field]: Object.fromEntries(values) });
  },
  'is emptied': ({ server }, child) =>
    server.patch(resourceOfChild(child), NAMESPACE, child.metadata.name, { data: null, binaryData: null }),
  'loses its label': ({ server }, child) =>
    server.patch(resourceOfChild(child), NAMESPACE, child.metadata.name, {
      metadata: { labels: { [SNAPSHOT_LABEL]: null } },
    }),
  'is given to another release': ({ server }, child) =>
    server.patch(resourceOfChild(child), NAMESPACE, child.metadata.name, {
      metadata: { labels: { [SNAPSHOT_LABEL]: 'another' } },
    }),
};

describe('O13: what the operator published', () => {
  it.each(Object.entries(PRANKS))('is restored where each object of it %s', async (_, prank) => {
    const { stage } = await running();
    const [{ hash }, { outcome }] = [published(stage.server), stage];
    const names = children(stage).map(({ metadata }) => metadata.name);
    expect(names.length).toBeGreaterThan(4);
    for (const name of names) {
      const child = children(stage).find(({ metadata }) => metadata.name === name);
      if (child === undefined) throw new Error(`${name} was not restored`);
      prank(stage, child);
      await pass(3_000);
      expect(children(stage).map(({ metadata }) => metadata.name)).toEqual(names);
      expect([published(stage.server).hash, stage.outcome]).toEqual([hash, outcome]);
    }
    await expectRest(stage);
  });

  it.each(Object.entries(PRANKS))(
    'is restored where all of it at once %s, and no gateway goes back',
    async (_, prank) => {
      const { stage } = await running();
      const [{ hash, generation }, { outcome }] = [published(stage.server), stage];
      for (const child of children(stage)) prank(stage, child);
      await pass(5_000);
      expect([published(stage.server).hash, stage.outcome]).toEqual([hash, outcome]);
      expect(published(stage.server).generation).toBeGreaterThanOrEqual(generation);
      stage.server.apply(config('team-a/late', { provider: 'simulator' }));
      await pass(5_000);
      const now = published(stage.server);
      expect(stage.gateways.map(({ served }) => served?.hash)).toEqual([now.hash, now.hash]);
      await expectRest(stage);
    },
  );

  it('is restored by an operator that starts after it was all deleted, under a number that no gateway has seen', async () => {
    const stage = openStage();
    const run = stage.start();
    stage.server.apply(BEGINNING);
    await stage.settle();
    const [{ hash, generation }, { outcome }] = [published(stage.server), stage];
    run.crash();
    for (const child of children(stage)) stage.server.delete(resourceOfChild(child), NAMESPACE, child.metadata.name);
    stage.start();
    await pass(30_000);
    expect([published(stage.server).hash, stage.outcome]).toEqual([hash, outcome]);
    expect(published(stage.server).generation).toBe(generation + 1);
    expect(stage.gateways.map(({ served }) => served?.generation)).toEqual([generation + 1, generation + 1]);
    await expectRest(stage);
  });

  it('is rid of what others put among it', async () => {
    const { stage } = await running();
    const before = children(stage).map(({ metadata }) => metadata.name);
    const labels = { [SNAPSHOT_LABEL]: RELEASE };
    const metadata = { name: `${RELEASE}-snapshot-3`, namespace: NAMESPACE, labels };
    stage.server.apply([
      { apiVersion: 'v1', kind: 'ConfigMap', metadata, data: { a: 'b' } },
      { apiVersion: 'v1', kind: 'Secret', metadata: { ...metadata, name: 'of-nobody' }, data: {} },
    ]);
    await pass(5_000);
    expect(children(stage).map(({ metadata: { name } }) => name)).toEqual(before);
    await expectRest(stage);
  });
});

describe("O13: an ApiKey's Secret that the operator wrote", () => {
  const keyOf = (stage: Stage) =>
    Buffer.from(dataOf(stage.server.find(SECRETS, 'team-a', 'app-api-key'))['api_key'] ?? '', 'base64').toString();
  const digests = ({ server }: Stage) => published(server).snapshot.keys.map(({ digest }) => digest);

  it('is written anew where it is deleted, and the former key works no more', async () => {
    const { stage } = await running();
    const former = keyOf(stage);
    stage.server.delete(SECRETS, 'team-a', 'app-api-key');
    await pass(3_000);
    expect(keyOf(stage)).not.toBe(former);
    expect(digests(stage)).toContain(digestOf(keyOf(stage)));
    expect(digests(stage)).not.toContain(digestOf(former));
    await expectRest(stage);
  });

  it.each([
    ['another key in it counts', { data: { api_key: Buffer.from('a-key-of-somebody-else').toString('base64') } }],
    ['it may lose its label', { metadata: { labels: null } }],
    ['it may lose its owner', { metadata: { ownerReferences: null } }],
    ['it may have more in it', { data: { more: 'eA==' } }],
  ])('is the source of the key: %s', async (_, patch) => {
    const { stage } = await running();
    stage.server.patch(SECRETS, 'team-a', 'app-api-key', patch);
    await pass(5_000);
    expect(digests(stage)).toContain(digestOf(keyOf(stage)));
    expect(digests(stage)).toHaveLength(3);
    await expectRest(stage);
  });
});

describe('O13: a status', () => {
  const CHAT = 'GatewayConfig team-a/chat';
  const wrong = (type: string) => ({
    type,
    status: 'False',
    reason: 'Prank',
    message: '',
    observedGeneration: 1,
    lastTransitionTime: '2026-01-01T00:00:00Z',
  });

  it.each([
    ['is taken away', { observedGeneration: null, conditions: null }],
    ['says the contrary', { observedGeneration: 7, conditions: ['Accepted', 'Ready'].map(wrong) }],
    ['is emptied', { conditions: [] }],
  ])('that %s is restored', async (_, status) => {
    const { stage } = await running();
    const { outcome } = stage;
    for (const resource of RESOURCES) {
      for (const { metadata } of stage.server.list(resource)) {
        stage.server.patch(resource, metadata.namespace, metadata.name, { status }, 'status');
      }
    }
    await pass(15_000);
    expect(stage.outcome).toEqual(outcome);
    await pass(30_000);
    await expectRest(stage);
  });

  it('with a condition of somebody else keeps it, and is not written for its sake', async () => {
    const { stage } = await running();
    const conditions = [...conditionsOf(objectIn(stage.server, CHAT)), wrong('Checked')];
    stage.server.patch(RESOURCES[0] ?? SECRETS, 'team-a', 'chat', { status: { conditions } }, 'status');
    await expectRest(stage);
    expect(conditionsOf(objectIn(stage.server, CHAT)).map(({ type }) => type)).toContain('Checked');
  });

  it('with a condition of ours that somebody else holds on to is written once, and then left', async () => {
    const { stage } = await running();
    const conditions = [...conditionsOf(objectIn(stage.server, CHAT)), wrong('Warning')];
    stage.server.patch(RESOURCES[0] ?? SECRETS, 'team-a', 'chat', { status: { conditions } }, 'status');
    await pass(30_000);
    await expectRest(stage);
  });
});

describe('O13: rest', () => {
  it('follows upon the last change of any workload', async () => {
    const stage = openStage();
    stage.start();
    for (const step of STEPS) {
      take(step, stage.server);
      await pass(2_000);
    }
    // Counts of Events go out within ten seconds.
    await pass(30_000);
    await expectRest(stage);
  });

  it('is not disturbed by what does not concern the operator', async () => {
    const { stage } = await running();
    const writes = stage.writes.length;
    for (let n = 0; n < 30; n++) {
      stage.server.apply(secret('team-a/unnamed', { n: String(n) }));
      stage.server.patch(RESOURCES[0] ?? SECRETS, 'team-a', 'chat', { metadata: { labels: { n: String(n) } } });
      stage.server.apply({
        apiVersion: 'v1',
        kind: 'ConfigMap',
        metadata: { name: 'x', namespace: NAMESPACE },
        data: {},
      });
      await pass(1_000);
    }
    expect(stage.writes.slice(writes)).toEqual([]);
  });

  it('is not disturbed at the gateways by an edit that changes nothing of what they serve', async () => {
    const { stage } = await running();
    const writes = stage.writes.length;
    stage.server.apply(apiKey('team-a/own', { secret_name: 'own-key', description: 'for the website' }));
    await pass(10_000);
    const written = stage.writes.slice(writes).map(({ resource, name }) => `${resource} ${name}`);
    expect(written.sort()).toEqual(['apikeys own', `secrets ${RELEASE}-accepted-0`]);
  });

  it('follows upon random pranks', async () => {
    const pranks = fc.array(
      fc.tuple(fc.constantFrom(...Object.values(PRANKS)), fc.nat(), fc.constantFrom(0, 20, 700)),
      {
        minLength: 3,
        maxLength: 15,
      },
    );
    await fc.assert(
      fc.asyncProperty(pranks, async (taken) => {
        const { stage } = await running();
        const [{ hash }, { outcome }] = [published(stage.server), stage];
        for (const [prank, pick, waitMs] of taken) {
          const all = children(stage);
          const child = all[pick % Math.max(1, all.length)];
          if (child !== undefined) prank(stage, child);
          await pass(waitMs);
        }
        await pass(30_000);
        expect([published(stage.server).hash, stage.outcome]).toEqual([hash, outcome]);
        await expectRest(stage);
        await stage.close();
      }),
      { numRuns: 15 },
    );
  });
});
