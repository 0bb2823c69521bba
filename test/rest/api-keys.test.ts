/** Keys by the control plane: told once, of no use to those who may not, and alive as soon as they are served. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { waitFor } from '../fakes/wait-for.ts';
import { type Answer, type Asked, type Json, type RestStage, STAGES, startCluster } from './stage.ts';
import { KEYS, ORGANISATION, TEAM } from './world.ts';

const PATIENCE_MS = 15_000;
const HALF_AN_HOUR_MS = 1_800_000;
const WORKSPACE = '/v1/api-keys/workspace/service';

const inference = (name: string, more: Json = {}): Json => ({ name, scopes: ['completions.write'], ...more });

describe.each([
  ...STAGES,
  ['a cluster, at an operator that does not lead', () => startCluster({ operators: 2 })] as const,
])('in %s', (_stage, startStage) => {
  let stage: RestStage;
  beforeAll(async () => {
    stage = await startStage();
  }, 60_000);
  afterAll(() => stage?.close());

  const create = (body: Json, asked: Asked & { readonly path?: string } = {}): Promise<Answer> =>
    stage.ask('POST', asked.path ?? WORKSPACE, { ...asked, body });
  const opens = (key: string) => waitFor(async () => (await stage.chat(key)) === 200, 'the key to open', PATIENCE_MS);

  it('a new key opens what its scopes say, soon', async () => {
    const { status, body } = await create(inference('Opening'));
    expect({ status, body }).toMatchObject({
      status: 200,
      body: { object: 'api-key', key: expect.stringMatching(/^mgw_[0-9A-Za-z]{49}$/) },
    });
    await opens(String(body['key']));
    const asked = () => stage.ask('GET', '/v1/api-keys', { key: String(body['key']) });
    await waitFor(async () => (await asked()).error.code === 'missing_scope', 'a refusal for its scopes', PATIENCE_MS);
  });

  it('is never told again', async () => {
    const { body } = await create(inference('Told once'));
    const key = String(body['key']);
    const answers = [
      await stage.ask('GET', `/v1/api-keys/${body['id']}`),
      await stage.ask('GET', '/v1/api-keys'),
      await stage.ask('PUT', `/v1/api-keys/${body['id']}`, { body: { description: 'x' } }),
      await create(inference('Told once')),
    ];
    for (const answer of answers) expect(JSON.stringify(answer.body)).not.toContain(key);
    expect(answers[0]?.body['key']).toBe('********');
  });

  it('a name leads to no Secret that is there already', async () => {
    const { body } = await create(inference('provider'));
    expect(body['key']).toMatch(/^mgw_/);
    expect(JSON.stringify(body)).not.toContain('credential');
  });

  it('a deleted key opens nothing', async () => {
    const { body } = await create(inference('Short lived'));
    const key = String(body['key']);
    await opens(key);
    expect(await stage.ask('DELETE', `/v1/api-keys/${body['id']}`)).toMatchObject({ status: 200, body: {} });
    await waitFor(async () => (await stage.chat(key)) === 401, 'the key to end', PATIENCE_MS);
  });

  it('a key that is rotated gives way to another, and works on for the time of transition', async () => {
    const made = await create(inference('Rotated'));
    const [id, former] = [String(made.body['id']), String(made.body['key'])];
    await opens(former);
    const { status, body } = await stage.ask('POST', `/v1/api-keys/${id}/rotate`, {
      body: { key_transition_period_ms: 2 * HALF_AN_HOUR_MS },
    });
    expect({ status, body }).toMatchObject({ status: 200, body: { id, key: expect.stringMatching(/^mgw_/) } });
    const key = String(body['key']);
    expect(key).not.toBe(former);
    const untilMs = Date.parse(String(body['key_transition_expires_at'])) - Date.now();
    expect(untilMs).toBeGreaterThan(1.9 * HALF_AN_HOUR_MS);
    expect(untilMs).toBeLessThanOrEqual(2 * HALF_AN_HOUR_MS);
    await opens(key);
    expect(await stage.chat(former)).toBe(200);
  }, 60_000);

  it('a rotation needs no body', async () => {
    const { body } = await create(inference('Rotated plainly'));
    const rotated = await stage.ask('POST', `/api-keys/rotated-plainly/rotate`);
    expect(rotated.body['id']).toBe(body['id']);
    const untilMs = Date.parse(String(rotated.body['key_transition_expires_at'])) - Date.now();
    expect(untilMs).toBeLessThanOrEqual(HALF_AN_HOUR_MS);
  }, 60_000);

  it.each([
    [{ key_transition_period_ms: 1 }, 'key_transition_period_ms'],
    [{ key_transition_period_ms: 'long' }, 'key_transition_period_ms'],
    [{ colour: 'red' }, 'colour'],
  ])('a rotation with %j is a 400 that names %s', async (body, param) => {
    await create(inference('Not rotated'));
    const answer = await stage.ask('POST', '/v1/api-keys/not-rotated/rotate', { body });
    expect(answer).toMatchObject({ status: 400, error: { param } });
  });

  it('a key that somebody brought is not rotated here', async () => {
    const { status, error } = await stage.ask('POST', '/v1/api-keys/reader/rotate');
    expect({ status, code: error.code }).toEqual({ status: 409, code: 'owned_elsewhere' });
  }, 60_000);

  it.each([
    ['a scope that it lacks', 'logs.list', 'scopes'],
    ['a scope that nobody knows', 'everything.do', 'scopes'],
  ])('nobody gives %s', async (_title, scope) => {
    const narrow = await create({
      name: 'Narrow',
      scopes: ['completions.write', 'workspace_service_api_keys.create', 'workspace_service_api_keys.update'],
    });
    const key = String(narrow.body['key']);
    await waitFor(
      async () => (await create(inference('By narrow'), { key })).status === 200,
      'the narrow key',
      PATIENCE_MS,
    );
    const more = { name: 'More', scopes: ['completions.write', scope] };
    expect(await create(more, { key })).toMatchObject({
      status: 403,
      error: { code: 'rights_exceeded', param: 'scopes' },
    });
    const raised = await stage.ask('PUT', `/v1/api-keys/${narrow.body['id']}`, { key, body: { scopes: more.scopes } });
    expect(raised).toMatchObject({ status: 403, error: { code: 'rights_exceeded' } });
  });

  it('nobody is told a key that can do more than their own', async () => {
    const { body: rotator } = await create({ name: 'Rotator', scopes: ['workspace_service_api_keys.rotate'] });
    const { body: strong } = await create({ name: 'Strong', scopes: ['policies.delete'] });
    const key = String(rotator['key']);
    let answer: Answer | undefined;
    await waitFor(
      async () => {
        answer = await stage.ask('POST', `/v1/api-keys/${strong['id']}/rotate`, { key });
        return answer.status !== 401;
      },
      'the rotator',
      PATIENCE_MS,
    );
    expect(answer).toMatchObject({ status: 403, error: { code: 'rights_exceeded' } });
    const silent = await stage.ask('POST', '/v1/api-keys/inference/rotate', { key });
    expect(silent, 'which has the scope of inference without saying so').toMatchObject({ status: 403 });
  });

  it('a type is given by keys that are of it or above', async () => {
    const asks = [
      ['organisation/service', 'team', 403],
      ['workspace/service', 'user', 403],
      ['workspace/user', 'user', 200],
      ['workspace/user', 'team', 200],
      ['workspace/service', 'team', 200],
    ] as const;
    for (const [path, as, status] of asks) {
      const body = inference(`${as} gives ${path}`);
      const answer = await create(body, { as, path: `/v1/api-keys/${path}` });
      expect({ path, as, status: answer.status }).toEqual({ path, as, status });
    }
  });

  it('keys of the organisation lie where the organisation is', async () => {
    const path = '/v1/api-keys/organisation/service';
    const as = 'organisation';
    const made = await create(inference('House robot'), { as, path });
    const { body } = await stage.ask('GET', `/v1/api-keys/${made.body['id']}`, { as });
    expect(body).toMatchObject({ type: 'organisation-service', workspace_id: ORGANISATION });
    const elsewhere = await create(inference('Astray', { workspace_id: TEAM }), { as, path });
    expect(elsewhere).toMatchObject({ status: 400, error: { param: 'workspace_id' } });
    expect(await stage.ask('GET', `/v1/api-keys/${made.body['id']}`)).toMatchObject({ status: 404 });
  });

  it.each(['organisation/user', 'workspace/robot', 'team/service'])('there are no keys of %s', async (type) => {
    const answer = await create(inference('Nothing'), { as: 'organisation', path: `/v1/api-keys/${type}` });
    expect(answer).toMatchObject({ status: 400, error: { code: 'invalid_value', param: 'type' } });
  });

  it('the list shows the types that the caller may list', async () => {
    await create(inference('Of a user'), { path: '/v1/api-keys/workspace/user' });
    const types = async (as: 'team' | 'reader') => {
      const { body } = await stage.ask('GET', '/v1/api-keys', { as });
      return new Set((body['data'] as Json[]).map(({ type }) => type));
    };
    expect(await types('team')).toEqual(new Set(['workspace-service', 'workspace-user']));
    expect(await types('reader')).toEqual(new Set(['workspace-service']));
  });

  it('what the operator refuses of a key is told, and leaves nothing', async () => {
    const body = inference('Bad transition', { defaults: { config_id: 'nowhere' } });
    const { status, body: made } = await create(body);
    expect(status, 'a config may come later').toBe(200);
    const { body: seen } = await stage.ask('GET', `/v1/api-keys/${made['id']}`);
    await waitFor(
      async () => {
        const { body: now } = await stage.ask('GET', `/v1/api-keys/${seen['id']}`);
        return JSON.stringify(now['status_conditions']).includes('RefNotFound');
      },
      'its condition',
      PATIENCE_MS,
    );
  });

  it('keys that came by manifests are shown beside', async () => {
    const { body } = await stage.ask('GET', '/v1/api-keys/inference');
    expect(body).toMatchObject({ creation_mode: 'auto', scopes: ['completions.write'], name: 'inference' });
    expect(JSON.stringify(body)).not.toContain(KEYS.inference);
  });
});
