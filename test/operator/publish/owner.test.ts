/** What is published goes with the gateways' Service: an uninstalled release leaves no credential behind. */
import { describe, expect, it } from 'vitest';
import { type ApiObject, CONFIG_MAPS, ENDPOINT_SLICES, SECRETS } from '#crds/api/api-object.ts';
import { SNAPSHOT_LABEL } from '#crds/snapshot/object-names.ts';
import { pass } from '../../crds/api/virtual-time.ts';
import { NAMESPACE, publishedIn, RELEASE } from '../faults/outcome.ts';
import { openStage, type Stage, useStages } from '../faults/stage.ts';
import { BEGINNING, config } from '../faults/workload.ts';

useStages();

function snapshotObjects({ server }: Stage): readonly ApiObject[] {
  const all = [CONFIG_MAPS, SECRETS].flatMap((resource) => server.list(resource, NAMESPACE));
  return all.filter(({ metadata }) => metadata.labels?.[SNAPSHOT_LABEL] === RELEASE);
}

/** Stands for the Service, whose uid is all that matters; the slices name it as their owner. */
function makeService({ server }: Stage): string {
  const [{ metadata } = { metadata: undefined }] = server.apply({
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: { name: 'service', namespace: NAMESPACE },
  });
  const uid = metadata?.uid ?? '';
  const owner = { apiVersion: 'v1', kind: 'Service', name: `${RELEASE}-gateway`, uid };
  server.patch(ENDPOINT_SLICES, NAMESPACE, `${RELEASE}-gateway-1`, { metadata: { ownerReferences: [owner] } });
  return uid;
}

function endService({ server }: Stage): void {
  server.patch(ENDPOINT_SLICES, NAMESPACE, `${RELEASE}-gateway-1`, { metadata: { ownerReferences: null } });
  server.delete(CONFIG_MAPS, NAMESPACE, 'service');
}

const ownersOf = (stage: Stage) =>
  new Set(snapshotObjects(stage).map(({ metadata }) => metadata.ownerReferences?.map(({ uid }) => uid).join()));

async function running(): Promise<{ readonly stage: Stage; readonly uid: string; stop(): void }> {
  const stage = openStage();
  const uid = makeService(stage);
  const operator = stage.start();
  stage.server.apply(BEGINNING);
  await stage.settle();
  return { stage, uid, stop: () => operator.crash() };
}

describe('the published objects', () => {
  it('go with the Service of the gateways, all of them', async () => {
    const { stage, uid, stop } = await running();
    expect(snapshotObjects(stage).length).toBeGreaterThan(3);
    expect(ownersOf(stage)).toEqual(new Set([uid]));
    stop();
    endService(stage);
    await pass(60_000);
    expect(snapshotObjects(stage)).toEqual([]);
  });

  it('come back where only the Service was made anew, and nothing that is served changes', async () => {
    const { stage } = await running();
    const before = publishedIn(stage.server);
    endService(stage);
    await pass(10_000);
    expect(publishedIn(stage.server)).toMatchObject({ generation: before?.generation, hash: before?.hash });
    const uid = makeService(stage);
    stage.server.apply(config('team-a/news', { provider: 'simulator' }));
    await stage.settle();
    expect(ownersOf(stage)).toEqual(new Set([uid]));
    expect(publishedIn(stage.server)?.generation).toBe((before?.generation ?? 0) + 1);
  });

  it('belong to nobody where the slices were made by hand', async () => {
    const stage = openStage();
    stage.start();
    stage.server.apply(BEGINNING);
    await stage.settle();
    expect(ownersOf(stage)).toEqual(new Set([undefined]));
  });
});
