/** What a release leaves behind, and how to be rid of that too. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { KINDS } from '#crds/kinds/kinds.ts';
import { NODE_PARTS } from '../cluster/controllers.ts';
import { describeCluster } from '../cluster/describe-cluster.ts';
import { waitFor } from '../fakes/wait-for.ts';
import { CHART } from './helm.ts';
import { DEMO, NAMESPACE, PATIENCE_MS, RELEASE, type ReleaseStage, startStage } from './release-stage.ts';

const STEP = { timeout: 60_000 };
const EVERYTHING = [
  'all,configmaps,secrets,serviceaccounts,roles,rolebindings,endpointslices,leases',
  'networkpolicies,poddisruptionbudgets,horizontalpodautoscalers',
].join();

describeCluster('a release that is uninstalled', () => {
  let stage: ReleaseStage;

  beforeAll(async () => {
    stage = await startStage();
  }, 90_000);
  afterAll(() => stage?.stop());

  it('was installed, worked, and passed its own test', STEP, async () => {
    await stage.kubectl(['create', 'namespace', DEMO]);
    await stage.install('install', CHART);
    await stage.startOperator();
    await stage.applyExamples();
    expect(await stage.helm(['test', RELEASE, '--timeout', '40s'])).toMatch(/Phase: +Succeeded/);
    expect(await stage.names('pods')).not.toContain(`pod/${RELEASE}-test`);
  });

  it('leaves its kinds, what users made of them, and the keys; nothing of its own but a Lease', STEP, async () => {
    const kept = await stage.kept();
    // A config, an integration, a key and two Secrets; the rest are their kinds.
    expect(kept).toHaveLength(5 + KINDS.length);
    await stage.stopOperator();
    await stage.helm(['uninstall', RELEASE, '--wait', '--timeout', '50s']);
    const lease = `lease.coordination.k8s.io/${RELEASE}-operator`;
    const isClean = async () => (await stage.names(EVERYTHING)).join() === lease;
    await waitFor(isClean, 'the rest to go', PATIENCE_MS).catch(async (error) => {
      throw new Error(`${error.message} Left: ${await stage.names(EVERYTHING)}`);
    });
    expect(await stage.kept()).toEqual(kept);
    expect(await stage.names('roles,rolebindings', DEMO)).toEqual([]);
    const own = [
      'get',
      'clusterroles,clusterrolebindings',
      '-l',
      `app.kubernetes.io/instance=${RELEASE}`,
      '-o',
      'name',
    ];
    expect(await stage.kubectl(own)).toBe('');
  });

  it('serves the same keys when it is installed again', STEP, async () => {
    const kept = await stage.kept();
    await stage.install('install', CHART);
    await stage.startOperator();
    await waitFor(async () => (await stage.generation()) > 0, 'a snapshot', PATIENCE_MS);
    await stage.untilAccepted();
    expect(await stage.kept()).toEqual(kept);
  });

  it('is gone without a trace by the commands of the chart’s README', STEP, async () => {
    await stage.stopOperator();
    const readme = readFileSync(join(CHART, 'README.md'), 'utf8');
    const commands = readme.match(/(?<=^ {4})(?:helm uninstall|kubectl delete) .*$/gm) ?? [];
    expect(commands).toHaveLength(4);
    for (const command of commands) {
      const here = command
        .replace('--namespace model-gateway', `--namespace ${NAMESPACE}`)
        .replaceAll(/\bmodel-gateway\b/g, RELEASE);
      const [tool, ...args] = here.trim().split(/\s+/);
      await (tool === 'helm' ? stage.own.cluster.helm(args) : stage.kubectl(args));
    }
    await waitFor(async () => (await stage.names(EVERYTHING)).length === 0, 'everything to go', PATIENCE_MS);
    expect(await stage.names('secrets', DEMO)).toEqual(['secret/demo-provider']);
    expect(await stage.crds()).toEqual([]);
  });
}, ['helm', ...NODE_PARTS]);
