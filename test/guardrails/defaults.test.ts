/** Guardrails that nobody names: of the organisation and of a workspace. And those that a request brings along. */
import { afterEach, describe, expect, it } from 'vitest';
import { failureOf, type Stage, target } from '../conformance/stage.ts';
import { apiKey, config, defaultConfig, object } from '../fakes/objects.ts';
import { chat, json } from '../fakes/replies.ts';
import { startUpstream } from '../fakes/upstream.ts';
import { BAD, guardrail, HI, LOOSE, NO_WORD, NO_WORD_INLINE, startGuarded, tell } from './stage.ts';

const ORGANISATION = 'model-gateway';
const TEAM_KEY = 'key-of-team-a-0123456789';

let stage: Stage | undefined;
afterEach(async () => {
  await stage?.close();
  stage = undefined;
});

const placed = (namespace: string, annotations: Record<string, string> = {}) => ({ namespace, annotations });
const isDefault = (namespace: string, sides: string) =>
  placed(namespace, { 'modelgateway.dev/default-guardrail': sides });
const WORD = (word: string) => [{ id: 'contains', parameters: { words: [word], operator: 'none' } }];

/** Also a workspace `team-a` with a key and a target of its own. */
async function start(manifests: string, spec: object = {}): Promise<Stage> {
  stage = await startGuarded(spec, ([upstream]) => {
    if (upstream === undefined) return '';
    return (
      defaultConfig('house', target(upstream) as object, 'team-a') + apiKey('team', TEAM_KEY, {}, 'team-a') + manifests
    );
  });
  return stage;
}

const TEAM = { 'x-gateway-api-key': TEAM_KEY };

describe('defaults', () => {
  it('of the organisation hold for every workspace, its own first, whatever the config says', async () => {
    const on = await start(
      guardrail('org', [NO_WORD], {}, isDefault(ORGANISATION, 'input')) +
        guardrail('team', [NO_WORD], {}, isDefault('team-a', 'input,output')) +
        guardrail('mine', [NO_WORD]),
      { input_guardrails: ['mine'] },
    );
    const idsOf = async (headers: Record<string, string>) => {
      const { body } = await tell(await on.gateway.chat(BAD, { ...LOOSE, ...headers }));
      const { hook_results: told } = body as { hook_results: Record<string, { id: string }[]> };
      return Object.values(told).map((results) => results.map(({ id }) => id));
    };
    expect(await idsOf(TEAM)).toEqual([['org', 'team'], ['team']]);
    expect(await idsOf({})).toEqual([['org', 'mine'], []]);
  });

  it('hold in direct mode, and for configs that a request brings along', async () => {
    const on = await start(guardrail('org', [NO_WORD], { deny: true }, isDefault(ORGANISATION, 'input')));
    const direct = { 'x-gateway-provider': 'simulator', 'x-gateway-config': '' };
    expect((await on.gateway.chat(BAD, direct)).status).toBe(446);
    const inline = { 'x-gateway-config': JSON.stringify({ provider: 'simulator', input_guardrails: [] }) };
    expect((await on.gateway.chat(BAD, inline)).status).toBe(446);
    expect((await on.gateway.chat(HI, inline)).status).toBe(200);
  });

  it('are named by the Workspace, and fail what is put to them where there are none', async () => {
    const workspace = (defaults: object) => object('Workspace', 'team-a', { defaults }, placed(ORGANISATION));
    const own = guardrail('own', [NO_WORD], { deny: true }, placed('team-a'));
    const on = await start(own + workspace({ input_guardrails: ['own'] }));
    expect((await on.gateway.chat(BAD, TEAM)).status).toBe(446);
    expect((await on.gateway.chat(BAD)).status).toBe(200);
    on.gateway.apply(on.manifests.replace('["own"]', '["gone"]'), { allowComplaints: true });
    expect(await failureOf(await on.gateway.chat(HI, TEAM))).toMatchObject({ status: 446, code: 'guardrail_failed' });
    on.gateway.apply(on.manifests.replace('"input_guardrails":["own"]', ''));
    expect((await on.gateway.chat(BAD, TEAM)).status).toBe(200);
  });

  it('of answers: org first', async () => {
    const on = await start(guardrail('org', WORD('yes'), { deny: true }, isDefault(ORGANISATION, 'output')));
    on.at(0).answer(chat({ text: 'oh yes' }));
    for (const headers of [{}, TEAM]) expect((await on.gateway.chat(HI, headers)).status).toBe(446);
  });
});

