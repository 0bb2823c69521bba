/** What becomes of a request that guardrails look at: 200, 246, 446, in both dialects. */
import { afterEach, describe, expect, it } from 'vitest';
import { HI_MESSAGE, type Stage, target } from '../conformance/stage.ts';
import { anthropicMessage } from '../fakes/anthropic-wire.ts';
import { config } from '../fakes/objects.ts';
import { openAiChat } from '../fakes/openai-wire.ts';
import { chat, json } from '../fakes/replies.ts';
import {
  BAD,
  guardrail,
  HI,
  LOOSE,
  lineOf,
  NO_WORD,
  NO_WORD_INLINE,
  REDACT,
  startGuarded,
  type Told,
  tell,
} from './stage.ts';

const CHAT = '/v1/chat/completions';
const MESSAGES = '/v1/messages';
const BAD_MESSAGE = { ...HI_MESSAGE, messages: BAD.messages };

let stage: Stage | undefined;
afterEach(async () => {
  await stage?.close();
  stage = undefined;
});

async function start(...given: Parameters<typeof startGuarded>): Promise<Stage> {
  stage = await startGuarded(...given);
  return stage;
}

async function ask(body: object, headers: Record<string, string> = {}, path = CHAT): Promise<Told> {
  if (stage === undefined) throw new Error('nothing is staged');
  return tell(await stage.gateway.post(path, body, headers));
}

const FAILED = { verdict: false, deny: false, async: false, skipped: false, type: 'guardrail', transformed: false };

describe('guardrails of the request', () => {
  it('G19 deny: 446 names the check, nothing goes upstream, and all of hook_results is told', async () => {
    const on = await start({ input_guardrails: ['no-word'] }, guardrail('no-word', [NO_WORD], { deny: true }));
    const told = await ask(BAD);
    expect(told.status).toBe(446);
    expect(told.body).toEqual({
      error: {
        message: 'The guardrail "no-word" refused the request: default.contains did not pass.',
        type: 'hooks_failed',
        code: 'guardrail_denied',
        param: null,
      },
      hook_results: {
        before_request_hooks: [
          {
            id: 'no-word',
            verdict: false,
            deny: true,
            async: false,
            skipped: false,
            type: 'guardrail',
            transformed: false,
            created_at: expect.stringMatching(/^\d{4}-\d\d-\d\dT.*Z$/),
            execution_time: expect.any(Number),
            feedback: null,
            checks: [
              {
                id: 'default.contains',
                verdict: false,
                data: expect.any(Object),
                error: null,
                fail_on_error: true,
                transformed: false,
                created_at: expect.any(String),
                execution_time: expect.any(Number),
              },
            ],
          },
        ],
        after_request_hooks: [],
      },
    });
    expect(on.at(0).calls).toHaveLength(0);
    expect(await lineOf(on)).toMatchObject({ status: 446, denied_by: 'no-word/default.contains', attempts: 0 });
  });

  it('fail without deny: 246, the answer of the provider, and hook_results whatever compliance is', async () => {
    await start({ input_guardrails: ['no-word'] }, guardrail('no-word', [NO_WORD]));
    const told = await ask(BAD);
    expect(told.status).toBe(246);
    expect(told.body).toMatchObject({
      object: 'chat.completion',
      hook_results: { before_request_hooks: [{ id: 'no-word', ...FAILED }], after_request_hooks: [] },
    });
  });

  it('pass: 200, and hook_results only where strict compliance is off', async () => {
    await start({ input_guardrails: ['no-word'] }, guardrail('no-word', [NO_WORD]));
    const strict = await ask(HI);
    expect([strict.status, Object.keys(strict.body as object)]).toEqual([200, Object.keys(openAiChat({}))]);
    const loose = await ask(HI, LOOSE);
    expect(loose.status).toBe(200);
    expect(loose.body).toMatchObject({ hook_results: { before_request_hooks: [{ id: 'no-word', verdict: true }] } });
  });

  it('a request without guardrails is told of none, however loose compliance is', async () => {
    await start({});
    expect((await ask(BAD, LOOSE)).text).not.toContain('hook_results');
  });

  it('speaks the envelope of /v1/messages there', async () => {
    await start({ input_guardrails: ['no-word'] }, guardrail('no-word', [NO_WORD], { deny: true }));
    const told = await ask(BAD_MESSAGE, {}, MESSAGES);
    expect(told.status).toBe(446);
    expect(told.body).toMatchObject({
      type: 'error',
      error: { type: 'hooks_failed', code: 'guardrail_denied', details: { error_code: 'guardrail_denied' } },
      request_id: expect.any(String),
      hook_results: { before_request_hooks: [{ id: 'no-word' }] },
    });
    const passed = await ask(HI_MESSAGE, LOOSE, MESSAGES);
    expect(passed.body).toMatchObject({ type: 'message', hook_results: { before_request_hooks: [{ verdict: true }] } });
  });

  it('a mutator rewrites what goes on', async () => {
    const on = await start({ input_guardrails: ['redact'] }, guardrail('redact', [REDACT]));
    const body = { ...HI, messages: [{ role: 'user', content: 'my secret' }], seed: 7 };
    const told = await ask(body, LOOSE);
    expect(on.at(0).json()).toEqual({ ...body, messages: [{ role: 'user', content: 'my ***' }] });
    expect(told.body).toMatchObject({
      hook_results: {
        before_request_hooks: [{ type: 'mutator', transformed: true, verdict: true, checks: [{ transformed: true }] }],
      },
    });
  });

  it('a later guardrail sees what an earlier one has rewritten, and none is asked after a denial', async () => {
    const swap = { id: 'regexReplace', parameters: { rule: 'fine', redactText: 'forbidden' } };
    await start(
      { input_guardrails: ['swap', 'no-word', 'last'] },
      guardrail('swap', [swap]) + guardrail('no-word', [NO_WORD], { deny: true }) + guardrail('last', [NO_WORD]),
    );
    const told = await ask({ ...HI, messages: [{ role: 'user', content: 'fine' }] });
    expect(told.status).toBe(446);
    expect(told.body).toMatchObject({
      hook_results: {
        before_request_hooks: [
          { id: 'swap', transformed: true },
          { id: 'no-word', verdict: false },
          { id: 'last', skipped: true, verdict: true, checks: [] },
        ],
      },
    });
  });
});

