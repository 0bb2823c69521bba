/** Operator and gateway with the chart's own arguments, accounts and roles, on a real API server. */
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { type OwnCluster, startOwnCluster } from '../cluster/cluster.ts';
import { describeCluster } from '../cluster/describe-cluster.ts';
import { waitFor } from '../fakes/wait-for.ts';
import { type Folder, makeFolder } from '../operator/folder.ts';
import { CHART, REPOSITORY } from './helm.ts';
import { at } from './manifest.ts';
import { type Component, type Running, run } from './running.ts';

const DEMO = 'model-gateway-demo';
const RELEASE = { name: 'edge', namespace: 'gw', values: { watchNamespaces: [DEMO], snapshot: { maxShards: 2 } } };
const PATIENCE_MS = 30_000;

describeCluster('operator and gateway by the chart', () => {
  let own: OwnCluster;
  let folder: Folder;
  const running = new Map<Component, Running>();

  beforeAll(async () => {
    folder = makeFolder();
    for (const name of ['snapshot', 'state']) mkdirSync(folder.at(name));
    own = await startOwnCluster();
    const { cluster } = own;
    await cluster.kubectl(['apply', '-f', join(REPOSITORY, 'crds/examples/cluster/0-namespace.yaml')]);
    const install = ['install', RELEASE.name, CHART, '--namespace', RELEASE.namespace, '--create-namespace'];
    await cluster.helm([...install, '--values', '-'], JSON.stringify(RELEASE.values));
    await cluster.kubectl(['wait', '--for=condition=Established', 'crd', '--all']);
    for (const component of ['operator', 'gateway'] as const) {
      const token = await cluster.tokenFor(RELEASE.namespace, `${RELEASE.name}-${component}`);
      const kubeconfig = cluster.kubeconfigFor(token, RELEASE.namespace);
      running.set(component, run(RELEASE, component, { kubeconfig, folder: folder.path }));
    }
  }, 120_000);

  afterAll(async () => {
    for (const component of running.values()) await component.stop();
    await own?.plane.stop();
    folder?.remove();
  });

  const field = async (resource: string, namespace: string, path: string) =>
    own.cluster.kubectl(['get', resource, '-n', namespace, '--ignore-not-found', '-o', `jsonpath=${path}`]);

  const told = (component: Component, message: string, name: string) =>
    running.get(component)?.told(message, name) ?? Promise.reject(new Error(`no ${component}`));

  it('the operator leads by its lease, and publishes what there is', { timeout: 60_000 }, async () => {
    await waitFor(
      async () => (await field('lease/edge-operator', 'gw', '{.spec.holderIdentity}')) !== '',
      'the lease',
      PATIENCE_MS,
    );
    await waitFor(
      async () => (await field('configmap/edge-snapshot-index', 'gw', '{.data.index}')) !== '',
      'the index',
      PATIENCE_MS,
    );
  });

  const secret = () => field('secret/demo-api-key', DEMO, '{.data.api_key}');

  /** A request with the key that the operator made. */
  async function ask(): Promise<Response> {
    const key = Buffer.from(await secret(), 'base64').toString();
    const origin = await told('gateway', 'listening', 'api');
    return fetch(`${origin}/v1/chat/completions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      body: JSON.stringify({ messages: [{ role: 'user', content: 'Hello' }] }),
    });
  }

  it('the gateway answers the example’s key by what the operator made of it', { timeout: 90_000 }, async () => {
    await own.cluster.kubectl(['apply', '-f', join(REPOSITORY, 'crds/examples/cluster')]);
    await waitFor(async () => (await secret()) !== '', 'the key', PATIENCE_MS);
    await waitFor(async () => (await ask()).status === 200, 'an answer', PATIENCE_MS);
    expect(at(await (await ask()).json(), 'choices.0.message.content')).toBe('Hello');
  });

  it('the operator says of every object that it is accepted', { timeout: 60_000 }, async () => {
    const path = '{range .items[*]}{.status.conditions[?(@.type=="Accepted")].status}{" "}{end}';
    const kinds = 'gatewayconfigs,integrations,apikeys';
    await waitFor(
      async () => (await field(kinds, DEMO, path)) === 'True True True ',
      'Accepted=True of three objects',
      PATIENCE_MS,
    );
  });

  it('a key that is deleted opens nothing', { timeout: 60_000 }, async () => {
    expect((await ask()).status).toBe(200);
    await own.cluster.kubectl(['delete', '-n', DEMO, 'apikey', '--all']);
    await waitFor(async () => (await ask()).status === 401, 'a refusal', PATIENCE_MS);
  });

  it('neither was refused anything', () => {
    for (const [component, { log }] of running) {
      const lines = log().map((line) => JSON.stringify(line));
      expect(lines.length, component).toBeGreaterThan(1);
      expect(lines.filter((line) => /forbidden|Forbidden|cannot (?:get|list|watch|create|patch)/.test(line))).toEqual(
        [],
      );
      expect(lines.filter((line) => /"level":"(?:error|fatal)"/.test(line))).toEqual([]);
    }
  });
}, ['helm']);
