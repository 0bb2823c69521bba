/** When something is away, or somebody else is at work: answers in the table's words, and never a defect. */
import { afterEach, describe, expect, it } from 'vitest';
import { ApiClient } from '#crds/api/api-client.ts';
import { KIND_RESOURCES } from '#crds/kinds/resources.ts';
import { startTestGateway } from '../fakes/gateway.ts';
import { waitFor } from '../fakes/wait-for.ts';
import { SAMPLES } from './samples.ts';
import { type ClusterOptions, type ClusterStage, type Json, startCluster, startEmbedded } from './stage.ts';
import { KEYS, ORGANISATION, OTHER, TEAM } from './world.ts';

const RATES = '/v1/policies/rate-limits';
const RATE = {
  name: 'Ours',
  type: 'requests',
  unit: 'rpd',
  value: 1_000_000,
  conditions: [{ key: 'metadata.tier', value: 'gold' }],
  group_by: [{ key: 'api_key' }],
};

const ends: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const end of ends.splice(0).reverse()) await end();
});

async function cluster(options?: ClusterOptions): Promise<ClusterStage> {
  const stage = await startCluster(options);
  ends.push(() => stage.close());
  return stage;
}

function policies() {
  const resource = KIND_RESOURCES.get('RateLimitPolicy');
  if (resource === undefined) throw new Error('there is no such kind');
  return resource;
}

describe('a gateway', () => {
  it('without an operator says so', async () => {
    const gateway = await startTestGateway();
    ends.push(() => gateway.close());
    for (const { path } of SAMPLES) {
      const response = await fetch(gateway.origin + path, { headers: { 'x-gateway-api-key': gateway.key } });
      expect(response.status).toBe(503);
      expect(response.headers.get('retry-after')).toMatch(/^\d+$/);
      expect(await response.json()).toMatchObject({
        error: { type: 'server_error', code: 'control_plane_unavailable', param: null },
      });
    }
  });

  it('whose operator is away says so, goes on with all else, and finds it again', async () => {
    const stage = await cluster();
    expect((await stage.ask('GET', RATES)).status).toBe(200);
    await stage.closeControl();
    const { status, headers, error } = await stage.ask('GET', RATES);
    expect({ status, code: error.code }).toEqual({ status: 503, code: 'control_plane_unavailable' });
    expect(headers.get('retry-after')).toMatch(/^\d+$/);
    expect(await stage.chat(KEYS.team)).toBe(200);
  }, 60_000);

  it('hands on what the caller says, and nothing of the way in between', async () => {
    const stage = await cluster();
    const headers = {
      'x-forwarded-for': '203.0.113.9',
      'x-request-id': 'my-own',
      'x-gateway-trace-id': 'abcdef',
      authorization: `Bearer ${KEYS.team}`,
    };
    const answer = await stage.ask('GET', RATES, { as: '', headers });
    expect(answer.status).toBe(200);
    expect(answer.headers.get('x-gateway-trace-id')).toBe('abcdef');
    const entry = stage.entries.at(-1);
    expect(entry).toMatchObject({
      method: 'GET',
      path: RATES,
      status: 200,
      caller: `${TEAM}/team`,
      trace_id: 'abcdef',
    });
    expect(entry?.request_id).toBe(answer.headers.get('x-request-id'));
    expect(entry?.request_id).toMatch(/^req_/);
  }, 60_000);

  it('takes no request of the control plane twice around', async () => {
    const stage = await cluster();
    const headers = { 'cdn-loop': 'model-gateway, model-gateway, model-gateway' };
    expect(await stage.ask('GET', RATES, { headers })).toMatchObject({ status: 508, error: { code: 'loop_detected' } });
  }, 60_000);

  it.each(['PATCH', 'OPTIONS', 'PROPFIND'])('refuses %s itself', async (method) => {
    const gateway = await startTestGateway();
    ends.push(() => gateway.close());
    const response = await fetch(gateway.origin + RATES, { method });
    expect(response.status).toBe(405);
    expect(response.headers.get('allow')).toBe('GET, POST, PUT, DELETE');
  });
});