describe('guardrails of the answer', () => {
  it('G19 deny: 446, the provider was asked, and is paid', async () => {
    const on = await start({ output_guardrails: ['no-word'] }, guardrail('no-word', [NO_WORD], { deny: true }));
    on.at(0).answer(chat({ text: 'a forbidden word' }));
    const told = await ask(HI);
    expect(told.status).toBe(446);
    expect(told.body).toMatchObject({
      error: {
        code: 'guardrail_denied',
        message: 'The guardrail "no-word" refused the answer: default.contains did not pass.',
      },
      hook_results: { before_request_hooks: [], after_request_hooks: [{ id: 'no-word', verdict: false, deny: true }] },
    });
    expect(told.text).not.toContain('a forbidden word');
    expect(told.headers.get('x-gateway-provider')).toBe('openai');
    expect(await lineOf(on)).toMatchObject({
      status: 446,
      denied_by: 'no-word/default.contains',
      attempts: 1,
      output_tokens: expect.any(Number),
    });
  });

  it.each([
    ['text', { text: 'a forbidden word' }],
    ['the arguments of a tool call', { toolCalls: [{ name: 'f', arguments: '{"q":"\\u0066orbidden"}' }] }],
  ])('looks at %s', async (_what, answer) => {
    const on = await start({ output_guardrails: ['no-word'] }, guardrail('no-word', [NO_WORD]));
    on.at(0).answer(json(200, withAnswer(answer)));
    const told = await ask(HI);
    expect(told.status).toBe(246);
    expect(told.body).toMatchObject({
      choices: expect.any(Array),
      hook_results: { after_request_hooks: [{ id: 'no-word', ...FAILED }] },
    });
  });

  it('looks at thinking, in the dialect that the caller speaks', async () => {
    const on = await start({ provider: 'anthropic', output_guardrails: ['no-word'] }, guardrail('no-word', [NO_WORD]));
    const thinking = { type: 'thinking', thinking: 'forbidden', signature: 's' };
    const message = { ...anthropicMessage({ text: 'fine' }), content: [thinking, { type: 'text', text: 'fine' }] };
    on.at(0).answer(json(200, message));
    expect((await ask(HI_MESSAGE, {}, MESSAGES)).status).toBe(246);
    expect((await ask(HI, LOOSE)).status).toBe(246);
    // Thinking that is not shown is not judged.
    expect((await ask(HI)).status).toBe(200);
  });

  it('rewrites the answer', async () => {
    const on = await start({ output_guardrails: ['redact'] }, guardrail('redact', [REDACT]));
    on.at(0).answer(chat({ text: 'a secret' }));
    expect((await ask(HI)).body).toMatchObject({ choices: [{ message: { content: 'a ***' } }] });
  });

  it('is about 2xx alone', async () => {
    const on = await start(
      { output_guardrails: ['never'] },
      guardrail('never', [{ id: 'endsWith', parameters: { suffix: 'x' } }], { deny: true }),
    );
    on.at(0).answer(json(418, { error: { message: 'no' } }));
    expect((await ask(HI)).status).toBe(418);
    expect(await on.gateway.metric('modelgateway_guardrail_checks_total')).toBe(0);
  });

  it('is about what says something: an embedding has no words', async () => {
    const on = await start(
      { output_guardrails: ['said'] },
      guardrail('said', [{ id: 'notNull', parameters: {} }], { deny: true }),
    );
    on.at(0).answer(
      json(200, { object: 'list', data: [{ object: 'embedding', index: 0, embedding: [0] }], model: 'e' }),
    );
    expect((await ask({ model: 'e', input: 'x' }, {}, '/v1/embeddings')).status).toBe(200);
  });
});

