/** What one edit costs to compile: the operator's own source and `compile`, called in this process. */
import type { ApiClient } from '#crds/api/api-client.ts';
import { CATALOG } from '#gateway/catalog.ts';
import { compile } from '#operator/compile/compile.ts';
import type { LastGood } from '#operator/compile/elect.ts';
import { openKube } from '#operator/source/kube/kube.ts';
import type { Manifest, World } from '#operator/world.ts';
import { configObject } from './bench-world.ts';
import { type Figure, spread } from './figures.ts';

const EDITS = 300;
const GOAL = { p99: 100 };
const SETTINGS = { organisationNamespace: 'model-gateway', requestHosts: [] };

/** Reads the whole world first. */
export async function compileTimes(client: ApiClient): Promise<readonly Figure[]> {
  const source = await openKube({
    client,
    namespaces: [],
    notBefore: {},
    onFault(error) {
      throw error;
    },
  });
  const observation = source.observe();
  await source.close();
  let world: World = { ...observation, settings: SETTINGS };
  let lastGood: LastGood = compile(world, new Map(), { catalog: CATALOG }).lastGood;
  const times: number[] = [];
  for (let round = 0; round < EDITS; round++) {
    world = { ...world, manifests: edited(world.manifests, round) };
    const startedMs = performance.now();
    ({ lastGood } = compile(world, lastGood, { catalog: CATALOG }));
    times.push(performance.now() - startedMs);
  }
  return spread(`compile of ${world.manifests.length} objects after one edit, in process`, times, GOAL);
}

/** Another config each time, as a watch would bring it. */
function edited(manifests: readonly Manifest[], round: number): readonly Manifest[] {
  const configs = manifests.filter(({ kind }) => kind === 'GatewayConfig');
  const before = configs[round % configs.length];
  if (before === undefined) throw new Error('there is no GatewayConfig to edit');
  const index = Number(/\d+$/.exec(before.name)?.[0]);
  const after: Manifest = {
    ...before,
    generation: before.generation + 1,
    raw: { ...before.raw, spec: configObject(index, `compiled-${round}`)['spec'] },
  };
  return manifests.map((manifest) => (manifest === before ? after : manifest));
}
