/** Whether our objects are healthy, in the eyes of what deploys them: kstatus (Flux, helm), Argo CD. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { beforeAll, describe, expect, it } from 'vitest';
import { parse, stringify } from 'yaml';
import { statusObject } from '#operator/apply/status-object.ts';
import { type Condition, type StatusInput, statusOf, withProgrammed } from '#operator/compile/status.ts';
import { cluster } from '../cluster/cluster.ts';
import { describeCluster } from '../cluster/describe-cluster.ts';
import { type Folder, makeFolder } from '../operator/folder.ts';
import { REPOSITORY } from './helm.ts';
import { type Health, kstatusOf } from './kstatus.ts';
import { runHealthLua } from './lua.ts';

const RESOURCE = { apiVersion: 'modelgateway.dev/v1alpha1', kind: 'ApiKey', plural: 'apikeys' };
const SCRIPT = healthScript();

function healthScript(): string {
  const { data } = parse(readFileSync(join(REPOSITORY, 'crds/examples/gitops/argocd/health.yaml'), 'utf8'));
  return parse(data['resource.customizations'])['modelgateway.dev/*']['health.lua'];
}

interface Told extends Partial<StatusInput> {
  readonly programmed: Pick<Condition, 'status' | 'reason' | 'message'>;
}

const live = { status: 'True', reason: 'Programmed', message: 'served by 2 of 2 replicas' } as const;
const waiting = { status: 'False', reason: 'Pending', message: 'served by 1 of 2 replicas' } as const;
const absent = { status: 'False', reason: 'NotAccepted', message: '' } as const;

/** What the operator says, and what others make of it; undefined: it has said nothing yet. */
const STATES: readonly (readonly [state: string, told: Told | undefined, kstatus: Health, argo: string])[] = [
  ['new', undefined, 'InProgress', 'Progressing'],
  ['accepted, and not served everywhere', { programmed: waiting }, 'InProgress', 'Progressing'],
  ['served everywhere', { programmed: live }, 'Current', 'Healthy'],
  [
    'served everywhere, with a warning',
    { programmed: live, warnings: [{ reason: 'NoEffect', message: 'spec.x' }] },
    'Current',
    'Healthy',
  ],
  [
    'refused',
    { programmed: absent, refused: { reason: 'InvalidSpec', message: 'spec.type' }, served: 'none' },
    'InProgress',
    'Degraded',
  ],
  [
    'refused, its last good version served',
    { programmed: live, refused: { reason: 'InvalidSpec', message: 'spec.type' }, served: 'last-good' },
    'InProgress',
    'Degraded',
  ],
  [
    'in want of what it names',
    { programmed: live, unresolved: [{ reason: 'RefNotFound', message: 'spec.defaults.config_id' }] },
    'InProgress',
    'Degraded',
  ],
];

