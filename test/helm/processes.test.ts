/** Operator and gateway with the chart's own arguments, accounts and roles, on a real API server. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync } from 'node:fs';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { SCOPES } from '#crds/kinds/scopes.ts';
import { type OwnCluster, startOwnCluster } from '../cluster/cluster.ts';
import { describeCluster } from '../cluster/describe-cluster.ts';
import { waitFor } from '../fakes/wait-for.ts';
import { type Folder, makeFolder } from '../operator/folder.ts';
import { askedBy, rightsIn } from './audit.ts';
import { CHART, REPOSITORY, render } from './helm.ts';
import { at, only, type PodSpec } from './manifest.ts';
import { rulesOf } from './rights.ts';
import { type Component, type Running, run } from './running.ts';

const DEMO = 'model-gateway-demo';
const RELEASE = { name: 'edge', namespace: 'gw', values: { watchNamespaces: [DEMO], snapshot: { maxShards: 2 } } };
const PATIENCE_MS = 30_000;
const NODE = join(REPOSITORY, 'node_modules', 'node', 'bin', 'node');

/** Rights that a role has for cases that this suite does not bring about. */
const UNUSED: Readonly<Record<Component, readonly string[]>> = {
  // Events are counted up by what happens again, ten seconds apart.
  operator: ['patch events.events.k8s.io'],
  gateway: [],
};

