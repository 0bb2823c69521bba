/** What of budgets is used, and how they begin anew, by what the statuses of their objects say. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ApiClient } from '#crds/api/api-client.ts';
import { KIND_RESOURCES } from '#crds/kinds/resources.ts';
import { groupIdOf } from '#crds/limits/counter-key.ts';
import { ANNOTATIONS } from '#crds/object.ts';
import { ControlWorld } from '#operator/rest/control-world.ts';
import { KubeObjects } from '#operator/rest/kube-objects.ts';
import { type ControlServer, startControlServer } from '#operator/rest/server.ts';
import { startApiServer } from '../fakes/api-server/api-server.ts';
import { MemoryWorld } from '../fakes/memory-world.ts';
import type { Json } from './stage.ts';
import { KEYS, MANIFESTS, ORGANISATION, TEAM } from './world.ts';

const resource = KIND_RESOURCES.get('UsageLimitPolicy');
const BUDGETS = '/v1/policies/usage-limits';
const GROUPS = ['alice', 'bob', 'carol'];

/** Without an operator, who would have a word of their own about what is used. */
const server = startApiServer({ namespaces: [TEAM, ORGANISATION] });
let control: ControlServer;
let id = '';

beforeAll(async () => {
  server.apply(MANIFESTS);
  const { snapshot } = new MemoryWorld({ requestHosts: [] }).compile(MANIFESTS);
  const pass = {
    snapshot,
    statuses: [],
    issued: [],
    problems: [],
    writeFailures: [],
    generation: 1,
    tookMs: 0,
    isPublished: true,
  };
  const world = new ControlWorld({
    objects: new KubeObjects({ client: new ApiClient(server.transport('rest')), namespaces: [] }),
    organisationNamespace: ORGANISATION,
    open: false,
    pass: () => pass,
    observe: () => ({ manifests: [], secrets: [], problems: [] }),
    rotateNow: () => Promise.reject(new Error('nothing is rotated here')),
  });
  control = await startControlServer({ host: '127.0.0.1', port: 0, world: () => world });
  const conditions = [{ key: 'metadata.user', value: '*' }];
  const body = { name: 'Used', type: 'cost', credit_limit: 10, conditions, group_by: [{ key: 'metadata.user' }] };
  id = String((await ask('POST', BUDGETS, body)).body['id']);
  if (resource === undefined) throw new Error('there is no such kind');
  const usage = GROUPS.map((group, index) => ({
    limit: '',
    group,
    group_id: groupIdOf([group]),
    type: 'cost',
    used: index * 5,
    remaining: 10 - index * 5,
    credit_limit: 10,
    last_reset_at: `2026-0${index + 1}-01T00:00:00.000Z`,
  }));
  server.patch(resource, TEAM, 'used', { status: { usage, state: 'exhausted' } }, 'status');
});
afterAll(async () => {
  await control.close();
  server.close();
});

async function ask(method: string, path: string, body?: Json): Promise<{ status: number; body: Json }> {
  const response = await fetch(control.origin + path, {
    method,
    headers: {
      authorization: `Bearer ${KEYS.team}`,
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
    },
    body: body === undefined ? null : JSON.stringify(body),
  });
  return { status: response.status, body: (await response.json()) as Json };
}

function annotations(): Readonly<Record<string, string>> {
  if (resource === undefined) throw new Error('there is no such kind');
  return server.find(resource, TEAM, 'used').metadata.annotations ?? {};
}

describe('what is used of a budget', () => {
  it('stands in the list, and with the budget where it is asked for', async () => {
    const used = { alice: 0, bob: 5, carol: 10 };
    const { body: list } = await ask('GET', BUDGETS);
    const listed = (list['data'] as Json[]).find((one) => one['id'] === id);
    expect(listed).toMatchObject({ value_key_usage_map: used, last_reset_at: '2026-03-01T00:00:00.000Z' });
    expect((await ask('GET', `${BUDGETS}/${id}?include_usage=true`)).body).toMatchObject({ value_key_usage_map: used });
    for (const query of ['', '?include_usage=false'])
      expect((await ask('GET', `${BUDGETS}/${id}${query}`)).body).not.toHaveProperty('value_key_usage_map');
  });

  it.each([
    ['', GROUPS],
    ['?status=exhausted', ['carol']],
    ['?status=active', ['alice', 'bob']],
    ['?search=AR', ['carol']],
    ['?search=nobody', []],
    ['?page_size=2', ['alice', 'bob']],
    ['?page_size=2&current_page=1', ['carol']],
  ])('its entities%s are %j', async (query, expected) => {
    const { status, body } = await ask('GET', `${BUDGETS}/${id}/entities${query}`);
    expect({ status, object: body['object'] }).toEqual({ status: 200, object: 'list' });
    const data = body['data'] as Json[];
    expect(data.map((one) => one['value_key'])).toEqual(expected);
    if (!query.includes('page')) expect(body['total']).toBe(expected.length);
    for (const one of data)
      expect(one).toEqual({
        id: groupIdOf([String(one['value_key'])]),
        value_key: one['value_key'],
        current_usage: GROUPS.indexOf(String(one['value_key'])) * 5,
      });
  });

  it.each(['page_size=0', 'page_size=101', 'status=gone'])('its entities?%s is a 400', async (query) => {
    expect((await ask('GET', `${BUDGETS}/${id}/entities?${query}`)).status).toBe(400);
  });
});

describe('a reset', () => {
  it('of an entity is a new word each time, of that group alone', async () => {
    const [alice] = GROUPS.map((group) => groupIdOf([group]));
    const name = `${ANNOTATIONS.resetUsage}.${alice}`;
    const words = new Set<string | undefined>();
    for (let time = 0; time < 3; time += 1) {
      const { status, body } = await ask('PUT', `${BUDGETS}/${id}/entities/${alice}/reset`);
      expect({ status, id: body['id'] }).toEqual({ status: 200, id: alice });
      words.add(annotations()[name]);
      expect(Object.keys(annotations()).filter((one) => one.startsWith(ANNOTATIONS.resetUsage))).toEqual([name]);
    }
    expect(words.size).toBe(3);
    expect(words).not.toContain(undefined);
  });

  it('of a value is that of its group, whether anything was used or not', async () => {
    for (const value of ['bob', 'dave']) {
      expect((await ask('PUT', `${BUDGETS}/${id}`, { reset_usage_for_value: value })).status).toBe(200);
      expect(annotations()).toHaveProperty([`${ANNOTATIONS.resetUsage}.${groupIdOf([value])}`]);
    }
  });

  it('changes nothing else', async () => {
    const before = (await ask('GET', `${BUDGETS}/${id}`)).body;
    await ask('PUT', `${BUDGETS}/${id}`, { reset_usage_for_value: 'carol' });
    const after = (await ask('GET', `${BUDGETS}/${id}`)).body;
    expect({ ...after, last_updated_at: 0 }).toEqual({ ...before, last_updated_at: 0 });
  });

  it.each(['alice', '..', 'ABCDEF0123456789'])('of no entity %s is a 404', async (entity) => {
    expect((await ask('PUT', `${BUDGETS}/${id}/entities/${encodeURIComponent(entity)}/reset`)).status).toBe(404);
  });

  it('is not for those who may only look', async () => {
    const response = await fetch(`${control.origin}${BUDGETS}/${id}/entities/${groupIdOf(['bob'])}/reset`, {
      method: 'PUT',
      headers: { 'x-gateway-api-key': KEYS.reader },
    });
    expect(response.status).toBe(403);
  });
});