describe('items of a config', () => {
  it.each([
    ['a name', ['no-word'], 246],
    ['a name that is told to deny', [{ id: 'no-word', deny: true }], 446],
    ['a check of its own', [{ ...NO_WORD_INLINE }], 246],
    ['a check without its catalogue', [{ contains: NO_WORD_INLINE['default.contains'], deny: true }], 446],
    ['two checks, one of which fails', [{ ...NO_WORD_INLINE, 'default.wordCount': { maxWords: 50 }, deny: true }], 446],
  ])('%s', async (_what, items, status) => {
    await start({ input_guardrails: items }, guardrail('no-word', [NO_WORD]));
    expect((await ask(BAD)).status).toBe(status);
    expect((await ask(HI)).status).toBe(200);
  });

  it.each([
    ['checks', { id: 'h', checks: [NO_WORD], on_fail: { deny: true } }, 446],
    ['checks that only tell', { id: 'h', type: 'guardrail', checks: [NO_WORD] }, 246],
    ['the name of a guardrail', { id: 'no-word', on_fail: { deny: true } }, 446],
    ['no checks at all', { id: 'h', checks: [] }, 200],
  ])('a hook with %s', async (_what, hook, status) => {
    const { on_fail: _, ...later } = hook as { readonly on_fail?: object };
    const on = await start({ before_request_hooks: [hook] }, ([upstream]) => {
      const after = upstream === undefined ? '' : config('after', target(upstream, { after_request_hooks: [later] }));
      return after + guardrail('no-word', [NO_WORD]);
    });
    expect((await ask(BAD)).status).toBe(status);
    on.at(0).answer(chat({ text: 'forbidden' }));
    expect((await ask(HI, { 'x-gateway-config': 'after' })).status).toBe(status === 200 ? 200 : 246);
  });

  it('output guardrails take deny in on_fail', async () => {
    const on = await start({ output_guardrails: [{ ...NO_WORD_INLINE, on_fail: { deny: true } }] });
    on.at(0).answer(chat({ text: 'forbidden' }));
    expect((await ask(HI)).status).toBe(446);
  });

  it('a check that is switched off is not run', async () => {
    await start({ input_guardrails: ['off'] }, guardrail('off', [{ ...NO_WORD, is_enabled: false }], { deny: true }));
    expect((await ask(BAD)).status).toBe(200);
  });
});

function withAnswer({ text, toolCalls }: { text?: string; toolCalls?: { name: string; arguments: string }[] }): object {
  const calls = toolCalls?.map((call, index) => ({ id: `call_${index}`, type: 'function', function: call }));
  const message = { role: 'assistant', content: text ?? null, ...(calls && { tool_calls: calls }) };
  return { ...openAiChat({}), choices: [{ index: 0, message, finish_reason: 'stop' }] };
}
