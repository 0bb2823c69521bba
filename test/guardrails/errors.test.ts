/** G20: checks that err, hang or are not there. Nothing passes a guardrail that cannot be asked, unless it is told to let it pass. */
import { afterEach, describe, expect, it } from 'vitest';
import { failureOf, type Stage, target } from '../conformance/stage.ts';
import { config } from '../fakes/objects.ts';
import { chat, hangBeforeHeaders, json, after as later, type Reply, text } from '../fakes/replies.ts';
import { startUpstream, type Upstream } from '../fakes/upstream.ts';
import { guardrail, HI, LOOSE, lineOf, startGuarded, tell } from './stage.ts';

let stage: Stage | undefined;
let service: Upstream | undefined;
afterEach(async () => {
  await stage?.close();
  await service?.close();
  stage = undefined;
  service = undefined;
});

/** A guardrail whose one check asks a service that answers so. */
async function start(reply: Reply, parameters: object = {}, actions: object = {}): Promise<Stage> {
  const asked = await startUpstream(reply);
  service = asked;
  const check = { id: 'default.webhook', parameters: { webhookURL: asked.origin, retries: 0, ...parameters } };
  stage = await startGuarded({ input_guardrails: ['asked'] }, guardrail('asked', [check], { deny: true, ...actions }));
  return stage;
}

const YES = json(200, { verdict: true });

describe('G20 a check that comes to no verdict', () => {
  it.each([
    ['an error of the service', problemReply(500), 'The webhook answered with status 500.'],
    ['something that is no JSON', text(200, 'yes'), 'The webhook did not answer with JSON.'],
    ['JSON of another shape', json(200, { ok: true }), 'The webhook answered in an unknown shape'],
    ['a service that hangs', hangBeforeHeaders, 'It took longer than 100 ms.'],
    ['one that answers too late', later(400, YES), 'It took longer than 100 ms.'],
  ])('%s: 446 guardrail_failed', async (_what, reply, message) => {
    const on = await start(reply, { timeout: 100 });
    const began = performance.now();
    const failure = await failureOf(await on.gateway.chat(HI));
    expect(performance.now() - began).toBeLessThan(3_000);
    expect(failure).toMatchObject({ status: 446, type: 'hooks_failed', code: 'guardrail_failed' });
    expect(failure.message).toContain('default.webhook');
    expect(failure.message).toContain(message);
    expect(on.at(0).calls).toHaveLength(0);
    expect(await lineOf(on)).toMatchObject({ denied_by: 'asked/default.webhook', error: 'guardrail_failed' });
    expect(await on.gateway.metric('modelgateway_guardrail_checks_total', { verdict: 'error' })).toBe(1);
  });

  it('without deny it is a failed check like any other: 246, and the error is told', async () => {
    const on = await start(text(200, 'no'), {}, { deny: false });
    const told = await tell(await on.gateway.chat(HI));
    expect(told.status).toBe(246);
    expect(told.body).toMatchObject({
      hook_results: {
        before_request_hooks: [
          { verdict: false, checks: [{ verdict: false, error: { message: expect.any(String) }, fail_on_error: true }] },
        ],
      },
    });
  });

  it.each([
    ['the check', { failOnError: false }, {}],
    ['the guardrail', {}, { on_error: 'allow' }],
  ])('passes where %s says so, and the error is told', async (_who, parameters, actions) => {
    const on = await start(text(200, 'no'), parameters, actions);
    const told = await tell(await on.gateway.chat(HI, LOOSE));
    expect(told.status).toBe(200);
    expect(told.body).toMatchObject({
      hook_results: {
        before_request_hooks: [{ verdict: true, checks: [{ verdict: true, error: {}, fail_on_error: false }] }],
      },
    });
  });

  it('a service that fails again and again is left alone for a while', async () => {
    const on = await start(problemReply(503));
    for (let turn = 0; turn < 8; turn += 1) expect((await on.gateway.chat(HI)).status).toBe(446);
    expect(service?.calls).toHaveLength(5);
  });

  it('nobody waits longer than for the slowest: checks run side by side', async () => {
    const asked = await startUpstream(later(300, YES));
    service = asked;
    const check = { id: 'default.policy', parameters: { policyId: 'p', apiEndpoint: asked.origin, timeout: 5_000 } };
    stage = await startGuarded(
      { input_guardrails: ['one', 'two'] },
      guardrail('one', [check, check]) + guardrail('two', [check]),
    );
    const began = performance.now();
    await (await stage.gateway.chat(HI)).text();
    expect(performance.now() - began).toBeLessThan(850);
    expect(asked.calls).toHaveLength(3);
  });
});

describe('a guardrail that is not there', () => {
  it('refuses what would have been put to it, and the config says so', async () => {
    stage = await startGuarded({});
    const [first] = stage.upstreams;
    const statuses = stage.gateway.apply(
      first === undefined
        ? ''
        : config('lost', target(first, { input_guardrails: ['gone'], output_guardrails: ['gone'] })),
      { allowComplaints: true },
    );
    const resolved = statuses
      .find(({ name }) => name === 'lost')
      ?.conditions.find(({ type }) => type === 'ResolvedRefs');
    expect(resolved).toMatchObject({ status: 'False', reason: 'RefNotFound' });
    const failure = await failureOf(await stage.gateway.chat(HI, { 'x-gateway-config': 'lost' }));
    expect(failure).toMatchObject({ status: 446, code: 'guardrail_failed' });
    expect(failure.message).toContain('there is no Guardrail "gone" in default');
    expect(stage.at(0).calls).toHaveLength(0);
  });

  it('of answers: the provider was asked, its answer is not told', async () => {
    stage = await startGuarded({});
    const [first] = stage.upstreams;
    const lost =
      first === undefined ? '' : config('lost', target(first, { output_guardrails: [{ id: 'gone', deny: false }] }));
    stage.gateway.apply(lost, { allowComplaints: true });
    for (const stream of [false, true]) {
      const told = await tell(await stage.gateway.chat({ ...HI, stream }, { 'x-gateway-config': 'lost' }));
      expect(told.status).toBe(stream ? 502 : 446);
    }
  });

  it('a live edit brings it back', async () => {
    stage = await startGuarded(
      { input_guardrails: ['words'] },
      guardrail('words', [{ id: 'wordCount', parameters: { maxWords: 1 } }], { deny: true }),
    );
    const long = { model: 'm', messages: [{ role: 'user', content: 'two words' }] };
    expect((await stage.gateway.chat(long)).status).toBe(446);
    stage.gateway.apply(stage.manifests.replace('"maxWords":1', '"maxWords":2'));
    expect((await stage.gateway.chat(long)).status).toBe(200);
    stage.at(0).answer(chat());
  });
});

function problemReply(status: number): Reply {
  return json(status, { error: 'no' });
}
