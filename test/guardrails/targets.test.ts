/** Guardrails of targets: inheritance, fallback, retries, circuits, limits. */
import { afterEach, describe, expect, it } from 'vitest';
import { type Stage, startStage, target } from '../conformance/stage.ts';
import { config } from '../fakes/objects.ts';
import { openAiEvents } from '../fakes/openai-wire.ts';
import { chat, chatStream, pieces, type Reply } from '../fakes/replies.ts';
import type { Upstream } from '../fakes/upstream.ts';
import { rateLimit } from '../limits/stage.ts';
import { BAD, guardrail, HI, LOOSE, lineOf, NO_WORD, REDACT, startGuarded, type Told, tell } from './stage.ts';

const GUARDS =
  guardrail('deny', [NO_WORD], { deny: true }) +
  guardrail('tell', [NO_WORD]) +
  guardrail('redact', [REDACT]) +
  guardrail('watch', [NO_WORD], { deny: true, stream: 'watch' });
const FORBIDDEN = chat({ text: 'forbidden' });
const FINE = chat({ text: 'fine' });

let stage: Stage | undefined;
afterEach(async () => {
  await stage?.close();
  stage = undefined;
});

/** The config `tree`, two upstreams of which are its targets. */
async function start(spec: object, first: object = {}, second: object = {}, more = ''): Promise<Stage> {
  stage = await startStage(2, ([one, two]) => {
    const targets = [target(one as Upstream, first), target(two as Upstream, second)];
    return GUARDS + config('tree', { strategy: { mode: 'fallback' }, ...spec, targets }) + more;
  });
  return stage;
}

/** All in one piece, or a word at a time. */
function cutStream(gapMs: number): Reply {
  const events = openAiEvents({ text: `${'word '.repeat(200)} forbidden ${'word '.repeat(400)}` });
  return gapMs === 0 ? pieces([events.join('')]) : pieces(events, { gapMs });
}

async function ask(on: Stage, body: object = HI, headers: Record<string, string> = {}): Promise<Told> {
  return tell(await on.gateway.chat(body, { 'x-gateway-config': 'tree', ...headers }));
}

const calls = (on: Stage) => on.upstreams.map((upstream) => upstream.calls.length);
const ON_BOTH = { strategy: { mode: 'fallback', on_status_codes: [246, 446] } };

describe('fallback', () => {
  it.each([
    ['a denied request', { input_guardrails: ['deny'] }, BAD, [0, 1]],
    ['a failed request', { input_guardrails: ['tell'] }, BAD, [1, 1]],
    ['a denied answer', { output_guardrails: ['deny'] }, HI, [1, 1]],
    ['a failed answer', { output_guardrails: ['tell'] }, HI, [1, 1]],
  ])('%s moves on where its status is listed', async (_what, first, body, expected) => {
    const on = await start(ON_BOTH, first);
    on.at(0).answer(FORBIDDEN);
    on.at(1).answer(FINE);
    const told = await ask(on, body);
    expect([told.status, calls(on)]).toEqual([200, expected]);
    expect(told.headers.get('x-gateway-last-used-option-index')).toBe('config.targets[1]');
    expect(told.body).toMatchObject({ choices: [{ message: { content: 'fine' } }] });
    expect(told.text).not.toContain('hook_results');
    expect(await lineOf(on)).not.toHaveProperty('denied_by');
  });

  it.each([
    ['a denied request', { input_guardrails: ['deny'] }, BAD, 446, [0, 0]],
    ['a failed answer', { output_guardrails: ['tell'] }, HI, 246, [1, 0]],
    ['a denied answer', { output_guardrails: ['deny'] }, HI, 446, [1, 0]],
  ])('%s stays where it is not listed', async (_what, first, body, status, expected) => {
    const on = await start({}, first);
    on.at(0).answer(FORBIDDEN);
    expect([(await ask(on, body)).status, calls(on)]).toEqual([status, expected]);
  });

  it('the last answer is told as it is, with the results of its own target', async () => {
    const on = await start({ ...ON_BOTH, output_guardrails: ['deny'] });
    for (const upstream of on.upstreams) upstream.answer(FORBIDDEN);
    const told = await ask(on);
    expect([told.status, calls(on)]).toEqual([446, [1, 1]]);
    expect(told.body).toMatchObject({ hook_results: { after_request_hooks: [{ id: 'deny' }] } });
    expect(told.body).toHaveProperty('hook_results.after_request_hooks.length', 1);
  });

  it('a held stream moves on, as long as nobody has seen it', async () => {
    const on = await start({ ...ON_BOTH, output_guardrails: ['deny'] });
    on.at(0).answer(chatStream({ text: 'forbidden' }));
    on.at(1).answer(chatStream({ text: 'fine' }));
    const told = await ask(on, { ...HI, stream: true });
    expect([told.status, told.text.includes('fine'), told.text.includes('[DONE]')]).toEqual([200, true, true]);
  });

  it('a guardrail of the whole config is asked once, and its verdict is no target’s', async () => {
    const on = await start({ ...ON_BOTH, input_guardrails: ['tell'] });
    const told = await ask(on, BAD);
    expect([told.status, calls(on)]).toEqual([246, [1, 0]]);
    expect(told.body).toHaveProperty('hook_results.before_request_hooks.length', 1);
  });
});

