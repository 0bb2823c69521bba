/** What holds for every resource of the control plane, wherever its objects are. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { isControlPlanePath } from '#crds/http/control-plane-paths.ts';
import { SCOPES } from '#crds/kinds/scopes.ts';
import { RESOURCES } from '#operator/rest/resources/resources.ts';
import { ROUTES } from '#operator/rest/routes.ts';
import { bodyOf, SAMPLES } from './samples.ts';
import { type Answer, type Json, type RestStage, STAGES } from './stage.ts';
import { OTHER, TEAM } from './world.ts';

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[45][0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;
const TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z$/;

describe('the table of resources', () => {
  it('has a sample for each', () => {
    const alike = RESOURCES.filter(({ operations }) => operations === undefined);
    expect(SAMPLES.map(({ path }) => path)).toEqual(alike.map(({ path }) => `/v1${path}`));
  });

  it('lies below what gateways hand on', () => {
    for (const { path } of ROUTES) {
      expect(isControlPlanePath(path), path).toBe(true);
      expect(isControlPlanePath(`/v1${path}`), path).toBe(true);
    }
    for (const path of ['/v1/policiesx', '/v1/api-keysx', '/v2/policies', '/v1', '/', '/v1/chat/completions'])
      expect(isControlPlanePath(path), path).toBe(false);
  });

  it('asks for scopes that there are', () => {
    for (const row of RESOURCES)
      for (const action of ['create', 'read', 'list', 'update', 'delete'] as const)
        for (const scope of row.scopes(action)) expect([...SCOPES.keys()]).toContain(scope);
  });
});

function list({ body }: Answer): readonly Json[] {
  return body['data'] as readonly Json[];
}

describe.each(STAGES)('in %s', (_stage, startStage) => {
  let stage: RestStage;
  beforeAll(async () => {
    stage = await startStage();
  }, 60_000);
  afterAll(() => stage?.close());

  describe.each(SAMPLES)('$path', (sample) => {
    const { path, createPath } = sample;
    let made = 0;
    const create = async (name = `Of the suite ${++made}`, more: Json = {}) => {
      const answer = await stage.ask('POST', createPath, { body: bodyOf(sample, name, more) });
      expect(answer.body).toMatchObject({ id: expect.stringMatching(UUID) });
      return String(answer.body['id']);
    };

    it('a new object has an id, by which it is read, with all that was said of it', async () => {
      const answer = await stage.ask('POST', createPath, { body: bodyOf(sample, 'Gold: Ünïque!') });
      expect(answer.status).toBe(200);
      expect(answer.body).toMatchObject({ id: expect.stringMatching(UUID), object: sample.created });
      expect(answer.headers.get('content-type')).toBe('application/json');
      expect(answer.headers.get('x-request-id')).toMatch(/^req_/);
      expect(answer.headers.get('x-gateway-trace-id')).toMatch(/^[0-9a-f]{32}$/);
      const { body, status } = await stage.ask('GET', `${path}/${answer.body['id']}`);
      expect(status).toBe(200);
      expect(body).toMatchObject({
        ...sample.whole,
        id: answer.body['id'],
        name: 'Gold: Ünïque!',
        workspace_id: TEAM,
        organisation_id: expect.stringMatching(UUID),
        created_at: expect.stringMatching(TIME),
        last_updated_at: expect.stringMatching(TIME),
        object: expect.any(String),
        status_conditions: expect.any(Array),
      });
      expect(String(body['last_updated_at']) >= String(body['created_at'])).toBe(true);
    });

    it('is found by its name too, and the second of a name has another', async () => {
      const first = await create('Twice The Same');
      const second = await create('Twice The Same');
      expect(second).not.toBe(first);
      expect((await stage.ask('GET', `${path}/twice-the-same`)).body['id']).toBe(first);
      expect((await stage.ask('GET', `${path}/${second}`)).body['name']).toBe('Twice The Same');
    });

    it('answers without /v1 as well', async () => {
      const id = await create();
      const bare = path.replace('/v1', '');
      expect((await stage.ask('GET', `${bare}/${id}`)).body['id']).toBe(id);
      expect((await stage.ask('GET', bare)).body['object']).toBe('list');
      const made = await stage.ask('POST', createPath.replace('/v1', ''), { body: bodyOf(sample, 'Bare') });
      expect(made.status).toBe(200);
    });

    it('lists what there is, oldest first, page by page', async () => {
      const ids = [await create(), await create(), await create()];
      const whole = await stage.ask('GET', path);
      expect(whole).toMatchObject({ status: 200, body: { object: 'list' } });
      const all = list(whole).map(({ id }) => id);
      expect(whole.body['total']).toBe(all.length);
      expect(ids.every((id) => all.includes(id))).toBe(true);
      const times = list(whole).map((one) => String(one['created_at']));
      expect(times).toEqual([...times].sort());
      const pages = [];
      for (let page = 0; pages.length < all.length; page += 1) {
        const answer = await stage.ask('GET', `${path}?page_size=2&current_page=${page}`);
        expect(answer.body['total']).toBe(all.length);
        const found = list(answer).map(({ id }) => id);
        expect(found.length).toBe(Math.min(2, all.length - pages.length));
        pages.push(...found);
      }
      expect(pages).toEqual(all);
    });

    it.each([
      ['page_size=0', 0],
      ['page_size=1&current_page=1000000', 0],
      ['page_size=1', 1],
      ['page_size=&current_page=', undefined],
      ['unknown=1', undefined],
    ])('?%s gives its part and the total', async (query, length) => {
      await create();
      const answer = await stage.ask('GET', `${path}?${query}`);
      expect(answer.status).toBe(200);
      expect(answer.body['total']).toBeGreaterThan(0);
      expect(list(answer)).toHaveLength(length ?? Number(answer.body['total']));
    });

    it.each([
      ['page_size=-1', 'page_size'],
      ['page_size=many', 'page_size'],
      ['page_size=1.5', 'page_size'],
      ['current_page=-1', 'current_page'],
      ['current_page=1e3', 'current_page'],
      ['page_size=1&page_size=2', 'page_size'],
      ['workspace_id=No%20Name', 'workspace_id'],
    ])('?%s is a 400 that names %s', async (query, param) => {
      const { status, error } = await stage.ask('GET', `${path}?${query}`);
      expect({ status, error }).toMatchObject({ status: 400, error: { code: 'invalid_value', param } });
      expect(error.message).toContain(param);
    });

    it('is changed by what a PUT says, and by nothing else', async () => {
      const id = await create();
      const before = (await stage.ask('GET', `${path}/${id}`)).body;
      const { status, body } = await stage.ask('PUT', `${path}/${id}`, { body: sample.update });
      expect({ status, body }).toMatchObject({ status: 200, body: { id, ...sample.updated } });
      const after = (await stage.ask('GET', `${path}/${id}`)).body;
      expect(after).toMatchObject({ id, ...sample.updated, created_at: before['created_at'] });
      const same = await stage.ask('PUT', `${path}/${id}`, { body: {} });
      expect(same).toMatchObject({ status: 200, body: { id, ...sample.updated } });
    });

    it('of many PUTs at once none is lost', async () => {
      const id = await create();
      const names = Array.from({ length: 6 }, (_, index) => `At once ${index}`);
      const answers = await Promise.all(names.map((name) => stage.ask('PUT', `${path}/${id}`, { body: { name } })));
      for (const { status } of answers) expect([200, 409]).toContain(status);
      const done = answers.flatMap(({ status }, index) => (status === 200 ? [names[index]] : []));
      expect(done).toContain((await stage.ask('GET', `${path}/${id}`)).body['name']);
    });

    it('ends by a DELETE', async () => {
      const id = await create();
      const { status, body } = await stage.ask('DELETE', `${path}/${id}`);
      expect(status).toBe(200);
      expect(list(await stage.ask('GET', path)).map((one) => one['id'])).not.toContain(id);
      if (sample.removal === 'delete') {
        expect(await stage.ask('GET', `${path}/${id}`)).toMatchObject({ status: 404 });
        expect(await stage.ask('DELETE', `${path}/${id}`)).toMatchObject({ status: 404 });
        return;
      }
      expect(body).toMatchObject({ id, status: 'archived' });
      expect((await stage.ask('GET', `${path}/${id}`)).body['status']).toBe('archived');
      expect(await stage.ask('GET', `${path}/${id}?status=active`)).toMatchObject({ status: 404 });
      const archived = list(await stage.ask('GET', `${path}?status=archived`));
      expect(archived.map((one) => one['id'])).toContain(id);
      expect(new Set(archived.map((one) => one['status']))).toEqual(new Set(['archived']));
      expect(await stage.ask('DELETE', `${path}/${id}`)).toMatchObject({ status: 200 });
    });

    it.each(['no-such-object', '0b1c1f0e-5a8e-4d0f-9d3a-2f6e7c4b8a91', 'x'.repeat(300), '%20', '__proto__', 'a%2Fb'])(
      'an unknown id %s is a 404',
      async (id) => {
        for (const [method, body] of [['GET'], ['PUT', {}], ['DELETE']] as const) {
          const { status, error } = await stage.ask(method, `${path}/${id}`, { body });
          expect({ method, status, code: error.code }).toEqual({ method, status: 404, code: 'unknown_object' });
        }
      },
    );

    it.each(sample.bad.map(([change, param, code = 'invalid_value']) => [change, param, code] as const))(
      'a body with %j is a 400 that names %s',
      async (change, param, code) => {
        const { status, error } = await stage.ask('POST', createPath, { body: bodyOf(sample, 'Bad', change) });
        expect({ status, error }).toMatchObject({ status: 400, error: { code, param } });
        expect(error.message).toContain(param.replace(/\[\d\]$/, ''));
        expect(error.message.length).toBeGreaterThan(param.length + 5);
      },
    );

    it.each(sample.badUpdates)('a change to %j is a 400 that names %s', async (change, param) => {
      const id = await create();
      const before = (await stage.ask('GET', `${path}/${id}`)).body;
      const { status, error } = await stage.ask('PUT', `${path}/${id}`, { body: change });
      expect({ status, error: { param: error.param } }).toEqual({ status: 400, error: { param } });
      const after = (await stage.ask('GET', `${path}/${id}`)).body;
      expect({ ...after, status_conditions: 0 }).toEqual({ ...before, status_conditions: 0 });
    });

    it.each([
      ['', 400, 'invalid_json'],
      ['{', 400, 'invalid_json'],
      ['[]', 400, 'invalid_json'],
      ['null', 400, 'invalid_json'],
      ['"x"', 400, 'invalid_json'],
      ['{"__proto__": {"a": 1}}', 400, 'invalid_json'],
      [`{"a":${'['.repeat(5_000)}${']'.repeat(5_000)}}`, 400, 'too_deep'],
      [JSON.stringify({ name: 'x'.repeat(1_100_000) }), 413, 'body_too_large'],
    ])('the body %.30s is refused: %i %s', async (body, status, code) => {
      const answer = await stage.ask('POST', createPath, { body, headers: { 'content-type': 'application/json' } });
      expect({ status: answer.status, code: answer.error.code }).toEqual({ status, code });
    });

    it('takes JSON alone', async () => {
      const body = JSON.stringify(bodyOf(sample, 'Text'));
      for (const headers of [{ 'content-type': 'text/plain' }, { 'content-encoding': 'gzip' }])
        expect(await stage.ask('POST', createPath, { body, headers })).toMatchObject({
          status: 415,
          error: { code: 'unsupported_media_type' },
        });
    });

    it.each(['PUT', 'DELETE'])('a wrong method, %s, is a 405 that says which are right', async (method) => {
      const { status, headers, error } = await stage.ask(method, path, { as: '' });
      expect({ status, code: error.code }).toEqual({ status: 405, code: 'method_not_allowed' });
      expect(headers.get('allow')?.split(', ')).toContain('GET');
    });

    it('asks for a key that is known and holds', async () => {
      const bodies = [];
      for (const asked of [{ as: '' }, { key: 'nobody' }, { key: 'x'.repeat(5_000) }, { as: 'expired' }] as const) {
        const { status, body } = await stage.ask('GET', path, asked);
        expect(status).toBe(401);
        bodies.push(JSON.stringify(body));
      }
      expect(new Set(bodies).size).toBe(1);
      expect(bodies[0]).toContain('invalid_api_key');
      const post = await stage.ask('POST', createPath, { key: 'nobody', body: '{' });
      expect(post.status, 'before the body is looked at').toBe(401);
    });

    it('asks for the scope of what is done', async () => {
      const id = await create();
      const asks = [
        ['POST', createPath, bodyOf(sample, 'No')],
        ['PUT', `${path}/${id}`, sample.update],
        ['DELETE', `${path}/${id}`, undefined],
      ] as const;
      for (const [method, at, body] of asks) {
        const { status, error } = await stage.ask(method, at, { as: 'reader', body });
        expect({ method, status, code: error.code }).toEqual({ method, status: 403, code: 'missing_scope' });
      }
      expect(await stage.ask('GET', `${path}/${id}`, { as: 'reader' })).toMatchObject({ status: 200 });
      expect(await stage.ask('GET', path, { as: 'reader' })).toMatchObject({ status: 200 });
      for (const at of [path, `${path}/${id}`])
        expect(await stage.ask('GET', at, { as: 'inference' })).toMatchObject({
          status: 403,
          error: { code: 'missing_scope' },
        });
    });

    it('a workspace is out of reach of the keys of another', async () => {
      const id = await create('Ours alone');
      const elsewhere = { as: 'other' } as const;
      expect(list(await stage.ask('GET', path, elsewhere)).map((one) => one['id'])).not.toContain(id);
      for (const which of [id, 'ours-alone']) {
        for (const [method, body] of [['GET'], ['PUT', {}], ['DELETE']] as const)
          expect(await stage.ask(method, `${path}/${which}`, { ...elsewhere, body })).toMatchObject({ status: 404 });
      }
      for (const [method, at, body] of [
        ['GET', `${path}?workspace_id=${TEAM}`, undefined],
        ['GET', `${path}/${id}?workspace_id=${TEAM}`, undefined],
        ['POST', createPath, bodyOf(sample, 'Theirs')],
      ] as const)
        expect(await stage.ask(method, at, { ...elsewhere, body })).toMatchObject({
          status: 403,
          error: { code: 'workspace_not_allowed', param: 'workspace_id' },
        });
      expect((await stage.ask('GET', `${path}/${id}`)).body['name']).toBe('Ours alone');
    });

    it('the organisation reaches every workspace, and says which', async () => {
      const as = 'organisation';
      const without = await stage.ask('POST', createPath, {
        as,
        body: { ...bodyOf(sample, 'Where'), workspace_id: null },
      });
      expect(without).toMatchObject({ status: 400, error: { code: 'missing_field', param: 'workspace_id' } });
      const ids = [];
      for (const workspace of [TEAM, OTHER]) {
        const body = bodyOf(sample, 'In both', { workspace_id: workspace });
        ids.push((await stage.ask('POST', createPath, { as, body })).body['id']);
      }
      const all = list(await stage.ask('GET', path, { as }));
      expect(ids.every((id) => all.some((one) => one['id'] === id))).toBe(true);
      const there = list(await stage.ask('GET', `${path}?workspace_id=${OTHER}`, { as }));
      expect(new Set(there.map((one) => one['workspace_id']))).toEqual(new Set([OTHER]));
      expect((await stage.ask('GET', `${path}/${ids[1]}`, { as })).body['workspace_id']).toBe(OTHER);
      expect(await stage.ask('GET', `${path}/in-both`, { as })).toMatchObject({
        status: 400,
        error: { code: 'invalid_value', param: 'workspace_id' },
      });
      const named = await stage.ask('GET', `${path}/in-both?workspace_id=${OTHER}`, { as });
      expect(named.body['id']).toBe(ids[1]);
    });

    it('what somebody else keeps is read, and a change names who keeps it', async () => {
      const { foreign } = sample;
      const { status, body } = await stage.ask('GET', `${path}/${foreign}`);
      expect({ status, id: body['id'] }).toEqual({ status: 200, id: expect.stringMatching(UUID) });
      const { reset_usage: _, ...update } = sample.update;
      for (const [method, body] of [['PUT', { ...update, name: 'Mine now' }], ['DELETE']] as const) {
        const { status, error } = await stage.ask(method, `${path}/${foreign}`, { body });
        expect({ method, status, code: error.code }).toEqual({ method, status: 409, code: 'owned_elsewhere' });
        expect(error.message).toMatch(stage.keeper);
      }
      expect(await stage.ask('GET', `${path}/${foreign}`)).toMatchObject({ body: { id: body['id'] } });
    });
  });

  it.each(['/v1/policies', '/v1/policies/', '/policies/x', '/v1/api-keys/a/b/c', '/v1/policies/rate-limits/a/b'])(
    'there is nothing at %s',
    async (path) => {
      const { status, error } = await stage.ask('GET', path, { as: '' });
      expect({ status, code: error.code }).toEqual({ status: 404, code: 'unknown_path' });
    },
  );
});
