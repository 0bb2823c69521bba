/** What callers and guardrails think of answers: log lines, metrics, span events. */
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { failureOf, type Stage } from '../conformance/stage.ts';
import { apiKey } from '../fakes/objects.ts';
import { BAD, guardrail, HI, NO_WORD, startGuarded, tell } from './stage.ts';

const FEEDBACK = '/v1/feedback';
const TRACE = '0123456789abcdef0123456789abcdef';

let stage: Stage;
beforeAll(async () => {
  const keys =
    apiKey('lister', 'lister-key-0123456789', { scopes: ['logs.list'] }) +
    apiKey('teller', 'teller-key-0123456789', { scopes: ['feedback.create'] });
  stage = await startGuarded({}, keys);
});
afterAll(() => stage.close());

const words = async () => (await stage.gateway.logs()).filter((line) => line['type'] === 'feedback');

function put(id: string, body: object, headers: Record<string, string> = {}): Promise<Response> {
  return fetch(`${stage.gateway.origin}${FEEDBACK}/${id}`, {
    method: 'PUT',
    headers: { 'content-type': 'application/json', 'x-gateway-api-key': stage.gateway.key, ...headers },
    body: JSON.stringify(body),
  });
}

describe('POST and PUT /v1/feedback', () => {
  it('record a word and its replacement, with the id of the trace', async () => {
    const body = { trace_id: TRACE, value: 5, weight: 0.5, metadata: { by: 'ann' } };
    const told = await tell(await stage.gateway.post(FEEDBACK, body));
    expect(told.status).toBe(200);
    expect(told.body).toEqual({
      status: 'success',
      message: 'Feedback successfully saved',
      feedback_ids: [expect.stringMatching(/^[0-9a-f-]{36}$/)],
    });
    const [id = ''] = (told.body as { feedback_ids: string[] }).feedback_ids;
    const again = await put(id, { value: -10 });
    expect([again.status, await again.json()]).toEqual([
      200,
      { status: 'success', message: 'Feedback successfully updated', feedback_ids: [id] },
    ]);
    expect(await words()).toMatchObject([
      {
        source: 'caller',
        feedback_id: id,
        trace_id: TRACE,
        value: 5,
        weight: 0.5,
        metadata: '{"by":"ann"}',
        caller: 'test',
      },
      { source: 'caller', feedback_id: id, update: true, value: -10, weight: 1 },
    ]);
    expect(await stage.gateway.metric('modelgateway_feedback_total', { source: 'caller' })).toBe(2);
    expect(await stage.gateway.metric('modelgateway_feedback_total', { value: '-10' })).toBe(1);
  });

  it('a trace is called as the request called it', async () => {
    const named = await stage.gateway.chat(HI, { 'x-gateway-trace-id': 'order-66' });
    await named.text();
    await (await stage.gateway.post(FEEDBACK, { trace_id: 'order-66', value: 1 })).text();
    const line = (await stage.gateway.logs()).find(({ caller_trace_id: id }) => id === 'order-66');
    expect((await words()).at(-1)).toMatchObject({ trace_id: line?.['trace_id'] });
  });

  it.each([
    [{ value: 1 }, 'trace_id'],
    [{ trace_id: TRACE }, 'value'],
    [{ trace_id: TRACE, value: 11 }, 'value'],
    [{ trace_id: TRACE, value: 1.5 }, 'value'],
    [{ trace_id: TRACE, value: 1, weight: 2 }, 'weight'],
    [{ trace_id: TRACE, value: 1, metadata: 'x' }, 'metadata'],
  ])('400 for %j', async (body, param) => {
    const failure = await failureOf(await stage.gateway.post(FEEDBACK, body));
    expect(failure).toMatchObject({ status: 400, code: 'invalid_value', param });
    expect(failure.message.startsWith(param)).toBe(true);
  });

  it('needs an id of ours to replace a word', async () => {
    expect(await failureOf(await put('x', { value: 1 }))).toMatchObject({ status: 400, param: 'id' });
  });

  it('needs a key that may', async () => {
    const body = { trace_id: TRACE, value: 1 };
    const as = (key: string) => stage.gateway.post(FEEDBACK, body, { 'x-gateway-api-key': key });
    expect((await as('')).status).toBe(401);
    expect((await as('lister-key-0123456789')).status).toBe(403);
    expect((await as('teller-key-0123456789')).status).toBe(200);
    const id = '00000000-0000-4000-8000-000000000000';
    expect((await put(id, { value: 1 }, { 'x-gateway-api-key': 'teller-key-0123456789' })).status).toBe(403);
  });

  it('takes no other method', async () => {
    const get = await fetch(stage.gateway.origin + FEEDBACK);
    expect([get.status, get.headers.get('allow')]).toEqual([405, 'POST']);
    const below = await fetch(`${stage.gateway.origin}${FEEDBACK}/x`);
    expect([below.status, below.headers.get('allow')]).toEqual([405, 'PUT']);
  });
});

describe('feedback of guardrails', () => {
  let guarded: Stage | undefined;
  afterEach(async () => {
    await guarded?.close();
    guarded = undefined;
  });

  it('is told in hook_results, log and metrics, with what the manifest leaves out', async () => {
    const actions = {
      on_fail: { feedback: { metadata: { why: 'word' } } },
      on_success: { feedback: { value: 3, weight: 0.1 } },
    };
    guarded = await startGuarded({ input_guardrails: ['no-word'] }, guardrail('no-word', [NO_WORD], actions));
    const failed = await tell(await guarded.gateway.chat(BAD));
    expect(failed.body).toMatchObject({
      hook_results: { before_request_hooks: [{ feedback: { value: -5, weight: 1, metadata: { why: 'word' } } }] },
    });
    await (await guarded.gateway.chat(HI)).text();
    const lines = (await guarded.gateway.logs()).filter((line) => line['type'] === 'feedback');
    expect(lines).toMatchObject([
      {
        source: 'hook',
        hook: 'no-word',
        value: -5,
        metadata: '{"why":"word"}',
        trace_id: failed.headers.get('x-gateway-trace-id'),
      },
      { source: 'hook', hook: 'no-word', value: 3, weight: 0.1 },
    ]);
    expect(await guarded.gateway.metric('modelgateway_feedback_total', { source: 'hook' })).toBe(2);
  });

  it('an item may give other feedback than the guardrail that it names', async () => {
    const item = { id: 'no-word', on_fail: { feedback: { value: -1 } } };
    const actions = { on_fail: { feedback: { value: -9 } } };
    guarded = await startGuarded({ input_guardrails: [item] }, guardrail('no-word', [NO_WORD], actions));
    expect((await tell(await guarded.gateway.chat(BAD))).body).toMatchObject({
      hook_results: { before_request_hooks: [{ feedback: { value: -1, weight: 1, metadata: {} } }] },
    });
  });
});
