/** Objects of the organisation's namespace that others may use, by annotation or by their spec; defaults, and who has them first. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { conditionOf } from '#operator/compile/status.ts';
import { apiKey, config, defaultConfig, object, secret } from '../fakes/objects.ts';
import type { Upstream } from '../fakes/upstream.ts';
import { failureOf, HI, type Stage, startStage, target } from './stage.ts';

const TEAMS = ['team-a', 'team-b', 'team-c', 'model-gateway'] as const;
type Team = (typeof TEAMS)[number];
const keyOf = (team: Team) => `sharing-key-of-${team}`;
const shared = (value: string) => ({
  namespace: 'model-gateway',
  annotations: { 'modelgateway.dev/allowed-workspaces': value },
});

/** How an object is shared, and which teams may use it then; the organisation always may. */
const RULES: readonly (readonly [name: string, spec: object, placing: object, teams: readonly Team[]])[] = [
  ['by-nobody', {}, { namespace: 'model-gateway' }, []],
  ['by-all', {}, shared('*'), ['team-a', 'team-b', 'team-c']],
  ['by-one', {}, shared('team-a'), ['team-a']],
  ['by-two', {}, shared('team-a,team-c'), ['team-a', 'team-c']],
  ['by-two-spaced', {}, shared(' team-a , team-c '), ['team-a', 'team-c']],
  ['spec-all', { allow_all_workspaces: true }, { namespace: 'model-gateway' }, ['team-a', 'team-b', 'team-c']],
  ['spec-one', { allowed_workspaces: ['team-b'] }, { namespace: 'model-gateway' }, ['team-b']],
];
const CONFIG_RULES = RULES.filter(([name]) => name.startsWith('by-'));

let stage: Stage;
beforeAll(async () => {
  stage = await startStage(1, ([upstream]) => {
    const up = upstream as Upstream;
    const integration = {
      provider: 'openai',
      configurations: { custom_host: `${up.origin}/v1` },
      secret_mappings: [{ target_field: 'api_key', secret_name: 'creds', secret_key: 'key' }],
    };
    return [
      secret('creds', { key: 'organisation-key' }, 'model-gateway'),
      ...TEAMS.map((team) => apiKey(`caller-${team}`, keyOf(team), {}, team)),
      ...RULES.map(([name, spec, placing]) => object('Integration', name, { ...integration, ...spec }, placing)),
      ...CONFIG_RULES.map(([name, , placing]) => config(name, target(up), placing)),
    ].join('');
  });
});
afterAll(() => stage.close());

function ask(team: Team, headers: Record<string, string>): Promise<Response> {
  return stage.gateway.chat(HI, { 'x-gateway-api-key': keyOf(team), ...headers });
}

const INTEGRATIONS = RULES.flatMap(([name, , , teams]) =>
  TEAMS.map((team) => [name, team, team === 'model-gateway' || teams.includes(team)] as const),
);
const CONFIGS = CONFIG_RULES.flatMap(([name, , , teams]) =>
  TEAMS.map((team) => [name, team, team === 'model-gateway' || teams.includes(team)] as const),
);

describe('an Integration of the organisation', () => {
  it.each(INTEGRATIONS)('shared %s is for %s: %s', async (name, team, may) => {
    const response = await ask(team, { 'x-gateway-provider': `@${name}` });
    if (may) {
      expect(response.status).toBe(200);
      expect(stage.at(0).calls.at(-1)?.headers.authorization).toBe('Bearer organisation-key');
    } else expect(await failureOf(response)).toMatchObject({ status: 400, code: 'unknown_slug' });
  });
});

describe('a config of the organisation', () => {
  it.each(CONFIGS)('shared %s is for %s: %s', async (name, team, may) => {
    const response = await ask(team, { 'x-gateway-config': name });
    if (may) expect(response.status).toBe(200);
    else expect(await failureOf(response)).toMatchObject({ status: 400, code: 'unknown_config' });
  });
});

describe('what cannot be shared so', () => {
  it.each([
    [
      'an object of a workspace',
      { namespace: 'team-b', annotations: { 'modelgateway.dev/allowed-workspaces': '*' } },
      'NotShareable',
    ],
    ['with an empty list', shared(''), 'InvalidAnnotation'],
    ['with names that are none', shared('Team A!'), 'InvalidAnnotation'],
  ])('%s is refused alone, and says why', async (_what, placing, reason) => {
    const own = await startStage(0);
    try {
      const statuses = own.gateway.apply(
        config('odd', { provider: 'simulator' }, placing) + defaultConfig('fine', { provider: 'simulator' }),
        {
          allowComplaints: true,
        },
      );
      const odd = statuses.find(({ name }) => name === 'odd');
      expect(odd === undefined ? undefined : conditionOf(odd, 'Accepted')).toMatchObject({ status: 'False', reason });
      expect((await own.gateway.chat(HI)).status).toBe(200);
    } finally {
      await own.close();
    }
  });
});

describe('two defaults of a workspace', () => {
  it('are a conflict: the first serves, the second says so', async () => {
    const own = await startStage(0);
    try {
      const sim = (model: string) => ({ provider: 'simulator', override_params: { model } });
      const statuses = own.gateway.apply(
        defaultConfig('first', sim('echo')) + defaultConfig('second', sim('status-500')),
        { allowComplaints: true },
      );
      const accepted = (name: string) => {
        const status = statuses.find((candidate) => candidate.name === name);
        return status === undefined ? undefined : conditionOf(status, 'Accepted');
      };
      expect(accepted('first')).toMatchObject({ status: 'True' });
      expect(accepted('second')).toMatchObject({
        status: 'False',
        reason: 'Conflicted',
        message: expect.stringContaining('first'),
      });
      expect((await own.gateway.chat(HI)).status).toBe(200);
    } finally {
      await own.close();
    }
  });
});
