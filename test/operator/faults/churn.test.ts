/**
 * O17: 5,000 objects of which 50 change each second. Scaled: 10 virtual seconds instead of ten minutes, for what is measured
 * is the same in each of them.
 */
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { describe, expect, it } from 'vitest';
import { ApiClient } from '#crds/api/api-client.ts';
import type { ApiObject } from '#crds/api/api-object.ts';
import { CATALOG } from '#gateway/catalog.ts';
import { compile } from '#operator/compile/compile.ts';
import type { LastGood } from '#operator/compile/elect.ts';
import { openKube } from '#operator/source/kube/kube.ts';
import { pass } from '../../crds/api/virtual-time.ts';
import { published, resourceOf, statusesIn } from './outcome.ts';
import { type OperatorRun, ORGANISATION, openStage, type Stage, useStages } from './stage.ts';
import { apiKey, config, fallback, integration, secret } from './workload.ts';

useStages();

const OBJECTS = 5_000;
const CHANGES_PER_SECOND = 50;
const SECONDS = 10;
/** While 300 changes are made: 10 KiB of each at most are kept. */
const MOST_GROWTH_BYTES = 3 * 1024 * 1024;

function objects(): ApiObject[] {
  const made: ApiObject[] = [];
  for (let team = 0; team < 50; team++) {
    made.push(secret(`team-${team}/vendor`, { api_key: `sk-of-${team}` }));
    for (let n = 0; n < 5; n++) made.push(integration(`team-${team}/i${n}`, 'vendor'));
    for (let n = 0; n < 75; n++) made.push(config(`team-${team}/c${n}`, fallback(`@i${n % 5}`, 'simulator')));
    for (let n = 0; n < 10; n++) {
      made.push(secret(`team-${team}/k${n}`, { api_key: `a-key-of-team-${team}-${n}` }));
      made.push(apiKey(`team-${team}/k${n}`, { secret_name: `k${n}`, defaults: { config_id: `c${n}` } }));
    }
  }
  return made.slice(0, OBJECTS + 50 * 11);
}

/** Change number `n`: mostly edits, some that come and go under ever new names, some that are wrong. */
function change({ server }: Stage, n: number): void {
  const place = `team-${n % 50}`;
  const at = `${place}/c${n % 75}`;
  if (n % 10 === 0) server.apply(config(`${place}/new-${n}`, { provider: 'simulator' }));
  else if (n % 10 === 5) server.delete(resourceOf('GatewayConfig'), `team-${(n - 5) % 50}`, `new-${n - 5}`);
  else if (n % 10 === 7) server.apply(secret(`${place}/vendor`, { api_key: `sk-${n}` }));
  else if (n % 10 === 9) server.apply(config(at, { provider: 'nobody' }));
  else server.apply(config(at, { ...fallback('simulator', `@i${n % 5}`), override_params: { n } }));
}

function usedBytes(): number {
  setFlagsFromString('--expose-gc');
  const collect = runInNewContext('gc') as () => void;
  collect();
  collect();
  return process.memoryUsage().heapUsed;
}

/** What each pass costs in processor time, measured beside the operator on what it sees too. */
async function measured(stage: Stage): Promise<{ readonly tookMs: number[]; close(): void }> {
  const tookMs: number[] = [];
  const client = new ApiClient(stage.server.transport('beside'));
  const opening = openKube({ client, namespaces: [], notBefore: {}, onFault: () => {} });
  await pass(1_000);
  const source = await opening;
  let lastGood: LastGood = new Map();
  const settings = { organisationNamespace: ORGANISATION, requestHosts: [] };
  const run = () => {
    const { user, system } = process.threadCpuUsage();
    ({ lastGood } = compile({ ...source.observe(), settings }, lastGood, { catalog: CATALOG }));
    const after = process.threadCpuUsage();
    tookMs.push((after.user - user + after.system - system) / 1_000);
  };
  run();
  source.onChange(run);
  return { tookMs, close: () => void source.close() };
}

function percentile(values: readonly number[], share: number): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length * share)] ?? Number.POSITIVE_INFINITY;
}

async function grow(): Promise<{ readonly stage: Stage; readonly run: OperatorRun }> {
  const stage = openStage({ gateways: 1 });
  stage.server.apply(objects());
  const run = stage.start();
  await pass(10_000);
  expect(published(stage.server).snapshot.configs).toHaveLength(3_750);
  return { stage, run };
}

describe('O17: 5,000 objects, 50 changes a second', () => {
  it('are compiled in less than 100 ms, published at most 5 times a second, and leave nothing behind', async () => {
    const { stage, run } = await grow();
    const beside = await measured(stage);
    const [heap, first]: [number[], number] = [[], run.publications.length];
    for (let n = 0; n < SECONDS * CHANGES_PER_SECOND; n++) {
      change(stage, n);
      await pass(1_000 / CHANGES_PER_SECOND);
      if (n % (2 * CHANGES_PER_SECOND) !== 2 * CHANGES_PER_SECOND - 1) continue;
      stage.server.forget();
      heap.push(usedBytes());
    }
    beside.close();
    const publications = run.publications.length - first;
    await stage.settle();
    expect(publications).toBeGreaterThan(3 * SECONDS);
    expect(publications).toBeLessThanOrEqual(5 * SECONDS + 1);
    expect(beside.tookMs.length).toBeGreaterThan(10 * SECONDS);
    expect(percentile(beside.tookMs.slice(1), 0.99)).toBeLessThan(100);
    const [warm = 0, ...later] = heap.slice(1);
    expect(Math.min(...later.slice(-2)) - warm).toBeLessThan(MOST_GROWTH_BYTES);
    const behind = Object.values(statusesIn(stage.server)).filter(
      (text) => !/^generation (\d+), observed \1\n/.test(text),
    );
    expect(behind).toEqual([]);
    expect(run.faults.filter((error) => (error as { status?: number }).status !== 409)).toEqual([]);
  });
});
