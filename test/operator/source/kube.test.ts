/** What is observed of an API server, and when it is observed anew: whatever changes nothing that is judged is no news. */
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { ApiClient } from '#crds/api/api-client.ts';
import { type Resource, SECRETS } from '#crds/api/api-object.ts';
import { KIND_RESOURCES } from '#crds/kinds/resources.ts';
import { type KubeSource, openKube } from '#operator/source/kube/kube.ts';
import { pass, useVirtualTime } from '../../crds/api/virtual-time.ts';
import { type ApiServer, startApiServer } from '../../fakes/api-server/api-server.ts';
import { apiKey, config, object, secret } from '../../fakes/objects.ts';

const CONFIGS = KIND_RESOURCES.get('GatewayConfig') as Resource;
const KEYS = KIND_RESOURCES.get('ApiKey') as Resource;
const SOON_MS = 200;
const RELIST_MS = 10_000;
const ROUTE = { provider: 'simulator' };

useVirtualTime();

let server: ApiServer;
let source: KubeSource;
let transport: ReturnType<ApiServer['transport']>;
let changes: number;
let faults: Error[];

beforeEach(() => {
  server = startApiServer({ namespaces: ['team'] });
  changes = 0;
  faults = [];
});

afterEach(async () => {
  await source.close();
  await transport.close();
  server.close();
  await pass(SOON_MS);
});

async function open(...namespaces: readonly string[]): Promise<void> {
  transport = server.transport('operator');
  const opening = openKube({
    client: new ApiClient(transport),
    namespaces,
    notBefore: {},
    onFault: (error) => faults.push(error),
  });
  await pass(SOON_MS);
  source = await opening;
  source.onChange(() => {
    changes += 1;
  });
}

/** What happened meanwhile is forgotten, so that no watch can tell of it. */
async function relist(): Promise<void> {
  server.compact();
  server.restart();
  await pass(RELIST_MS);
}

const names = () => source.observe().manifests.map(({ kind, name }) => `${kind} ${name}`);
const values = () =>
  Object.fromEntries(source.observe().secrets.map(({ name, values: all }) => [name, all.get('api_key')]));

function writeKey(name: string, key: string): Promise<void> {
  return source.writeSecret({
    namespace: 'default',
    name: `${name}-api-key`,
    owner: `ApiKey default/${name}`,
    values: { api_key: key },
  });
}

describe('manifests', () => {
  it('are the very same while nothing of them changes but their status and labels', async () => {
    server.apply([config('a', ROUTE), config('b', ROUTE)].join(''));
    await open();
    const before = source.observe();
    server.patch(CONFIGS, 'default', 'a', { status: { observedGeneration: 1 } }, 'status');
    server.patch(CONFIGS, 'default', 'b', { metadata: { labels: { team: 'x' }, annotations: { 'other/x': '1' } } });
    await pass(SOON_MS);
    expect(source.observe()).toBe(before);
    expect(changes).toBe(0);
    expect(source.stored({ kind: 'GatewayConfig', namespace: 'default', name: 'a' })).toMatchObject({
      status: { observedGeneration: 1 },
    });
  });

  it('are new where one is edited, and the others stay the same', async () => {
    server.apply([config('a', ROUTE), config('b', ROUTE)].join(''));
    await open();
    const [a, b] = source.observe().manifests;
    server.apply(config('b', { ...ROUTE, override_params: { model: 'm' } }));
    await pass(SOON_MS);
    expect(changes).toBe(1);
    expect(source.observe().manifests[0]).toBe(a);
    expect(source.observe().manifests[1]).not.toBe(b);
    expect(source.observe().manifests[1]).toMatchObject({ name: 'b', generation: 2 });
  });

  it.each([
    ['deleted', () => server.delete(CONFIGS, 'default', 'a')],
    [
      'being deleted',
      () => {
        server.patch(CONFIGS, 'default', 'a', { metadata: { finalizers: ['x/y'] } });
        server.delete(CONFIGS, 'default', 'a');
      },
    ],
  ])('lose the one that is %s', async (_, remove) => {
    server.apply([config('a', ROUTE), config('b', ROUTE)].join(''));
    await open();
    remove();
    await pass(SOON_MS);
    expect(names()).toEqual(['GatewayConfig b']);
    server.patch(CONFIGS, 'default', 'b', { status: { observedGeneration: 1 } }, 'status');
    await pass(SOON_MS);
    expect(changes).toBe(1);
  });

  it('are of another uid where one was deleted and made anew, though it says the same', async () => {
    server.apply(config('a', ROUTE));
    await open();
    const [before] = source.observe().manifests;
    server.delete(CONFIGS, 'default', 'a');
    server.apply(config('a', ROUTE));
    await pass(SOON_MS);
    expect(source.observe().manifests.map(({ uid }) => uid)).not.toEqual([before?.uid]);
  });

  it('keep no status of the version that they were read from', async () => {
    server.apply(config('a', ROUTE));
    server.patch(CONFIGS, 'default', 'a', { status: { observedGeneration: 1 } }, 'status');
    await open();
    expect(source.observe().manifests[0]?.raw).toMatchObject({ kind: 'GatewayConfig', spec: ROUTE });
    expect(source.observe().manifests[0]?.raw).not.toHaveProperty('status');
  });

  it('are those of the namespaces that are followed, each by its own watch', async () => {
    server.apply([config('a', ROUTE), config('b', ROUTE, { namespace: 'team' })].join(''));
    await open('default', 'team');
    expect(names()).toEqual(['GatewayConfig a', 'GatewayConfig b']);
    server.apply(config('c', ROUTE, { namespace: 'team' }));
    server.apply(config('d', ROUTE, { namespace: 'elsewhere' }));
    await pass(SOON_MS);
    expect(names().sort()).toEqual(['GatewayConfig a', 'GatewayConfig b', 'GatewayConfig c']);
  });

  it('are right after a new list that no watch told of', async () => {
    server.apply([config('a', ROUTE), config('b', ROUTE)].join(''));
    await open();
    server.faults.onlyBookmarks({ resource: CONFIGS });
    server.delete(CONFIGS, 'default', 'a');
    server.apply(config('c', ROUTE));
    await pass(SOON_MS);
    expect(names()).toEqual(['GatewayConfig a', 'GatewayConfig b']);
    await relist();
    expect(names()).toEqual(['GatewayConfig b', 'GatewayConfig c']);
  });
});