describe('the API server', () => {
  it('that is away is a 503 that may be tried again, and is tried again', async () => {
    const stage = await cluster();
    stage.server.outage('refuse');
    for (const [method, path, body] of [
      ['GET', RATES, undefined],
      ['POST', RATES, RATE],
      ['GET', `${RATES}/by-hand`, undefined],
    ] as const) {
      const { status, headers, error } = await stage.ask(method, path, { body });
      expect({ status, code: error.code }).toEqual({ status: 503, code: 'control_plane_unavailable' });
      expect(headers.get('retry-after')).toMatch(/^\d+$/);
    }
    stage.server.recover();
    await waitFor(async () => (await stage.ask('GET', RATES)).status === 200, 'the API server', 20_000);
  }, 60_000);

  it.each([
    [{ status: 500 }, 503, 'control_plane_unavailable'],
    [{ status: 429, retryAfterSeconds: 1 }, 503, 'control_plane_unavailable'],
    [{ status: 422, reason: 'Invalid' }, 400, 'invalid_value'],
    [{ status: 403, reason: 'Forbidden' }, 403, 'workspace_not_allowed'],
    ['refuse', 503, 'control_plane_unavailable'],
    [{ cutAfterBytes: 0 }, 503, 'control_plane_unavailable'],
    [{ cutAfterBytes: 20 }, 503, 'control_plane_unavailable'],
  ] as const)(
    'that answers a creation with %j makes it %i %s',
    async (fault, status, code) => {
      const stage = await cluster();
      stage.server.faults.onRequest({ method: 'POST', resource: policies() }, fault);
      const answer = await stage.ask('POST', RATES, { body: RATE });
      expect({ status: answer.status, code: answer.error.code }).toEqual({ status, code });
      expect(answer.error.message).not.toContain('undefined');
    },
    60_000,
  );

  it('has the last word on where there is room', async () => {
    const stage = await cluster();
    const unknown = await stage.ask('POST', RATES, { as: 'organisation', body: { ...RATE, workspace_id: 'nowhere' } });
    expect(unknown).toMatchObject({ status: 400, error: { code: 'invalid_value', param: 'workspace_id' } });
  }, 60_000);

  it('serves the workspaces that the operator is told, and no other', async () => {
    const stage = await cluster({ watchNamespaces: [TEAM, ORGANISATION] });
    const as = 'organisation';
    const there = await stage.ask('POST', RATES, { as, body: { ...RATE, workspace_id: OTHER } });
    expect(there).toMatchObject({ status: 403, error: { code: 'workspace_not_allowed', param: 'workspace_id' } });
    const here = await stage.ask('POST', RATES, { as, body: { ...RATE, workspace_id: TEAM } });
    expect(here.status).toBe(200);
    const { body } = await stage.ask('GET', RATES, { as });
    expect((body['data'] as Json[]).map(({ name }) => name)).toContain('Ours');
    expect(await stage.ask('GET', `${RATES}?workspace_id=${OTHER}`, { as })).toMatchObject({ body: { total: 0 } });
  }, 60_000);
});

describe('another who writes', () => {
  it('has what they took over, field by field', async () => {
    const stage = await cluster();
    await stage.ask('POST', RATES, { body: RATE });
    stage.server.patch(policies(), TEAM, 'ours', { spec: { value: 5 } });
    const { status, error } = await stage.ask('PUT', `${RATES}/ours`, { body: { value: 6 } });
    expect({ status, code: error.code }).toEqual({ status: 409, code: 'owned_elsewhere' });
    expect(error.message).toContain('kept by test');
    expect(await stage.ask('PUT', `${RATES}/ours`, { body: { name: 'Still ours' } })).toMatchObject({
      status: 200,
      body: { name: 'Still ours', value: 5 },
    });
    expect((await stage.ask('DELETE', `${RATES}/ours`)).status).toBe(409);
  }, 60_000);

  it('finds who wrote by the name of the control plane', async () => {
    const stage = await cluster();
    await stage.ask('POST', RATES, { body: RATE });
    const { managedFields = [] } = stage.server.find(policies(), TEAM, 'ours').metadata;
    const names = managedFields.map((entry) => (entry as { manager: string }).manager);
    expect(names).toContain('model-gateway-rest');
    const applying = new ApiClient(stage.server.transport('gitops')).apply(
      policies(),
      {
        apiVersion: 'modelgateway.dev/v1alpha1',
        kind: 'RateLimitPolicy',
        metadata: { name: 'ours', namespace: TEAM },
        spec: { value: 3 },
      },
      { fieldManager: 'gitops', force: false },
    );
    await expect(applying).rejects.toThrow(/model-gateway-rest/);
  }, 60_000);

  it('is quicker now and then, which nobody notices', async () => {
    const stage = await cluster();
    await stage.ask('POST', RATES, { body: RATE });
    let count = 0;
    const end = stage.server.onWrite(({ resource }) => {
      if (resource !== 'ratelimitpolicies' || count > 0) return;
      count += 1;
      stage.server.patch(policies(), TEAM, 'ours', { metadata: { labels: { seen: 'yes' } } });
    });
    const puts = ['One', 'Two', 'Three'].map((name) => stage.ask('PUT', `${RATES}/ours`, { body: { name } }));
    for (const { status } of await Promise.all(puts)) expect([200, 409]).toContain(status);
    end();
    const { metadata } = stage.server.find(policies(), TEAM, 'ours');
    expect(metadata.labels).toEqual({ seen: 'yes' });
  }, 60_000);

  it('who is always quicker has the caller told so', async () => {
    const stage = await cluster();
    await stage.ask('POST', RATES, { body: RATE });
    const match = { method: 'PUT', resource: policies() } as const;
    const fault = stage.server.faults.onRequest(match, { status: 409, reason: 'Conflict' });
    const { status, error } = await stage.ask('PUT', `${RATES}/ours`, { body: { value: 1 } });
    expect({ status, code: error.code }).toEqual({ status: 409, code: 'conflict' });
    fault.remove();
    expect(await stage.ask('PUT', `${RATES}/ours`, { body: { value: 1 } })).toMatchObject({ body: { value: 1 } });
  }, 60_000);

  it('who deletes an object leaves nothing to be changed', async () => {
    const stage = await cluster();
    const { body } = await stage.ask('POST', RATES, { body: RATE });
    stage.server.delete(policies(), TEAM, 'ours');
    for (const id of [body['id'], 'ours'])
      expect(await stage.ask('PUT', `${RATES}/${id}`, { body: { value: 1 } })).toMatchObject({ status: 404 });
  }, 60_000);
});