describeCluster('operator and gateway by the chart', () => {
  let own: OwnCluster;
  let folder: Folder;
  const running = new Map<Component, Running>();

  beforeAll(async () => {
    folder = makeFolder();
    for (const name of ['snapshot', 'state']) mkdirSync(folder.at(name));
    own = await startOwnCluster({ audit: true });
    const { cluster } = own;
    await cluster.kubectl(['apply', '-f', join(REPOSITORY, 'crds/examples/cluster/0-namespace.yaml')]);
    const install = ['install', RELEASE.name, CHART, '--namespace', RELEASE.namespace, '--create-namespace'];
    await cluster.helm([...install, '--values', '-'], JSON.stringify(RELEASE.values));
    await cluster.kubectl(['wait', '--for=condition=Established', 'crd', '--all']);
    for (const component of ['operator', 'gateway'] as const) {
      const token = await cluster.tokenFor(RELEASE.namespace, `${RELEASE.name}-${component}`);
      const kubeconfig = cluster.kubeconfigFor(token, RELEASE.namespace);
      const origin = await running.get('operator')?.told('starting', 'control_plane');
      const flags = origin === undefined ? [] : [`--operator-url=${origin}`];
      running.set(component, run(RELEASE, component, { kubeconfig, folder: folder.path, flags }));
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

  describe('the control plane, by way of the gateway', () => {
    const OWNED = {
      apiVersion: 'modelgateway.dev/v1alpha1',
      kind: 'ApiKey',
      metadata: { name: 'manager', namespace: DEMO },
      spec: { type: 'workspace-service', scopes: [...SCOPES.keys()].filter((scope) => !scope.startsWith('organ')) },
    };
    const about = { conditions: [{ key: 'metadata.tier', value: 'gold' }], group_by: [{ key: 'api_key' }] };
    let key = '';

    async function control(method: string, path: string, body?: object) {
      const origin = await told('gateway', 'listening', 'api');
      const response = await fetch(origin + path, {
        method,
        headers: { 'x-gateway-api-key': key, ...(body === undefined ? {} : { 'content-type': 'application/json' }) },
        body: body === undefined ? null : JSON.stringify(body),
      });
      return { status: response.status, body: (await response.json()) as Readonly<Record<string, unknown>> };
    }

    const accepts = (path: string) =>
      waitFor(
        async () =>
          JSON.stringify((await control('GET', path)).body['status_conditions']).includes('"Accepted","status":"True"'),
        `${path} to be accepted`,
        PATIENCE_MS,
      );

    const isAccepted = (plural: string) => {
      const accepted = '{.items[*].status.conditions[?(@.type=="Accepted")].status}';
      return waitFor(async () => (await field(plural, DEMO, accepted)).includes('True'), plural, PATIENCE_MS);
    };

    it('knows who calls', { timeout: 60_000 }, async () => {
      const owner = ['--server-side', '--field-manager=gitops'];
      await own.cluster.kubectl(['apply', ...owner, '-f', '-'], JSON.stringify(OWNED));
      const stored = () => field('secret/manager-api-key', DEMO, '{.data.api_key}');
      await waitFor(async () => (await stored()) !== '', 'the key', PATIENCE_MS);
      key = Buffer.from(await stored(), 'base64').toString();
      const isKnown = async () => (await control('GET', '/v1/policies/rate-limits')).status === 200;
      await waitFor(isKnown, 'the caller to be known', PATIENCE_MS);
    });

    it.each([
      ['/v1/policies/rate-limits', { ...about, type: 'requests', unit: 'rpd', value: 1e6 }, { value: 2e6 }],
      ['/v1/policies/usage-limits', { ...about, type: 'cost', credit_limit: 1e6 }, { credit_limit: 2e6 }],
    ])('makes, changes and archives %s', { timeout: 60_000 }, async (path, body, change) => {
      const made = await control('POST', path, { name: 'By hand', ...body });
      expect(made).toMatchObject({ status: 200, body: { object: 'policy_usage_limits' } });
      const one = `${path}/${made.body['id']}`;
      await accepts(one);
      expect(await control('PUT', one, change)).toMatchObject({ status: 200, body: change });
      await accepts(one);
      expect(await control('DELETE', one)).toMatchObject({ status: 200, body: { status: 'archived', ...change } });
      expect((await control('GET', path)).body).toMatchObject({ total: 0 });
      expect((await control('GET', `${path}?status=archived`)).body).toMatchObject({ total: 1 });
    });

    it('makes, changes and deletes keys, of which a new one opens', { timeout: 60_000 }, async () => {
      const rate_limits = [{ type: 'requests', unit: 'rpd', value: 1e6 }];
      const scopes = ['completions.write', 'models.list'];
      const made = await control('POST', '/v1/api-keys/workspace/service', { name: 'Robot', scopes, rate_limits });
      expect(made).toMatchObject({ status: 200, body: { key: expect.stringMatching(/^mgw_/) } });
      const one = `/v1/api-keys/${made.body['id']}`;
      const origin = await told('gateway', 'listening', 'api');
      const models = async () =>
        (await fetch(`${origin}/v1/models`, { headers: { authorization: `Bearer ${made.body['key']}` } })).status;
      await waitFor(async () => (await models()) === 200, 'the key to open', PATIENCE_MS);
      const changed = await control('PUT', one, { description: 'Of the test' });
      expect(changed).toMatchObject({ status: 200, body: { description: 'Of the test', rate_limits } });
      expect(await control('DELETE', one)).toMatchObject({ status: 200 });
      await waitFor(async () => (await models()) === 401, 'the key to end', PATIENCE_MS);
    });

    it('makes, changes, publishes and deletes prompts', { timeout: 60_000 }, async () => {
      const string = JSON.stringify([{ role: 'user', content: 'Hello {{name}}' }]);
      const rest = { collection_id: 'default', parameters: {}, virtual_key: 'simulator' };
      const made = await control('POST', '/v1/prompts', { name: 'Greeting', string, ...rest });
      expect(made).toMatchObject({ status: 200, body: { object: 'prompt' } });
      const one = `/v1/prompts/${made.body['id']}`;
      await waitFor(async () => (await field('promptversions', DEMO, '{.items[*].metadata.name}')) !== '', 'a version');
      await isAccepted('prompts');
      expect((await control('PUT', one, { string: string.replace('Hello', 'Hi'), patch: true })).status).toBe(200);
      expect((await control('PUT', `${one}/makeDefault`, { version: 2 })).status).toBe(200);
      const published = async () => (await control('GET', one)).body['prompt_version'];
      await waitFor(async () => (await published()) === 2, 'the second version to be live', PATIENCE_MS);
      expect((await control('DELETE', one)).status).toBe(200);
    });

    it.each([
      ['/v1/prompts/partials', { name: 'Tone', string: 'Be kind.' }, { name: 'Manner' }],
      ['/v1/labels', { name: 'canary' }, { description: 'For few.' }],
    ])('makes, changes and deletes %s', { timeout: 60_000 }, async (path, body, change) => {
      const made = await control('POST', path, body);
      expect(made.status).toBe(200);
      const one = `${path}/${made.body['id']}`;
      const plural = path.endsWith('partials') ? 'promptpartials' : 'promptgroups';
      await isAccepted(plural);
      expect((await control('PUT', one, change)).status).toBe(200);
      expect((await control('DELETE', one)).status).toBe(200);
    });

    it('leaves to others what is theirs', { timeout: 60_000 }, async () => {
      const refused = await control('PUT', '/v1/api-keys/manager', { description: 'Mine' });
      expect(refused).toMatchObject({ status: 409, body: { error: { code: 'owned_elsewhere' } } });
      expect(JSON.stringify(refused.body)).toContain('kept by gitops');
    });
  });

  it('the operator begins to replace a key that it is asked to', { timeout: 60_000 }, async () => {
    await own.cluster.kubectl(['annotate', '-n', DEMO, 'apikey', 'manager', 'modelgateway.dev/rotate=today']);
    const next = () => field('secret/manager-api-key', DEMO, '{.data.next_api_key}');
    await waitFor(async () => (await next()) !== '', 'the next key', PATIENCE_MS);
  });

  it('the operator says of a Workspace where it belongs', { timeout: 60_000 }, async () => {
    const metadata = { name: DEMO, namespace: DEMO };
    const workspace = { apiVersion: 'modelgateway.dev/v1alpha1', kind: 'Workspace', metadata, spec: {} };
    await own.cluster.kubectl(['apply', '-f', '-'], JSON.stringify(workspace));
    const reason = () => field(`workspace/${DEMO}`, DEMO, '{.status.conditions[?(@.type=="Accepted")].reason}');
    await waitFor(async () => (await reason()) === 'NotPermitted', 'its refusal', PATIENCE_MS);
  });

  it('the operator says of a Guardrail that it is accepted', { timeout: 60_000 }, async () => {
    const spec = { checks: [{ id: 'default.contains', parameters: { words: ['secret'], operator: 'none' } }] };
    const metadata = { name: 'discreet', namespace: DEMO };
    const guardrail = { apiVersion: 'modelgateway.dev/v1alpha1', kind: 'Guardrail', metadata, spec };
    await own.cluster.kubectl(['apply', '-f', '-'], JSON.stringify(guardrail));
    const accepted = () => field('guardrail/discreet', DEMO, '{.status.conditions[?(@.type=="Accepted")].status}');
    await waitFor(async () => (await accepted()) === 'True', 'Accepted=True', PATIENCE_MS);
  });

  it('the operator marks the version of a prompt that an edit publishes', { timeout: 60_000 }, async () => {
    const apply = (publish: boolean) => {
      const metadata = { name: 'draft', namespace: DEMO };
      const spec = { string: 'Hello', publish };
      const prompt = { apiVersion: 'modelgateway.dev/v1alpha1', kind: 'Prompt', metadata, spec };
      return own.cluster.kubectl(['apply', '-f', '-'], JSON.stringify(prompt));
    };
    const marks = () => field('promptversions', DEMO, '{.items[?(@.spec.prompt=="draft")].metadata}');
    await apply(false);
    await waitFor(async () => (await marks()) !== '', 'a version', PATIENCE_MS);
    const before = await marks();
    await apply(true);
    await waitFor(async () => (await marks()) !== before, 'its mark', PATIENCE_MS);
  });

  const published = (name: string) =>
    own.cluster.kubectl(['get', ...name.split('/'), '-n', 'gw', '-o', 'jsonpath={.data}{.binaryData}']);

  it('what others do to what is published is mended', { timeout: 90_000 }, async () => {
    const { cluster } = own;
    const objects = [
      'configmap/edge-snapshot-index',
      'configmap/edge-snapshot-0',
      'secret/edge-keys-0',
      'secret/edge-accepted-0',
    ];
    for (const object of objects) {
      const [before, [kind = '', name = '']] = [await published(object), object.split('/')];
      const isMended = async () => (await published(object).catch(() => '')) === before;
      const content = name === 'edge-snapshot-0' ? 'binaryData' : 'data';
      const patch = { [content]: { index: 'eA==', shard: 'eA==' } };
      await cluster.kubectl(['patch', kind, name, '-n', 'gw', '--type=merge', '-p', JSON.stringify(patch)]);
      await waitFor(isMended, `${object}, which was changed`, PATIENCE_MS);
      await cluster.kubectl(['label', kind, name, '-n', 'gw', 'modelgateway.dev/snapshot-']);
      await waitFor(
        async () => (await field(object, 'gw', '{.metadata.labels}')).includes('modelgateway.dev/snapshot'),
        `${object}, whose label was taken away`,
        PATIENCE_MS,
      );
      await cluster.kubectl(['delete', kind, name, '-n', 'gw']);
      await waitFor(isMended, `${object}, which was deleted`, PATIENCE_MS);
    }
    for (const [kind, name] of [
      ['configmap', 'edge-snapshot-1'],
      ['secret', 'edge-accepted-1'],
    ] as const) {
      await cluster.kubectl(['create', ...(kind === 'secret' ? ['secret', 'generic'] : [kind]), name, '-n', 'gw']);
      await cluster.kubectl(['label', kind, name, '-n', 'gw', 'modelgateway.dev/snapshot=edge']);
      await waitFor(
        async () => (await field(`${kind}/${name}`, 'gw', '{.metadata.name}')) === '',
        `${name} to go`,
        PATIENCE_MS,
      );
    }
    expect((await ask()).status).toBe(200);
  });

  describe('the command of `helm test`, run by hand', () => {
    const spec = only(render(RELEASE), 'Pod', 'edge-test')['spec'] as PodSpec;
    const host = 'http://edge-gateway.gw/';

    /** At another place, and with so many tries. */
    async function runAt(origin: string, tries: number) {
      const args = spec.containers[0]?.args ?? [];
      expect(args.join()).toContain(host);
      const moved = args.map((arg) => arg.replace(host, `${origin}/`).replace('attempt < 30', `attempt < ${tries}`));
      const child = spawn(NODE, moved, { stdio: ['ignore', 'pipe', 'inherit'] });
      let out = '';
      child.stdout.on('data', (chunk) => {
        out += chunk;
      });
      const [code] = await once(child, 'close');
      return { code, out };
    }

    it('is content with a gateway', async () => {
      const { code, out } = await runAt(await told('gateway', 'listening', 'api'), 30);
      expect([code, out]).toEqual([0, expect.stringContaining('401 authentication_error')]);
    });

    it.each([
      [
        'what is no gateway',
        (request: IncomingMessage, response: ServerResponse) => response.writeHead(401).end(request.url),
      ],
      ['one who lets anybody in', (_: IncomingMessage, response: ServerResponse) => response.end('{"object": "list"}')],
    ])('is not content with %s', async (_title, handler) => {
      const server = createServer(handler).listen(0, '127.0.0.1');
      await once(server, 'listening');
      const { port } = server.address() as AddressInfo;
      expect((await runAt(`http://127.0.0.1:${port}`, 1)).code).toBe(1);
      server.close();
    });
  });

  it('a key that is deleted opens nothing', { timeout: 60_000 }, async () => {
    expect((await ask()).status).toBe(200);
    await own.cluster.kubectl(['delete', '-n', DEMO, 'apikey', '--all']);
    await waitFor(async () => (await ask()).status === 401, 'a refusal', PATIENCE_MS);
  });

  it.each(['operator', 'gateway'] as const)(
    'the %s asked for what it may, and may no more than it asks for',
    (component) => {
      const account = `edge-${component}`;
      const asked = askedBy(own.cluster.access.folder, 'gw', account);
      expect(asked.filter(({ code }) => code === 403 || code === 401)).toEqual([]);
      const granted = [RELEASE.namespace, DEMO].flatMap((namespace) => rulesOf(render(RELEASE), account, namespace));
      const used = new Set(asked.map(({ right }) => right));
      expect([...rightsIn(granted).difference(used)].sort()).toEqual([...UNUSED[component]].sort());
    },
  );

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
