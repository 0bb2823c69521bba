/** What is at the bounds but within them passes, and what passes goes on byte for byte. */
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { type Stage, startStage, target } from '../conformance/stage.ts';
import { config, defaultConfig } from '../fakes/objects.ts';
import { chat, json, text } from '../fakes/replies.ts';

let stage: Stage;
beforeAll(async () => {
  stage = await startStage(1, ([upstream]) => {
    if (upstream === undefined) throw new Error('one upstream');
    return (
      defaultConfig('house', target(upstream)) +
      config('changes', target(upstream, { override_params: { temperature: 0.25, added: { a: [1] } } })) +
      config('messages', target(upstream, { provider: 'anthropic' }))
    );
  });
});
afterAll(() => stage.close());
beforeEach(() => stage.at(0).answer(chat()));

const MESSAGES = '"messages":[{"role":"user","content":"Hi"}]';

const BODIES: readonly (readonly [what: string, body: string])[] = [
  ['odd white space', `\n\t{ "model" :\r\n"m" ,${MESSAGES}  }\n`],
  ['numbers in other spellings', `{"model":"m","temperature":1.50e-1,"seed":9007199254740993,${MESSAGES}}`],
  ['escapes', `{"model":"m","messages":[{"role":"user","content":"\\u0048\\u00ef\\ud83d\\ude00\\/"}]}`],
  ['letters beyond ASCII', `{"model":"m","messages":[{"role":"user","content":"Grüße, 世界 😀"}]}`],
  ['a lone surrogate', `{"model":"m","messages":[{"role":"user","content":"\\ud800"}]}`],
  ['keys twice', `{"model":"x","model":"m",${MESSAGES}}`],
  ['fields that nobody knows', `{"model":"m","x_unknown":{"deep":[1,2,{"a":null}]},${MESSAGES}}`],
  ['constructor as a plain key', `{"model":"m","metadata":{"constructor":"x","prototype":"y"},${MESSAGES}}`],
  ['64 levels', `{"model":"m","deep":${'['.repeat(63)}${']'.repeat(63)},${MESSAGES}}`],
  ['null for what may be absent', `{"model":"m","temperature":null,"stop":null,${MESSAGES}}`],
  ['200 KB', `{"model":"m","messages":[{"role":"user","content":"${'word '.repeat(40_000)}"}]}`],
  ['strings full of braces and quotes', `{"model":"m","messages":[{"role":"user","content":"{\\"[\\\\\\"]}"}]}`],
];

describe('a body that needs no change', () => {
  it.each(BODIES)('with %s goes on byte for byte', async (_what, body) => {
    const response = await stage.gateway.chat(body);
    expect(response.status).toBe(200);
    expect(stage.at(0).calls.at(-1)?.body).toBe(body);
  });

  it('goes on byte for byte to an upstream of Anthropic’s dialect too', async () => {
    stage.at(0).answer(json(200, { type: 'message', content: [], usage: { input_tokens: 1, output_tokens: 1 } }));
    const body = ` {"model":"m" , "max_tokens": 1e1,${MESSAGES}}`;
    await stage.gateway.post('/v1/messages', body, { 'x-gateway-config': 'messages' });
    expect(stage.at(0).calls.at(-1)?.body).toBe(body);
  });
});

describe('an answer that needs no change', () => {
  it.each([
    ['odd white space', '\r\n { "id" : 1.0e0 ,\n"choices":[] }\n\n'],
    ['letters beyond ASCII', '{"choices":[{"message":{"content":"Grüße, 世界 😀"}}]}'],
    ['escapes', '{"choices":[{"message":{"content":"\\u0048\\/"}}]}'],
    ['100 KB', `{"choices":[{"message":{"content":"${'ü '.repeat(50_000)}"}}]}`],
    ['nothing in it', '{}'],
  ])('with %s comes byte for byte', async (_what, body) => {
    stage.at(0).answer(text(200, body, { 'content-type': 'application/json' }));
    const response = await stage.gateway.chat({ model: 'm', messages: [{ role: 'user', content: 'Hi' }] });
    expect(await response.text()).toBe(body);
  });

  it('keeps the upstream’s 2xx status', async () => {
    stage.at(0).answer(json(202, { queued: true }));
    const response = await stage.gateway.chat({ model: 'm', messages: [{ role: 'user', content: 'Hi' }] });
    expect(response.status).toBe(202);
    expect(await response.json()).toEqual({ queued: true });
  });
});

describe('override_params', () => {
  it('are merged over the body, and the rest stays', async () => {
    const body = { model: 'm', temperature: 1, top_p: 0.5, messages: [{ role: 'user', content: 'Hi' }] };
    await stage.gateway.chat(body, { 'x-gateway-config': 'changes' });
    expect(stage.at(0).json(-1)).toEqual({ ...body, temperature: 0.25, added: { a: [1] } });
  });
});