describe('Secrets that the operator wrote', () => {
  it('are observed at once, and are no news when the watch tells of them', async () => {
    server.apply(object('ApiKey', 'k', { type: 'workspace-service' }));
    await open();
    const { manifests } = source.observe();
    await Promise.all([writeKey('k', 'key-of-16-letters'), pass(0)]);
    expect(values()).toEqual({ 'k-api-key': 'key-of-16-letters' });
    expect(source.observe().manifests).toBe(manifests);
    const written = source.observe();
    await pass(SOON_MS);
    expect(source.observe()).toBe(written);
    expect(changes).toBe(0);
  });

  it.each([
    ['the watch tells of', async () => {}],
    ['no watch ever told of', relist],
  ])('go where they are deleted, which %s', async (_, learn) => {
    server.apply(object('ApiKey', 'k', { type: 'workspace-service' }));
    await open();
    if (learn === relist) server.faults.onlyBookmarks({ resource: SECRETS });
    await Promise.all([writeKey('k', 'key-of-16-letters'), pass(0)]);
    expect(values()).toEqual({ 'k-api-key': 'key-of-16-letters' });
    server.delete(SECRETS, 'default', 'k-api-key');
    await learn();
    server.apply(config('a', ROUTE));
    await pass(SOON_MS);
    expect(values()).toEqual({});
  });

  it('count for the ApiKey that they were made for alone, not for another of its name', async () => {
    server.apply(object('ApiKey', 'k', { type: 'workspace-service' }));
    await open();
    await Promise.all([writeKey('k', 'key-of-16-letters'), pass(SOON_MS)]);
    server.patch(SECRETS, 'default', 'k-api-key', { metadata: { finalizers: ['x/y'] } });
    server.delete(KEYS, 'default', 'k');
    server.apply(object('ApiKey', 'k', { type: 'workspace-service' }));
    await pass(SOON_MS);
    expect(names()).toEqual(['ApiKey k']);
    expect(values()).toEqual({});
  });

  it('are new where somebody changes what is in them', async () => {
    server.apply(object('ApiKey', 'k', { type: 'workspace-service' }));
    await open();
    await Promise.all([writeKey('k', 'key-of-16-letters'), pass(SOON_MS)]);
    changes = 0;
    server.patch(SECRETS, 'default', 'k-api-key', { data: { api_key: btoa('another-key-0000') } });
    await pass(SOON_MS);
    expect(values()).toEqual({ 'k-api-key': 'another-key-0000' });
    expect(changes).toBe(1);
  });
});

describe('Secrets of users', () => {
  it('are read where they are named, and only again where they change', async () => {
    server.apply([apiKey('k', 'key-of-16-letters'), secret('other', { x: 'y' })].join(''));
    await open();
    expect(values()).toEqual({ 'k-api-key': 'key-of-16-letters' });
    const reads = () => server.requests.filter(({ path }) => /\/secrets\/[^?]+$/.test(path)).length;
    const before = reads();
    server.apply(config('a', ROUTE));
    server.apply(secret('other', { x: 'z' }));
    await pass(SOON_MS);
    expect(reads()).toBe(before);
    server.apply(secret('k-api-key', { api_key: 'another-key-0000' }));
    await pass(SOON_MS);
    expect(values()).toEqual({ 'k-api-key': 'another-key-0000' });
    expect(reads()).toBe(before + 1);
  });

  it('are there as soon as what names them is', async () => {
    await open();
    server.apply(secret('k-api-key', { api_key: 'key-of-16-letters' }));
    await pass(SOON_MS);
    expect(values()).toEqual({});
    server.apply(object('ApiKey', 'k', { type: 'workspace-service' }));
    await pass(SOON_MS);
    expect(values()).toEqual({ 'k-api-key': 'key-of-16-letters' });
    expect(changes).toBe(1);
  });

  it('go where they are deleted, and where nobody names them any more', async () => {
    server.apply([apiKey('k', 'key-of-16-letters'), apiKey('m', 'key-of-16-letters-m')].join(''));
    await open();
    server.delete(SECRETS, 'default', 'k-api-key');
    server.delete(KEYS, 'default', 'm');
    await pass(SOON_MS);
    expect(values()).toEqual({});
  });
});
