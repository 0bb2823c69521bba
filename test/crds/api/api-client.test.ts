import { describe, expect, it } from 'vitest';
import { ApiClient } from '#crds/api/api-client.ts';
import { ApiError } from '#crds/api/api-error.ts';
import { CONFIG_MAPS, LEASES, pathOf } from '#crds/api/api-object.ts';
import type { ApiRequest, ApiResponse } from '#crds/api/transport.ts';
import { Watchdog } from '#crds/api/watchdog.ts';
import { bodyOf, configMap, failure, json, listOf, queryOf, ScriptedTransport, silence } from './scripted-transport.ts';
import { pass, useVirtualTime } from './virtual-time.ts';

useVirtualTime();

function clientOf(answer: (request: ApiRequest) => ApiResponse | Promise<ApiResponse>) {
  const transport = new ScriptedTransport(answer);
  const client = new ApiClient(transport);
  return {
    client,
    transport,
    get request(): Omit<ApiRequest, 'signal'> {
      const { signal: _, ...rest } = transport.requests.at(-1) as ApiRequest;
      return rest;
    },
  };
}

async function errorOf(act: Promise<unknown>): Promise<ApiError> {
  const error = await act.then(
    () => undefined,
    (one: unknown) => one,
  );
  expect(error).toBeInstanceOf(ApiError);
  return error as ApiError;
}

describe('requests', () => {
  const object = configMap(3);
  const body = JSON.stringify(object);
  const path = '/api/v1/namespaces/n/configmaps';
  it.each<[string, (client: ApiClient) => Promise<unknown>, object]>([
    ['read', (client) => client.read(CONFIG_MAPS, 'n', 'a'), { method: 'GET', path: `${path}/a` }],
    [
      'create',
      (client) => client.create(CONFIG_MAPS, object, 'm'),
      { method: 'POST', path: `${path}?fieldManager=m`, contentType: 'application/json', body },
    ],
    [
      'replace',
      (client) => client.replace(CONFIG_MAPS, object, 'm'),
      { method: 'PUT', path: `${path}/a?fieldManager=m`, contentType: 'application/json', body },
    ],
    [
      'apply',
      (client) => client.apply(CONFIG_MAPS, object, { fieldManager: 'm', subresource: 'status' }),
      {
        method: 'PATCH',
        path: `${path}/a/status?fieldManager=m&force=true`,
        contentType: 'application/apply-patch+yaml',
        body,
      },
    ],
    [
      'patchMerge',
      (client) => client.patchMerge(CONFIG_MAPS, { namespace: 'n', name: 'a' }, { data: null }, { fieldManager: 'm' }),
      {
        method: 'PATCH',
        path: `${path}/a?fieldManager=m`,
        contentType: 'application/merge-patch+json',
        body: '{"data":null}',
      },
    ],
    [
      'delete',
      (client) => client.delete(CONFIG_MAPS, 'n', 'a', { uid: 'u' }),
      {
        method: 'DELETE',
        path: `${path}/a`,
        contentType: 'application/json',
        body: '{"kind":"DeleteOptions","apiVersion":"v1","preconditions":{"uid":"u"},"propagationPolicy":"Background"}',
      },
    ],
  ])('%s asks for what it says, and has the answer', async (name, act, request) => {
    const made = clientOf(() => json(object));
    const answer = await act(made.client);
    expect(made.request).toEqual(request);
    expect(answer).toEqual(name === 'delete' ? undefined : object);
  });

  it('of groups and of the whole cluster have their paths, names made safe', () => {
    expect(pathOf(LEASES, {})).toBe('/apis/coordination.k8s.io/v1/leases');
    expect(pathOf(CONFIG_MAPS, { namespace: 'a/b', name: 'c?d' })).toBe('/api/v1/namespaces/a%2Fb/configmaps/c%3Fd');
  });

  it('take what is not there for nothing to read, and nothing to delete', async () => {
    const { client } = clientOf(() => failure(404, 'NotFound'));
    expect(await client.read(CONFIG_MAPS, 'n', 'a')).toBeUndefined();
    await client.delete(CONFIG_MAPS, 'n', 'a');
    expect(await errorOf(client.patchMerge(CONFIG_MAPS, { name: 'a' }, {}, { fieldManager: 'm' }))).toMatchObject({
      status: 404,
    });
  });

  it.each([
    [409, 'Conflict', true],
    [422, 'Invalid', false],
    [403, 'Forbidden', false],
    [500, 'InternalError', true],
    [429, 'TooManyRequests', true],
  ])('that are refused with %d say why', async (status, reason, isPassing) => {
    const headers = { 'retry-after': '3' };
    const { client } = clientOf(() => failure(status, reason, { message: 'for this reason', headers }));
    const error = await errorOf(client.create(CONFIG_MAPS, configMap(3), 'm'));
    expect(error).toMatchObject({ status, reason, isPassing, retryAfterMs: 3_000 });
    expect(error.message).toBe('POST /api/v1/namespaces/n/configmaps: for this reason');
  });

  it.each([
    ['a page of HTML', 502, '<html>bad gateway</html>', { status: 502, reason: 'Unknown' }],
    ['nothing', 503, '', { status: 503, reason: 'Unknown' }],
    ['null', 500, 'null', { status: 500, reason: 'Unknown' }],
    ['a redirect', 302, '', { status: 302, reason: 'Unknown' }],
    ['no JSON though it went well', 200, '<html>', { status: 0, reason: 'NoAnswer' }],
  ])('that are answered by %s fail as what they are', async (_what, status, text, expected) => {
    const { client } = clientOf(() => ({ status, headers: { 'retry-after': 'soon' }, body: bodyOf(text) }));
    expect(await errorOf(client.read(CONFIG_MAPS, 'n', 'a'))).toMatchObject({ ...expected, retryAfterMs: undefined });
  });

  it('keep the status of a failure whose text breaks off', async () => {
    const { client } = clientOf(() => ({
      status: 500,
      headers: {},
      body: (async function* () {
        yield Buffer.from('{"reason":');
        throw new Error('reset');
      })(),
    }));
    expect(await errorOf(client.read(CONFIG_MAPS, 'n', 'a'))).toMatchObject({ status: 500 });
  });

  it('read no more of a failure than they need', async () => {
    let read = 0;
    const { client } = clientOf(() => ({
      status: 500,
      headers: {},
      body: (async function* () {
        for (;;) yield Buffer.alloc(1024, ++read);
      })(),
    }));
    await errorOf(client.read(CONFIG_MAPS, 'n', 'a'));
    expect(read).toBeLessThan(100);
  });

  it('that nobody answers fail after 15 s, and are given up', async () => {
    const made = clientOf(silence);
    const failing = errorOf(made.client.read(CONFIG_MAPS, 'n', 'a'));
    await pass(15_000);
    const error = await failing;
    expect(error).toMatchObject({ status: 0, reason: 'NoAnswer', isPassing: true });
    expect(error.message).toBe('GET /api/v1/namespaces/n/configmaps/a: no answer within 15000 ms');
    expect(made.transport.requests[0]?.signal?.aborted).toBe(true);
  });
});