describe('embedded mode', () => {
  it('that runs open asks no key, and acts in the workspace of those who have none', async () => {
    const stage = await startEmbedded(['--open']);
    ends.push(() => stage.close());
    const made = await stage.ask('POST', RATES, { as: '', body: RATE });
    expect(made.status).toBe(200);
    expect((await stage.ask('GET', `${RATES}/${made.body['id']}`, { as: '' })).body['workspace_id']).toBe('default');
    expect((await stage.ask('GET', `${RATES}/by-hand`, { as: '' })).status).toBe(404);
    expect((await stage.ask('GET', RATES, { key: 'nobody' })).status).toBe(401);
    expect((await stage.ask('GET', `${RATES}/by-hand`)).status).toBe(200);
  }, 60_000);

  it('keeps what was made, through a kill', async () => {
    const first = await startEmbedded();
    ends.push(() => first.close());
    const made = await first.ask('POST', RATES, { body: RATE });
    const key = await first.ask('POST', '/v1/api-keys/workspace/service', {
      body: { name: 'Robot', scopes: ['completions.write'] },
    });
    const whole = (await first.ask('GET', `${RATES}/${made.body['id']}`)).body;
    const second = await first.restart();
    const again = (await second.ask('GET', `${RATES}/${made.body['id']}`)).body;
    expect({ ...again, status_conditions: 0 }).toEqual({ ...whole, status_conditions: 0 });
    expect(await second.chat(String(key.body['key']))).toBe(200);
    expect(await second.ask('DELETE', `${RATES}/ours`)).toMatchObject({ body: { status: 'archived' } });
  }, 60_000);

  it('reads what people make of its files, and writes on from there', async () => {
    const stage = await startEmbedded();
    ends.push(() => stage.close());
    await stage.ask('POST', RATES, { body: RATE });
    const file = '.model-gateway/objects/RateLimitPolicy/team-a/ours.yaml';
    const value = async () => (await stage.ask('GET', `${RATES}/ours`)).body['value'];
    const manifest = (spec: object) => ({
      apiVersion: 'modelgateway.dev/v1alpha1',
      kind: 'RateLimitPolicy',
      metadata: { name: 'ours', namespace: TEAM },
      spec,
    });
    stage.folder.write(file, JSON.stringify(manifest({ ...RATE, value: 7 })));
    await waitFor(async () => (await value()) === 7, 'the edit', 20_000);
    stage.folder.write(file, JSON.stringify(manifest({ ...RATE, value: 'many' })));
    await waitFor(
      async () => JSON.stringify((await stage.ask('GET', `${RATES}/ours`)).body).includes('"reason":"InvalidSpec"'),
      'the condition of a spec that is refused',
      20_000,
    );
    expect(await stage.ask('PUT', `${RATES}/ours`, { body: { value: 8 } })).toMatchObject({ body: { value: 8 } });
  }, 60_000);
});
