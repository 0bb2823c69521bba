/** From an older chart to this one, and back: the kinds change in place, and nothing that users made is lost. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { KINDS } from '#crds/kinds/kinds.ts';
import { NODE_PARTS } from '../cluster/controllers.ts';
import { describeCluster } from '../cluster/describe-cluster.ts';
import { waitFor } from '../fakes/wait-for.ts';
import { CHART } from './helm.ts';
import { chartOfCommitBefore, NEW_COLUMN, NEW_FIELD, OLDER_VERSION, olderChart } from './older-chart.ts';
import { DEMO, NAMESPACE, PATIENCE_MS, RELEASE, type ReleaseStage, startStage } from './release-stage.ts';

const STEP = { timeout: 60_000 };

describeCluster('a release that is upgraded', () => {
  const older = olderChart();
  const before = chartOfCommitBefore();
  let stage: ReleaseStage;

  beforeAll(async () => {
    stage = await startStage();
  }, 90_000);

  afterAll(async () => {
    await stage?.stop();
    older.remove();
    before?.remove();
  });

  /** The object as it would be stored with the field that the older chart lacks. */
  const withNewField = async () => {
    const patch = `{"spec": {"${NEW_FIELD}": true}}`;
    const args = ['patch', 'apikey', 'demo', '-n', DEMO, '--type=merge', '-p', patch, '--dry-run=server', '-o', 'json'];
    return JSON.parse(await stage.kubectl(args)).spec;
  };
  const columns = async () => (await stage.kubectl(['get', 'apikey', '-n', DEMO, '-o', 'wide'])).split('\n')[0];
  const deployed = async () => JSON.parse(await stage.helm(['list', '-o', 'json']));

  it('began with an older chart, whose pods run', STEP, async () => {
    await stage.kubectl(['create', 'namespace', DEMO]);
    expect(await stage.install('install', older.at('chart'))).toContain('STATUS: deployed');
    const path = 'jsonpath={range .items[*]}{.metadata.name} {.status.availableReplicas} {end}';
    const isAvailable = async () =>
      (await stage.kubectl(['get', 'deployments', '-n', NAMESPACE, '-o', path])) ===
      `${RELEASE}-gateway 2 ${RELEASE}-operator 2 `;
    await waitFor(isAvailable, 'two pods of each', PATIENCE_MS);
  });

  it('had kinds that lack a field and a column', STEP, async () => {
    await stage.startOperator();
    await stage.applyExamples();
    expect(await withNewField()).not.toHaveProperty(NEW_FIELD);
    expect(await columns()).not.toContain(NEW_COLUMN.toUpperCase());
  });

  it('has them after the upgrade, and everything else as it was', STEP, async () => {
    const kept = await stage.kept();
    // A config, an integration, a key and two Secrets; the rest are their kinds.
    expect(kept).toHaveLength(5 + KINDS.length);
    expect(await stage.install('upgrade', CHART)).toContain('STATUS: deployed');
    expect(await stage.kept()).toEqual(kept);
    expect(await withNewField()).toHaveProperty(NEW_FIELD, true);
    expect(await columns()).toContain(NEW_COLUMN.toUpperCase());
    await stage.untilAccepted();
  });

  it('has the older kinds again after a rollback, and everything else as it was', STEP, async () => {
    const kept = await stage.kept();
    await stage.helm(['rollback', RELEASE, '1', '--wait', '--timeout', '50s']);
    expect(await deployed()).toMatchObject([{ chart: `model-gateway-${OLDER_VERSION}`, status: 'deployed' }]);
    expect(await stage.kept()).toEqual(kept);
    expect(await withNewField()).not.toHaveProperty(NEW_FIELD);
    expect(await columns()).not.toContain(NEW_COLUMN.toUpperCase());
  });

  describe.runIf(before !== undefined)('from the chart of the commit before', () => {
    it('keeps what was made too', STEP, async () => {
      const kept = await stage.kept();
      for (const chart of [before?.at('helm') ?? '', CHART]) {
        expect(await stage.install('upgrade', chart)).toContain('STATUS: deployed');
        expect(await stage.kept()).toEqual(kept);
      }
      expect(await withNewField()).toHaveProperty(NEW_FIELD, true);
    });
  });
}, ['helm', ...NODE_PARTS]);
