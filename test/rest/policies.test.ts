/** What is peculiar to policies: filters of the list, what is about every workspace, and that a policy is in force soon. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { waitFor } from '../fakes/wait-for.ts';
import { type Json, type RestStage, STAGES } from './stage.ts';
import { KEYS, ORGANISATION, OTHER, TEAM } from './world.ts';

const RATES = '/v1/policies/rate-limits';
const BUDGETS = '/v1/policies/usage-limits';
const PATIENCE_MS = 15_000;

const about = (tier: string): Json => ({
  conditions: [{ key: 'metadata.tier', value: tier }],
  group_by: [{ key: 'api_key' }],
});

describe.each(STAGES)('in %s', (_stage, startStage) => {
  let stage: RestStage;
  beforeAll(async () => {
    stage = await startStage();
  }, 60_000);
  afterAll(() => stage?.close());

  const create = async (path: string, body: Json, as: 'team' | 'organisation' = 'team'): Promise<string> => {
    const answer = await stage.ask('POST', path, { as, body });
    expect(answer.body).toMatchObject({ id: expect.any(String) });
    return String(answer.body['id']);
  };
  const ids = async (path: string, query: string): Promise<unknown[]> => {
    const { body } = await stage.ask('GET', `${path}?${query}`);
    return (body['data'] as Json[]).map(({ id }) => id);
  };

  it('rate limits are told apart by type, unit and status', async () => {
    const made: [string, string, string][] = [];
    for (const type of ['requests', 'tokens'])
      for (const unit of ['rpm', 'rph', 'rpd', 'rpw'])
        made.push([await create(RATES, { ...about(`${type} ${unit}`), type, unit, value: 1e6 }), type, unit]);
    const matching = (holds: (type: string, unit: string) => boolean) =>
      made.filter(([, type, unit]) => holds(type, unit)).map(([id]) => id);
    const all = made.map(([id]) => id);
    for (const [query, holds] of [
      ['type=tokens', (type) => type === 'tokens'],
      ['unit=rpw', (_type, unit) => unit === 'rpw'],
      ['type=requests&unit=rph', (type, unit) => type === 'requests' && unit === 'rph'],
      ['status=active', () => true],
      ['status=archived', () => false],
    ] as [string, (type: string, unit: string) => boolean][])
      expect((await ids(RATES, query)).filter((id) => all.includes(String(id))).sort(), query).toEqual(
        matching(holds).sort(),
      );
  });

  it.each([
    [RATES, 'status=gone', 'status'],
    [RATES, 'type=cost', 'type'],
    [RATES, 'unit=rps', 'unit'],
    [BUDGETS, 'type=requests', 'type'],
    [`${RATES}/by-hand`, 'status=gone', 'status'],
    [`${BUDGETS}/by-hand`, 'include_usage=perhaps', 'include_usage'],
  ])('%s?%s is a 400 that names %s', async (path, query, param) => {
    expect(await stage.ask('GET', `${path}?${query}`)).toMatchObject({
      status: 400,
      error: { code: 'invalid_value', param, message: expect.stringContaining('must be one of') },
    });
  });

  it('budgets are told apart by type', async () => {
    const id = await create(BUDGETS, { ...about('cost'), type: 'cost', credit_limit: 1e6 });
    expect(await ids(BUDGETS, 'type=cost')).toContain(id);
    expect(await ids(BUDGETS, 'type=tokens')).not.toContain(id);
  });

  it('one way for a budget to begin anew takes the place of another', async () => {
    const id = await create(BUDGETS, { ...about('anew'), type: 'cost', credit_limit: 9, periodic_reset: 'weekly' });
    const put = async (body: Json) => (await stage.ask('PUT', `${BUDGETS}/${id}`, { body })).body;
    const days = { periodic_reset_days: 3, next_usage_reset_at: '2030-01-01T12:00:00Z' };
    expect(await put(days)).toMatchObject({ periodic_reset_days: 3, next_usage_reset_at: expect.stringMatching(/Z$/) });
    expect((await put(days))['periodic_reset']).toBeUndefined();
    expect(await put({ periodic_reset: 'monthly' })).toMatchObject({
      periodic_reset: 'monthly',
      periodic_reset_days: null,
    });
    expect(await put({ periodic_reset: null })).toMatchObject({ next_usage_reset_at: null, periodic_reset_days: null });
  });

  it('what is about every workspace is for the organisation alone', async () => {
    const body = { ...about('everywhere'), type: 'requests', unit: 'rpd', value: 1e6, workspace_id: ORGANISATION };
    const id = await create(RATES, body, 'organisation');
    for (const [method, path, sent] of [
      ['POST', RATES, body],
      ['PUT', `${RATES}/${id}`, { value: 1 }],
      ['DELETE', `${RATES}/${id}`, undefined],
    ] as const)
      expect(await stage.ask(method, path, { as: 'house', body: sent })).toMatchObject({
        status: 403,
        error: { code: 'workspace_not_allowed' },
      });
    expect(await stage.ask('GET', `${RATES}/${id}`, { as: 'house' })).toMatchObject({ status: 200 });
    expect(await stage.ask('DELETE', `${RATES}/${id}`, { as: 'organisation' })).toMatchObject({ status: 200 });
  });

  it('a rate limit limits soon, changes soon, and ends soon', async () => {
    const body = { name: 'For others', type: 'requests', unit: 'rpd', value: 0, group_by: [{ key: 'api_key' }] };
    const conditions = [{ key: 'api_key', value: 'other' }];
    const as = 'organisation';
    const made = await stage.ask('POST', RATES, { as, body: { ...body, conditions, workspace_id: OTHER } });
    const answers = (status: number) =>
      waitFor(async () => (await stage.chat(KEYS.other)) === status, `status ${status}`, PATIENCE_MS);
    await answers(429);
    const path = `${RATES}/${made.body['id']}`;
    expect(await stage.ask('PUT', path, { as, body: { value: 1_000 } })).toMatchObject({ status: 200 });
    await answers(200);
    await stage.ask('PUT', path, { as, body: { value: 0 } });
    await answers(429);
    expect(await stage.ask('DELETE', path, { as })).toMatchObject({ status: 200 });
    await answers(200);
    expect(await stage.chat(KEYS.team), `which is in ${TEAM}`).toBe(200);
  });
});