describe('sharing', () => {
  it('a guardrail of the organisation can be named where it is shared', async () => {
    const shared = placed(ORGANISATION, { 'modelgateway.dev/allowed-workspaces': 'team-a' });
    const on = await start(guardrail('shared', [NO_WORD], { deny: true }, shared));
    const naming = (namespace: string) =>
      config('naming', { provider: 'simulator', input_guardrails: ['shared'] }, { namespace });
    on.gateway.apply(on.manifests + naming('team-a') + naming('default'), { allowComplaints: true });
    const named = { 'x-gateway-config': 'naming' };
    expect((await on.gateway.chat(HI, { ...TEAM, ...named })).status).toBe(200);
    expect((await on.gateway.chat(BAD, { ...TEAM, ...named })).status).toBe(446);
    expect(await failureOf(await on.gateway.chat(HI, named))).toMatchObject({ code: 'guardrail_failed' });
  });

  it('names in a shared config mean the guardrails of its owner', async () => {
    const shared = placed(ORGANISATION, { 'modelgateway.dev/allowed-workspaces': '*' });
    const on = await start(
      guardrail('words', WORD('alpha'), { deny: true }, placed(ORGANISATION)) +
        guardrail('words', WORD('beta'), { deny: true }, placed('team-a')) +
        config('common', { provider: 'simulator', input_guardrails: ['words'] }, shared),
    );
    const statusOf = async (content: string) => {
      const body = { model: 'm', messages: [{ role: 'user', content }] };
      return (await on.gateway.chat(body, { ...TEAM, 'x-gateway-config': 'common' })).status;
    };
    expect([await statusOf('alpha'), await statusOf('beta')]).toEqual([446, 200]);
  });
});

describe('a config that a request brings along', () => {
  const inline = (config: object) => ({ 'x-gateway-config': JSON.stringify({ provider: 'simulator', ...config }) });

  it('may have checks of its own', async () => {
    const on = await start('');
    const headers = inline({ input_guardrails: [{ ...NO_WORD_INLINE, deny: true }] });
    expect((await on.gateway.chat(BAD, headers)).status).toBe(446);
    expect((await on.gateway.chat(HI, headers)).status).toBe(200);
  });

  it.each([
    [
      { input_guardrails: [{ 'default.wordCount': { maxWords: 'x' } }] },
      'config.input_guardrails[0]["default.wordCount"].maxWords must be an integer',
    ],
    [
      { strategy: { mode: 'single' }, targets: [{ provider: 'simulator', output_guardrails: [{ wordCont: {} }] }] },
      'did you mean "default.wordCount"?',
    ],
    [
      { after_request_hooks: [{ id: 'h', checks: [{ id: 'regexMatch', parameters: { rule: '(' } }] }] },
      'config.after_request_hooks[0].checks[0].parameters.rule must be',
    ],
  ])('is refused for a bad check, naming it: %j', async (config, message) => {
    const on = await start('');
    const failure = await failureOf(await on.gateway.chat(HI, inline(config)));
    expect(failure).toMatchObject({ status: 400, code: 'invalid_config' });
    expect(failure.message).toContain(message);
  });

  it('sends this gateway to no private address', async () => {
    const inside = await startUpstream(json(200, { verdict: true }));
    try {
      const on = await start('');
      const check = { 'default.webhook': { webhookURL: inside.origin } };
      const failure = await failureOf(
        await on.gateway.chat(HI, inline({ input_guardrails: [{ ...check, deny: true }] })),
      );
      expect(failure).toMatchObject({ status: 446, code: 'guardrail_failed' });
      expect(inside.calls).toHaveLength(0);
    } finally {
      await inside.close();
    }
  });
});

describe('live edits', () => {
  it('of a guardrail count for the next request, and do not touch one under way', async () => {
    const on = await start(guardrail('words', WORD('alpha'), { deny: true }), { input_guardrails: ['words'] });
    const body = { model: 'm', messages: [{ role: 'user', content: 'beta' }] };
    expect((await on.gateway.chat(body)).status).toBe(200);
    on.gateway.apply(on.manifests.replace('"alpha"', '"beta"'));
    expect((await on.gateway.chat(body)).status).toBe(446);
  });

  it('a bad one is refused: the former holds on', async () => {
    const on = await start(guardrail('words', WORD('alpha'), { deny: true }), { input_guardrails: ['words'] });
    const statuses = on.gateway.apply(on.manifests.replace('"operator":"none"', '"operator":"nun"'), {
      allowComplaints: true,
    });
    const { conditions = [] } = statuses.find(({ kind }) => kind === 'Guardrail') ?? {};
    expect(conditions.find(({ type }) => type === 'Accepted')).toMatchObject({
      status: 'False',
      message: expect.stringContaining('spec.checks[0].parameters.operator: must be one of'),
    });
    const body = { model: 'm', messages: [{ role: 'user', content: 'alpha' }] };
    expect((await on.gateway.chat(body)).status).toBe(446);
  });
});