describe('lists', () => {
  it('come whole, page by page, their items with apiVersion and kind', async () => {
    const { apiVersion: _, kind: __, ...bare } = configMap(3);
    const pages = [listOf(7, [bare], 'p2'), listOf(7, [configMap(4)], 'p3'), listOf(7, [], '')];
    const { client, transport } = clientOf(() => json(pages.shift()));
    const list = await client.listAll(CONFIG_MAPS, { namespace: 'n', query: { labelSelector: 'x' } }, 2);
    expect(list.items).toEqual([configMap(3), configMap(4)]);
    expect(list.metadata.resourceVersion).toBe('7');
    expect(transport.requests.map(queryOf)).toEqual([
      { labelSelector: 'x', limit: '2' },
      { labelSelector: 'x', limit: '2', continue: 'p2' },
      { labelSelector: 'x', limit: '2', continue: 'p3' },
    ]);
  });

  it('asks for 500 at once', async () => {
    const { client, transport } = clientOf(() => json(listOf(7)));
    await client.listAll(CONFIG_MAPS, {});
    expect(transport.requests.map(queryOf)).toEqual([{ limit: '500' }]);
  });

  it('that expire twice are given up', async () => {
    const { client, transport } = clientOf(() => failure(410, 'Expired'));
    expect(await errorOf(client.listAll(CONFIG_MAPS, {}))).toMatchObject({ status: 410, reason: 'Expired' });
    expect(transport.requests).toHaveLength(2);
  });

  it('of metadata alone ask for it, and are of the kind all the same', async () => {
    const partial = { ...configMap(3), apiVersion: 'meta.k8s.io/v1', kind: 'PartialObjectMetadata' };
    const made = clientOf(() => json(listOf(7, [partial])));
    const { items } = await made.client.list(CONFIG_MAPS, {}, { metadataOnly: true });
    expect(made.request.accept).toBe(
      'application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io,application/json',
    );
    expect(items[0]).toMatchObject({ apiVersion: 'v1', kind: 'ConfigMap' });
  });

  it('with null for no items, as Go writes it, are empty', async () => {
    const { client } = clientOf(() => json({ metadata: { resourceVersion: '7' }, items: null }));
    expect(await client.listAll(CONFIG_MAPS, {})).toEqual({ metadata: { resourceVersion: '7' }, items: [] });
  });

  it('end with whoever gives them up', async () => {
    const made = clientOf(silence);
    const controller = new AbortController();
    const failing = errorOf(made.client.listAll(CONFIG_MAPS, {}, 500, { signal: controller.signal }));
    await pass();
    controller.abort(new Error('closed'));
    expect((await failing).message).toContain('closed');
  });
});

describe('a watch', () => {
  it('that is refused says why', async () => {
    const made = clientOf(() => failure(403, 'Forbidden'));
    const watchdog = new Watchdog();
    const error = await errorOf(made.client.watch(CONFIG_MAPS, { query: { resourceVersion: '7' } }, watchdog));
    expect(error).toMatchObject({ status: 403, reason: 'Forbidden' });
    expect(queryOf(made.request)).toEqual({ watch: 'true', resourceVersion: '7' });
  });
});