describeCluster('health of our objects', () => {
  let namespace = '';
  const kubectl = (args: readonly string[], input?: string) => cluster().kubectl(['-n', namespace, ...args], input);
  const read = async (name: string) => JSON.parse(await kubectl(['get', 'apikey', name, '-o', 'json']));

  beforeAll(async () => {
    await cluster().installCrds();
    namespace = await cluster().namespace('health');
  }, 60_000);

  async function create(name: string) {
    const { plural: _, ...type } = RESOURCE;
    await kubectl(
      ['apply', '-f', '-'],
      stringify({ ...type, metadata: { name }, spec: { type: 'workspace-service' } }),
    );
    return read(name);
  }

  /** As the operator does, of the generation that the object has. */
  async function tell(object: Awaited<ReturnType<typeof read>>, { programmed, ...told }: Told): Promise<void> {
    const { name, uid, generation } = object.metadata;
    const manifest = { kind: RESOURCE.kind, namespace, name, uid, generation, raw: object, place: undefined };
    const input = { refused: undefined, unresolved: [], warnings: [], served: 'current', isDuplicate: false } as const;
    const status = withProgrammed(statusOf(manifest, { ...input, ...told }), { type: 'Programmed', ...programmed });
    const applied = statusObject(status, RESOURCE, object, Date.now());
    const { status: code, body } = await cluster().request({
      method: 'PATCH',
      path: `/apis/${RESOURCE.apiVersion}/namespaces/${namespace}/apikeys/${name}/status?fieldManager=operator&force=true`,
      contentType: 'application/apply-patch+yaml',
      body: applied,
    });
    expect(code, JSON.stringify(body)).toBe(200);
  }

  describe.each(STATES)('an object that is %s', (state, told, kstatus, argo) => {
    const name = state.replaceAll(/[^a-z]+/g, '-');

    it(`is ${kstatus} to kstatus and ${argo} to Argo CD`, async () => {
      const made = await create(name);
      if (told !== undefined) await tell(made, told);
      const object = await read(name);
      expect([kstatusOf(object), runHealthLua(SCRIPT, object).status]).toEqual([kstatus, argo]);
    });

    it('is under way again once it is changed', async () => {
      await kubectl(['patch', 'apikey', name, '--type=merge', '-p', '{"spec": {"disabled": true}}']);
      const object = await read(name);
      expect([kstatusOf(object), runHealthLua(SCRIPT, object).status]).toEqual(['InProgress', 'Progressing']);
    });
  });

  it('an object that is being deleted is on its way out', async () => {
    const object = await create('deleted');
    await tell(object, { programmed: live });
    await kubectl([
      'patch',
      'apikey',
      'deleted',
      '--type=merge',
      '-p',
      '{"metadata": {"finalizers": ["a.example/b"]}}',
    ]);
    await kubectl(['delete', 'apikey', 'deleted', '--wait=false']);
    expect(kstatusOf(await read('deleted'))).toBe('Terminating');
    await kubectl(['patch', 'apikey', 'deleted', '--type=merge', '-p', '{"metadata": {"finalizers": null}}']);
  });

  it('Argo CD shows the operator’s own words', async () => {
    const object = await read('refused');
    const told = { ...object, metadata: { ...object.metadata, generation: object.status.observedGeneration } };
    expect(runHealthLua(SCRIPT, told)).toEqual({ status: 'Degraded', message: 'InvalidSpec: spec.type' });
  });

  it('columns say that a new object is waited for', async () => {
    await create('fresh');
    const [, line = ''] = (await kubectl(['get', 'apikey', 'fresh', '-o', 'wide'])).split('\n');
    expect(line).toMatch(/Unknown +Pending/);
  });

  it('helm waits until an object is ready, and no longer', { timeout: 60_000 }, async () => {
    const folder = chartOfOneKey();
    let isOver = false;
    const install = ['install', 'waits', folder.path, '-n', namespace, '--wait', '--timeout', '40s'];
    const over = cluster()
      .helm(install)
      .finally(() => {
        isOver = true;
      });
    try {
      await expect.poll(() => read('waited-for').catch(() => undefined), { timeout: 20_000 }).toBeDefined();
      await setTimeout(2_500);
      expect(isOver).toBe(false);
      await tell(await read('waited-for'), { programmed: waiting });
      await setTimeout(1_500);
      expect(isOver).toBe(false);
      await tell(await read('waited-for'), { programmed: live });
      expect(await over).toContain('STATUS: deployed');
    } finally {
      await over.catch(() => {});
      folder.remove();
    }
  });
}, ['helm']);

function chartOfOneKey(): Folder {
  const { plural: _, ...type } = RESOURCE;
  return makeFolder({
    'Chart.yaml': stringify({ apiVersion: 'v2', name: 'waits', version: '1.0.0' }),
    'templates/key.yaml': stringify({ ...type, metadata: { name: 'waited-for' }, spec: { type: 'workspace-service' } }),
  });
}
