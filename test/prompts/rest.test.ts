/** `/v1/prompts`, partials, labels and collections of the control plane, wherever the objects are. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { waitFor } from '../fakes/wait-for.ts';
import { type Asked, type Json, type RestStage, STAGES } from '../rest/stage.ts';
import { TEAM } from '../rest/world.ts';

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[45][0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;
const ANY_ID = expect.stringMatching(UUID);
const chat = (content: string) => JSON.stringify([{ role: 'user', content }]);

describe.each(STAGES)('in %s', (_stage, startStage) => {
  let stage: RestStage;
  let made = 0;
  beforeAll(async () => {
    stage = await startStage();
  }, 60_000);
  afterAll(() => stage?.close());

  const ok = async (method: string, path: string, body?: unknown, asked: Asked = {}): Promise<Json> => {
    const answer = await stage.ask(method, path, { ...asked, ...(body === undefined ? {} : { body }) });
    if (answer.status !== 200) throw new Error(`${method} ${path}: ${answer.status} ${answer.error.message}`);
    return answer.body;
  };
  const list = async (path: string) => (await ok('GET', path)) as unknown as Json[];
  const create = async (body: Json = {}) => {
    const name = `Greeting ${++made}`;
    const answer = await ok('POST', '/v1/prompts', {
      name,
      string: chat('Hi {{name}}'),
      parameters: { temperature: 0.5 },
      ...body,
    });
    return { ...answer, id: String(answer['id']), slug: String(answer['slug']) };
  };
  /** Waits until a gateway serves what was written. */
  const rendered = async (reference: string, text: string) => {
    const path = `/v1/prompts/${encodeURIComponent(reference)}/render`;
    const said = async () => {
      const { body } = await stage.ask('POST', path, { body: { variables: { name: 'Ann' } } });
      return JSON.stringify(body['data'] ?? body['error']);
    };
    await waitFor(async () => (await said()).includes(text), `${reference} to be ${text}`, 10_000).catch(
      async (error) => {
        throw new Error(`${(error as Error).message}: it is ${await said()}`);
      },
    );
  };

  it('a new prompt has a first version, which is published', async () => {
    const { id, slug, ...rest } = await create({ model: 'gpt-4o', version_description: 'First.', workspace_id: TEAM });
    expect(rest).toEqual({ version_id: ANY_ID, object: 'prompt' });
    expect(slug).toMatch(/^greeting-\d+$/);
    for (const word of [id, slug]) {
      expect(await ok('GET', `/v1/prompts/${word}`)).toEqual({
        ...{
          id,
          slug,
          name: expect.stringMatching(/^Greeting/),
          collection_id: ANY_ID,
          model: 'gpt-4o',
          status: 'active',
        },
        ...{ created_at: expect.any(String), last_updated_at: expect.any(String), template_metadata: {} },
        ...{ string: chat('Hi {{name}}'), parameters: { temperature: 0.5 }, virtual_key: null },
        ...{ functions: [], tools: [], tool_choice: null, is_raw_template: false },
        ...{ prompt_version: 1, prompt_version_id: rest['version_id' as never], prompt_version_status: 'active' },
        ...{ prompt_version_description: 'First.', prompt_version_label_id: null },
      });
    }
    await rendered(slug, 'Hi Ann');
  });

  it('is listed, by page, search and collection', async () => {
    const { id, slug } = await create({
      name: 'Needle in the list',
      string: 'plain {{text}}',
      collection_id: 'of-the-list',
    });
    for (const query of ['search=needle', 'collection_id=of-the-list', `search=${slug}&page_size=1`]) {
      const { total, data } = (await ok('GET', `/prompts?${query}`)) as { total: number; data: Json[] };
      expect([total, data.map((one) => [one['id'], one['object']])]).toEqual([1, [[id, 'prompt']]]);
    }
    expect(await ok('GET', `/v1/prompts/${id}`)).toMatchObject({ string: 'plain {{text}}', is_raw_template: true });
  });

  it('a change is a draft, until it is made the default; the way back is the same', async () => {
    const { id, slug } = await create();
    const { prompt_version_id: draft, ...rest } = await ok('PUT', `/v1/prompts/${id}`, {
      string: chat('Bye {{name}}'),
      model: 'm',
      version_description: 'Second.',
    });
    expect([draft, rest]).toEqual([ANY_ID, { id, slug }]);
    expect(await ok('GET', `/v1/prompts/${id}`)).toMatchObject({ prompt_version: 1, string: chat('Hi {{name}}') });
    await rendered(`${slug}@latest`, 'Bye Ann');
    await rendered(slug, 'Hi Ann');
    const versions = await list(`/v1/prompts/${id}/versions`);
    expect(versions).toEqual([
      {
        ...versions[0],
        id: draft,
        prompt_id: id,
        prompt_version: 2,
        prompt_description: 'Second.',
        status: 'archived',
        object: 'prompt',
        label_id: null,
        prompt_template: { string: chat('Bye {{name}}'), model: 'm' },
      },
      {
        ...versions[1],
        prompt_version: 1,
        status: 'active',
        prompt_template: { string: chat('Hi {{name}}'), parameters: { temperature: 0.5 } },
      },
    ]);
    expect(await ok('GET', `/v1/prompts/${id}/versions/${draft}`)).toMatchObject({
      id,
      prompt_version: 2,
      prompt_version_status: 'archived',
    });
    expect(await ok('PUT', `/v1/prompts/${id}/makeDefault`, { version: 2 })).toEqual({});
    expect(await ok('GET', `/v1/prompts/${id}`)).toMatchObject({
      prompt_version: 2,
      prompt_version_status: 'active',
      parameters: {},
    });
    await rendered(slug, 'Bye Ann');
    await ok('PUT', `/v1/prompts/${slug}/makeDefault`, { version: 1 });
    await rendered(slug, 'Hi Ann');
  });

  it('patch: true takes what is missing from the newest version', async () => {
    const { id } = await create({
      model: 'm',
      virtual_key: 'main',
      tools: [{ type: 'function', function: { name: 'f' } }],
    });
    await ok('PUT', `/v1/prompts/${id}`, { patch: true, string: chat('Two') });
    await ok('PUT', `/v1/prompts/${id}`, { patch: true, model: 'n', virtual_key: null });
    const { prompt_version_id: third } = await ok('PUT', `/v1/prompts/${id}`, { patch: true, model: 'n' });
    expect(await ok('GET', `/v1/prompts/${id}/versions/${third}`)).toMatchObject({
      ...{ prompt_version: 3, string: chat('Two'), model: 'n', virtual_key: null, parameters: { temperature: 0.5 } },
      tools: [{ type: 'function', function: { name: 'f' } }],
    });
    const without = await stage.ask('PUT', `/v1/prompts/${id}`, { body: { model: 'x' } });
    expect([without.status, without.error]).toEqual([
      400,
      expect.objectContaining({ code: 'missing_field', param: 'string' }),
    ]);
  });

  it('keeps what is said of variables, and takes a text as it is where it says so', async () => {
    const variables = { name: { required: true } };
    const { id, slug } = await create({ variables });
    await waitFor(
      async () =>
        (await stage.ask('POST', `/v1/prompts/${slug}/render`, { body: { variables: {} } })).error.code ===
        'missing_variable',
      'it',
      10_000,
    );
    await ok('PUT', `/v1/prompts/${id}`, { patch: true, string: chat('{{name}}'), is_raw_template: 1 });
    const raw = await ok('GET', `/v1/prompts/${id}/versions/2`);
    expect(raw).toMatchObject({ string: chat('{{name}}'), is_raw_template: true, variables });
    await ok('PUT', `/v1/prompts/${id}`, { patch: true, string: chat('{{name}}') });
    expect(await ok('GET', `/v1/prompts/${id}/versions/3`)).toMatchObject({ is_raw_template: false });
  });

  it('a name alone makes no version', async () => {
    const { id } = await create();
    await ok('PUT', `/v1/prompts/${id}`, { name: 'Renamed', collection_id: 'elsewhere' });
    expect(await ok('GET', `/v1/prompts/${id}`)).toMatchObject({ name: 'Renamed', prompt_version: 1 });
    expect(await list(`/v1/prompts/${id}/versions`)).toHaveLength(1);
  });

  it('a label is on one version at a time', async () => {
    const { id, slug } = await create();
    const { prompt_version_id: second } = await ok('PUT', `/v1/prompts/${id}`, { patch: true, string: chat('Two') });
    const { id: label } = await ok('POST', '/v1/labels', {
      name: `beta-${made}`,
      description: 'For some.',
      color_code: '#0f8',
    });
    const first = String((await list(`/v1/prompts/${id}/versions`))[1]?.['id']);
    expect(await ok('PUT', `/v1/prompts/${id}/versions/${first}`, { label_id: label })).toEqual({});
    await rendered(`${slug}@beta-${made}`, 'Hi Ann');
    await ok('PUT', `/v1/prompts/${id}/versions/${second}`, { label_id: label });
    expect((await list(`/v1/prompts/${id}/versions`)).map((one) => one['label_id'])).toEqual([label, null]);
    await rendered(`${slug}@beta-${made}`, 'Two');
    await ok('PUT', `/v1/prompts/${id}/versions/${second}`, { label_id: null });
    expect(await ok('GET', `/v1/prompts/${id}/versions/2`)).toMatchObject({ prompt_version_label_id: null });
    await rendered(`${slug}@beta-${made}`, 'There is no prompt');
  });

  it('a deleted prompt is gone with its versions; its name begins anew', async () => {
    const { id, slug } = await create({ name: 'Short lived' });
    await ok('PUT', `/v1/prompts/${id}`, { patch: true, string: chat('Two') });
    expect(await ok('DELETE', `/v1/prompts/${id}`)).toEqual({});
    for (const path of ['', '/versions']) expect((await stage.ask('GET', `/v1/prompts/${id}${path}`)).status).toBe(404);
    await rendered(slug, 'There is no prompt');
    await create({ name: 'Short lived', string: chat('Anew {{name}}') });
    await rendered('short-lived', 'Anew Ann');
  });

  it('partials are the same, in shapes of their own', async () => {
    const created = await ok('POST', '/v1/prompts/partials', {
      name: 'Sign off',
      string: 'Yours, {{name}}',
      version_description: 'First.',
    });
    expect(created).toEqual({ id: ANY_ID, slug: 'sign-off', version_id: ANY_ID });
    const { slug } = await create({ string: chat('Hello. {{>sign-off}}') });
    await rendered(slug, 'Hello. Yours, Ann');
    const { prompt_partial_version_id: second } = await ok('PUT', '/v1/prompts/partials/sign-off', {
      string: 'Bye, {{name}}',
      description: 'Second.',
    });
    expect(await ok('GET', '/v1/prompts/partials/sign-off')).toMatchObject({
      ...{
        id: created['id'],
        slug: 'sign-off',
        name: 'Sign off',
        string: 'Yours, {{name}}',
        version: 1,
        status: 'active',
      },
      ...{ version_description: 'First.', prompt_partial_version_id: created['version_id'] },
    });
    const [newest] = await list('/v1/prompts/partials/sign-off/versions');
    expect(newest).toMatchObject({
      ...{ prompt_partial_id: created['id'], prompt_partial_version_id: second, slug: 'sign-off', version: '2' },
      ...{ string: 'Bye, {{name}}', description: 'Second.', prompt_version_status: 'archived', object: 'partial' },
    });
    await ok('PUT', '/v1/prompts/partials/sign-off/makeDefault', { version: 2 });
    await rendered(slug, 'Hello. Bye, Ann');
    expect((await list('/v1/prompts/partials')).map((one) => one['slug'])).toContain('sign-off');
    expect(await ok('DELETE', '/v1/prompts/partials/sign-off')).toEqual({});
    await rendered(slug, 'sign-off');
  });

  it('labels: three are everywhere, others can be made, changed and deleted', async () => {
    const { id } = await ok('POST', '/v1/labels', { name: 'canary', description: 'Few.' });
    const { total, data } = (await ok('GET', '/v1/labels')) as { total: number; data: Json[] };
    expect(data.slice(0, 3).map((one) => [one['name'], one['is_universal']])).toEqual([
      ['production', true],
      ['staging', true],
      ['development', true],
    ]);
    expect(total).toBe(data.length);
    expect(await ok('GET', `/v1/labels/${id}`)).toMatchObject({
      id,
      name: 'canary',
      description: 'Few.',
      is_universal: false,
      workspace_id: TEAM,
    });
    expect(await ok('PUT', `/v1/labels/${id}`, { color_code: 'red' })).toEqual({});
    expect(await ok('GET', '/v1/labels?search=canar')).toMatchObject({ total: 1, data: [{ color_code: 'red' }] });
    for (const name of ['canary', 'production', 'latest', '7', 'a b']) {
      const answer = await stage.ask('POST', '/v1/labels', { body: { name } });
      expect([name, answer.status, answer.error.param]).toEqual([name, 400, 'name']);
    }
    expect(await ok('DELETE', `/v1/labels/${id}`)).toEqual({});
    expect((await stage.ask('GET', `/v1/labels/${id}`)).status).toBe(404);
    expect((await stage.ask('GET', `/v1/labels/${data[0]?.['id']}`)).body).toMatchObject({ name: 'production' });
  });

  it('collections: one is everywhere, others can be made, changed and deleted', async () => {
    const { id, slug } = await ok('POST', '/v1/collections', { name: 'Sales texts' });
    expect(slug).toBe('sales-texts');
    const child = await ok('POST', '/v1/collections', { name: 'Cold calls', parent_collection_id: 'sales-texts' });
    await create({ collection_id: id });
    const { data } = (await ok('GET', `/v1/collections?workspace_id=${TEAM}`)) as { data: Json[] };
    expect(data[0]).toMatchObject({ slug: 'default', is_default: true });
    expect(data.find((one) => one['id'] === id)).toMatchObject({
      name: 'Sales texts',
      collection_details: { child_collections_count: 1, prompts_count: 1 },
    });
    expect(await ok('GET', `/v1/collections/${id}`)).toMatchObject({
      child_collections: [{ id: child['id'], name: 'Cold calls' }],
    });
    expect(await ok('PUT', '/v1/collections/sales-texts', { name: 'Sales' })).toEqual({});
    expect(await ok('GET', '/v1/collections/sales-texts')).toMatchObject({ id, name: 'Sales' });
    expect(await ok('DELETE', `/v1/collections/${id}`)).toEqual({});
    expect((await stage.ask('GET', `/v1/collections/${id}`)).status).toBe(404);
    expect((await stage.ask('GET', `/v1/labels/${child['id']}`)).status).toBe(404);
  });

  it.each<[body: Json, param: string | null, code?: string]>([
    [{ name: undefined }, 'name', 'missing_field'],
    [{ string: undefined }, 'string', 'missing_field'],
    [{ string: 'Hi {{name' }, 'string'],
    [{ string: chat('{{#a}}') }, 'messages[0].content'],
    [{ parameters: { model: 'x' } }, 'parameters.model'],
    [{ tools: 'x' }, 'tools'],
    [{ colour: 'red' }, 'colour'],
    [{ workspace_id: 'Team A' }, 'workspace_id'],
  ])('refuses a creation with %j', async (change, param, code = 'invalid_value') => {
    const body = { name: 'x', string: 'x', ...change };
    const answer = await stage.ask('POST', '/v1/prompts', { body });
    expect([answer.status, answer.error.param, answer.error.code]).toEqual([400, param, code]);
  });

  it('refuses what is not there, and what cannot be', async () => {
    const { id } = await create();
    const refusals: [string, string, Json | undefined, number][] = [
      ['GET', '/v1/prompts/nobody', undefined, 404],
      ['GET', `/v1/prompts/${id}/versions/9`, undefined, 404],
      ['PUT', `/v1/prompts/${id}/makeDefault`, { version: 9 }, 404],
      ['PUT', `/v1/prompts/${id}/makeDefault`, {}, 400],
      ['PUT', `/v1/prompts/${id}/makeDefault`, { version: 'one' }, 400],
      ['PUT', `/v1/prompts/${id}/versions/1`, {}, 400],
      ['PUT', `/v1/prompts/${id}/versions/1`, { label_id: '00000000-0000-4000-8000-000000000000' }, 404],
      ['PUT', `/v1/prompts/${id}`, { string: '{{/x}}' }, 400],
      ['PATCH', `/v1/prompts/${id}`, {}, 405],
    ];
    for (const [method, path, body, status] of refusals) {
      const answer = await stage.ask(method, path, body === undefined ? {} : { body });
      expect([method, path, answer.status]).toEqual([method, path, status]);
    }
  });

  it('asks for the scopes of prompts, and keeps workspaces apart', async () => {
    const { id } = await create();
    for (const [method, path, body] of [
      ['GET', '/v1/prompts', undefined],
      ['GET', `/v1/prompts/${id}`, undefined],
      ['POST', '/v1/prompts', { name: 'x', string: 'x' }],
      ['PUT', `/v1/prompts/${id}`, { name: 'y' }],
      ['DELETE', `/v1/prompts/${id}`, undefined],
      ['POST', `/v1/prompts/${id}/render`, { variables: {} }],
      ['GET', '/v1/labels', undefined],
    ] as const) {
      const answer = await stage.ask(method, path, { as: 'inference', ...(body === undefined ? {} : { body }) });
      expect([method, path, answer.status, answer.error.code]).toEqual([method, path, 403, 'missing_scope']);
    }
    for (const path of [`/v1/prompts/${id}`, `/v1/prompts/${id}/versions`])
      expect((await stage.ask('GET', path, { as: 'other' })).status).toBe(404);
    expect((await ok('GET', '/v1/prompts', undefined, { as: 'other' }))['total']).toBe(0);
  });
});
