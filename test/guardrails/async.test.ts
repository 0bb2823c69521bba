/** Guardrails that run beside requests, never against them. */
import { afterEach, describe, expect, it } from 'vitest';
import type { Stage } from '../conformance/stage.ts';
import { chat, chatStream, gated, json } from '../fakes/replies.ts';
import { startUpstream, type Upstream } from '../fakes/upstream.ts';
import { waitFor } from '../fakes/wait-for.ts';
import { BAD, guardrail, HI, LOOSE, NO_WORD, startGuarded, tell } from './stage.ts';

const ASYNC = { async: true, deny: true, on_fail: { feedback: { value: -7, weight: 0.5 } } };

let stage: Stage | undefined;
let service: Upstream | undefined;
afterEach(async () => {
  await stage?.close();
  await service?.close();
  stage = undefined;
  service = undefined;
});

async function lineAbout(on: Stage, type: string): Promise<Record<string, unknown> | undefined> {
  let found: Record<string, unknown> | undefined;
  await waitFor(async () => {
    found = (await on.gateway.logs()).find((line) => line['type'] === type);
    return found !== undefined;
  }, `a line of type ${type}`);
  return found;
}

describe('an asynchronous guardrail', () => {
  it.each([
    ['request', { input_guardrails: ['beside'] }, BAD],
    ['answer', { output_guardrails: ['beside'] }, HI],
  ])('of the %s changes no answer; log, metrics and feedback tell its verdict', async (_side, spec, body) => {
    stage = await startGuarded(spec, guardrail('beside', [NO_WORD], ASYNC));
    const on = stage;
    on.at(0).answer(chat({ text: 'forbidden' }));
    const told = await tell(await on.gateway.chat(body));
    expect([told.status, told.text.includes('hook_results')]).toEqual([200, false]);
    expect(await lineAbout(on, 'guardrail')).toMatchObject({
      guardrail: 'beside',
      verdict: false,
      failed_checks: 'default.contains',
      trace_id: told.headers.get('x-gateway-trace-id'),
    });
    expect(await lineAbout(on, 'feedback')).toMatchObject({ source: 'hook', hook: 'beside', value: -7, weight: 0.5 });
    expect(await on.gateway.metric('modelgateway_guardrail_checks_total', { verdict: 'fail' })).toBe(1);
    expect(await on.gateway.metric('modelgateway_feedback_total', { source: 'hook', value: '-7' })).toBe(1);
  });

  it('of a stream is asked about all of it', async () => {
    stage = await startGuarded({ output_guardrails: ['beside'] }, guardrail('beside', [NO_WORD], ASYNC));
    const on = stage;
    on.at(0).answer(chatStream({ text: 'a forb' + 'idden word' }));
    const told = await tell(await on.gateway.chat({ ...HI, stream: true }));
    expect(told.text.endsWith('data: [DONE]\n\n')).toBe(true);
    expect(await lineAbout(on, 'guardrail')).toMatchObject({ verdict: false });
  });

  it('is waited for by nobody, and named in hook_results without a verdict', async () => {
    const slow = gated(json(200, { verdict: false }));
    const asked = await startUpstream(slow.reply);
    service = asked;
    const check = { id: 'webhook', parameters: { webhookURL: asked.origin } };
    stage = await startGuarded({ input_guardrails: ['beside'] }, guardrail('beside', [check], { async: true }));
    const on = stage;
    const told = await tell(await on.gateway.chat(HI, LOOSE));
    expect(told.body).toMatchObject({
      hook_results: { before_request_hooks: [{ id: 'beside', async: true, verdict: true, checks: [] }] },
    });
    slow.open();
    expect(await lineAbout(on, 'guardrail')).toMatchObject({ guardrail: 'beside', verdict: false });
  });

  it('rewrites nothing', async () => {
    const prefix = { id: 'addPrefix', parameters: { prefix: '> ' } };
    stage = await startGuarded({ input_guardrails: ['beside'] }, guardrail('beside', [prefix], { async: true }));
    const on = stage;
    await (await on.gateway.chat(HI)).text();
    expect(on.at(0).json()).toEqual(HI);
  });

  it('so many at a time: the rest is left out, and the log says so', async () => {
    const slow = gated(json(200, { verdict: true }));
    const asked = await startUpstream(slow.reply);
    service = asked;
    const check = { id: 'webhook', parameters: { webhookURL: asked.origin, timeout: 30_000 } };
    stage = await startGuarded({ input_guardrails: ['beside'] }, guardrail('beside', [check], { async: true }));
    const on = stage;
    const answers = await Promise.all(Array.from({ length: 70 }, () => on.gateway.chat(HI)));
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200]));
    const left = (await on.gateway.logs()).filter(({ msg }) => msg === 'guardrail left out');
    expect(left).toHaveLength(6);
    slow.open();
  });
});