describe('inheritance', () => {
  it('of answers: what a target says replaces what the config says', async () => {
    const on = await start({ output_guardrails: ['deny'] }, { output_guardrails: ['tell'] });
    on.at(0).answer(FORBIDDEN);
    const told = await ask(on);
    expect(told.status).toBe(246);
    expect(told.body).toMatchObject({ hook_results: { after_request_hooks: [{ id: 'tell' }] } });
  });

  it('an empty list is a list', async () => {
    const on = await start({ output_guardrails: ['deny'] }, { output_guardrails: [] });
    on.at(0).answer(FORBIDDEN);
    expect((await ask(on)).status).toBe(200);
  });

  it('of requests: those of the config hold for all, a target may add its own', async () => {
    const on = await start({ input_guardrails: ['tell'] }, { input_guardrails: ['redact'] });
    const told = await ask(on, { ...HI, messages: [{ role: 'user', content: 'secret' }] }, LOOSE);
    expect(told.body).toMatchObject({ hook_results: { before_request_hooks: [{ id: 'tell' }, { id: 'redact' }] } });
    expect(on.at(0).json()).toMatchObject({ messages: [{ content: '***' }] });
  });

  it('what one target rewrites is not what the next is sent', async () => {
    const on = await start(
      { strategy: { mode: 'fallback', on_status_codes: [500] } },
      { input_guardrails: ['redact'] },
    );
    on.at(0).answer({ send: (response) => void response.writeHead(500).end('{}') });
    const body = { ...HI, messages: [{ role: 'user', content: 'secret' }] };
    await ask(on, body);
    expect([on.at(0).json(), on.at(1).json()]).toMatchObject([
      { messages: [{ content: '***' }] },
      { messages: [{ content: 'secret' }] },
    ]);
  });
});

describe('retries and circuits', () => {
  it('a listed 446 of an answer is tried again, and asked again', async () => {
    const on = await start({ retry: { attempts: 2, on_status_codes: [446] } }, { output_guardrails: ['deny'] });
    on.at(0).answer([FORBIDDEN, FINE]);
    const told = await ask(on);
    expect([told.status, told.headers.get('x-gateway-retry-attempt-count')]).toEqual([200, '1']);
  });

  it('a request that is denied at a target is not tried again there', async () => {
    const on = await start({ retry: { attempts: 2, on_status_codes: [446] } }, { input_guardrails: ['deny'] });
    expect([(await ask(on, BAD)).status, calls(on)]).toEqual([446, [0, 0]]);
  });

  it('a denial is no fault of the upstream: its circuit stays closed', async () => {
    const circuit = { cb_config: { failure_threshold: 1, cooldown_interval: 60_000 } };
    const on = await start({ ...circuit, output_guardrails: ['deny'] });
    on.at(0).answer(FORBIDDEN);
    for (const stream of [false, true, false]) {
      on.at(0).answer(stream ? chatStream({ text: 'forbidden' }) : FORBIDDEN);
      expect((await ask(on, { ...HI, stream })).status).toBe(446);
    }
    expect(calls(on)).toEqual([3, 0]);
  });

  it.each([
    ['before its first byte', 0],
    ['in its midst', 2],
  ])('nor is a stream that a guardrail cuts %s', async (_when, gapMs) => {
    const circuit = { cb_config: { failure_threshold: 1, cooldown_interval: 60_000 } };
    const on = await start({ ...circuit, output_guardrails: ['watch'] });
    on.at(0).answer(cutStream(gapMs));
    for (let turn = 1; turn <= 3; turn += 1) {
      const told = await ask(on, { ...HI, stream: true });
      expect(told.text).toContain('guardrail_denied');
      expect(calls(on)).toEqual([turn, 0]);
    }
  });
});

describe('limits', () => {
  it('a denied request costs nothing of them', async () => {
    stage = await startGuarded({ input_guardrails: ['deny'] }, GUARDS + rateLimit('two'));
    const statuses: number[] = [];
    for (const body of [BAD, BAD, BAD, HI, HI, HI]) statuses.push((await stage.gateway.chat(body)).status);
    expect(statuses).toEqual([446, 446, 446, 200, 200, 429]);
  });

  it('a denied answer counts: it was paid for', async () => {
    const tokens = rateLimit('tokens', { type: 'tokens', value: 10_000 });
    stage = await startGuarded({ output_guardrails: ['deny'] }, GUARDS + tokens);
    stage.at(0).answer(FORBIDDEN);
    const told = await tell(await stage.gateway.chat({ ...HI, max_tokens: 10 }));
    expect(told.status).toBe(446);
    stage.at(0).answer(FINE);
    const next = await tell(await stage.gateway.chat({ ...HI, max_tokens: 10 }));
    expect(Number(next.headers.get('x-ratelimit-remaining-tokens'))).toBeLessThan(10_000 - 21);
  });

  it('see what a mutator has made of the prompt', async () => {
    const longer = guardrail('longer', [{ id: 'addPrefix', parameters: { prefix: 'word '.repeat(2_000) } }]);
    stage = await startGuarded(
      { input_guardrails: ['longer'] },
      longer + rateLimit('small', { type: 'tokens', value: 1_000 }),
    );
    expect((await stage.gateway.chat({ ...HI, max_tokens: 1 })).status).toBe(400);
  });
});
