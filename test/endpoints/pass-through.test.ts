/** Where both ends speak the same dialect: bytes go on as they came, whole or streamed, and only what must change does. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { anthropicEvents, anthropicMessage } from '../fakes/anthropic-wire.ts';
import { config } from '../fakes/objects.ts';
import {
  openAiChat,
  openAiCompletion,
  openAiCompletionChunks,
  openAiEmbedding,
  openAiEvent,
  openAiEvents,
} from '../fakes/openai-wire.ts';
import { json, pieces, text } from '../fakes/replies.ts';
import { startWires, type Wire, type Wires } from './wires.ts';

let wires: Wires;
beforeAll(async () => {
  wires = await startWires();
});
afterAll(() => wires.close());

interface Row {
  readonly path: string;
  readonly wire: Wire;
  readonly upstreamPath: string;
  /** Members of a good body beside the model, as JSON text. */
  readonly members: string;
  readonly answer: object;
}

const MESSAGES = '"messages" : [ {"role":"user","content":"Hi"} ]';
const ROWS: readonly Row[] = [
  {
    path: '/v1/chat/completions',
    wire: 'openai',
    upstreamPath: '/v1/chat/completions',
    members: MESSAGES,
    answer: openAiChat(),
  },
  {
    path: '/v1/completions',
    wire: 'openai',
    upstreamPath: '/v1/completions',
    members: '"prompt":"Hi"',
    answer: openAiCompletion(),
  },
  {
    path: '/v1/embeddings',
    wire: 'openai',
    upstreamPath: '/v1/embeddings',
    members: '"input":"Hi"',
    answer: openAiEmbedding(),
  },
  {
    path: '/v1/messages',
    wire: 'anthropic',
    upstreamPath: '/v1/messages',
    members: `"max_tokens":16,${MESSAGES}`,
    answer: anthropicMessage(),
  },
  {
    path: '/v1/messages/count_tokens',
    wire: 'anthropic',
    upstreamPath: '/v1/messages/count_tokens',
    members: MESSAGES,
    answer: { input_tokens: 7 },
  },
];

describe.each(ROWS)('$path over the wire of $wire', ({ path, wire, upstreamPath, members, answer }) => {
  const reply = json(200, answer);

  it.each([
    ['white space in odd places', ` \t\r\n{ "model"\n:\t"m" ,${members} }\r\n `],
    ['numbers in other spellings', `{"model":"m","x_a":1.0,"x_b":1E+2,"x_c":-0,"x_d":12345678901234567890,${members}}`],
    ['escapes that need not be', `{"model":"\\u006d","x":"\\/\\u00e9\\ud83d\\ude00",${members}}`],
    ['letters beyond ASCII', `{"model":"m","x":"Grüße, 世界 😀",${members}}`],
    ['a key that is there twice', `{"model":"x","model":"m",${members}}`],
    ['fields that nobody knows', `{"model":"m","x_new":{"a":[1,{"b":null}],"":""},${members}}`],
  ])('a body with %s arrives as it was', async (_what, body) => {
    const response = await wires.ask(path, wire, body, reply);
    expect(response.status).toBe(200);
    const call = wires.at(0).calls.at(-1);
    expect(call).toMatchObject({ method: 'POST', path: upstreamPath, body });
    expect(call?.headers['content-length']).toBe(String(Buffer.byteLength(body)));
  });

  it.each([
    ['white space', `\r\n{ "x" : [ ] , "usage" : null }\n`],
    ['numbers', '{"created":1.70e9,"big":12345678901234567890}'],
    ['letters beyond ASCII', '{"x":"Grüße, 世界 😀","y":"\\u0048\\/"}'],
    ['100 KB', `{"x":"${'é'.repeat(50_000)}"}`],
  ])('an answer with %s comes back as it was', async (_what, body) => {
    const typed = text(200, body, { 'content-type': 'application/json; charset=utf-8', 'x-upstream': 'yes' });
    const response = await wires.ask(path, wire, `{"model":"m",${members}}`, typed);
    expect(response.headers.get('content-type')).toBe('application/json; charset=utf-8');
    expect(response.headers.get('x-upstream')).toBe('yes');
    expect(await response.text()).toBe(body);
  });

  it('is overridden by a config, field by field', async () => {
    const overrides = { model: 'forced', x_added: { deep: [1] }, x_changed: { whole: true } };
    const inline = { provider: wire, override_params: overrides };
    wires.gateway.apply(wires.manifests + config('overrides', { ...inline, ...hostOf() }));
    const body = `{"model":"m","x_kept":[1,2],"x_changed":{"part":1},${members}}`;
    const response = await wires.ask(path, 'overrides', body, reply);
    expect(response.status).toBe(200);
    expect(wires.sent()).toEqual({ ...JSON.parse(body), ...overrides });
  });
});

function hostOf(): object {
  return { api_key: 'k', custom_host: `${wires.at(0).origin}/v1` };
}

const chunked = (chunks: readonly object[]) => [...chunks, '[DONE]'].map(openAiEvent);
const FINISH = { id: 'x', model: 'm', choices: [{ index: 0, delta: {}, finish_reason: 'stop' }] };
const ODD_CHUNKS = [
  'data: {"id":"x","choices":[{"index":0,"delta":{"content":"\\u0048\\/é😀"},"finish_reason":null}]}\n\n',
  'data: { "id" : "x", "choices" : [ { "index" : 0, "delta" : { "content" : " " } } ], "x_new" : 1.50e1 }\n\n',
  'data: {"id":"x","choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}\n\n',
  'data: [DONE]\n\n',
];

describe('a stream', () => {
  it.each([
    ['/v1/chat/completions', 'openai', openAiEvents({ text: 'a b c', includeUsage: false }), MESSAGES],
    ['/v1/chat/completions', 'openai', ODD_CHUNKS, MESSAGES],
    ['/v1/completions', 'openai', chunked(openAiCompletionChunks({ includeUsage: false })), '"prompt":"Hi"'],
    ['/v1/messages', 'anthropic', anthropicEvents({ thinking: 'Hm.', text: 'a b' }), `"max_tokens":9,${MESSAGES}`],
    [
      '/v1/messages',
      'anthropic',
      anthropicEvents({ toolUses: [{ id: 'a', name: 'f', input: { é: 1 } }] }),
      `"max_tokens":9,${MESSAGES}`,
    ],
  ] as const)('of %s over the wire of %s comes byte for byte', async (path, wire, events, members) => {
    const response = await wires.ask(path, wire, `{"model":"m","stream":true,${members}}`, pieces(events));
    expect(response.headers.get('content-type')).toBe('text/event-stream');
    expect(await response.text()).toBe(events.join(''));
  });

  it('of messages is asked for byte for byte', async () => {
    const body = ` { "stream" : true,"model":"m","max_tokens":9,${MESSAGES}}`;
    await (await wires.ask('/v1/messages', 'anthropic', body, pieces(anthropicEvents()))).text();
    expect(wires.at(0).calls.at(-1)?.body).toBe(body);
    expect(wires.sentHeaders()).toMatchObject({ accept: 'text/event-stream' });
  });

  it.each([
    ['/v1/chat/completions', MESSAGES],
    ['/v1/completions', '"prompt":"Hi"'],
  ])('of %s is asked for with usage, and the rest byte for byte', async (path, members) => {
    const rest = ` "model" : "\\u006d",\t"x":1.0,"stream":true,${members} } `;
    await (await wires.ask(path, 'openai', `\n{${rest}`, pieces(openAiEvents()))).text();
    expect(wires.at(0).calls.at(-1)?.body).toBe(`{"stream_options":{"include_usage":true},${rest}`);
  });

  it.each([
    ['{"include_usage":true}', { include_usage: true }],
    ['{"include_usage":false}', { include_usage: true }],
    ['{"x_new":1}', { x_new: 1, include_usage: true }],
    ['{}', { include_usage: true }],
    ['null', { include_usage: true }],
  ])('with stream_options %s is asked for with %j', async (options, sent) => {
    const body = `{"model":"m","stream":true,"stream_options":${options},${MESSAGES}}`;
    const response = await wires.ask('/v1/chat/completions', 'openai', body, pieces(openAiEvents()));
    const told = (await response.text()).includes('"usage":{');
    expect(wires.sent()['stream_options']).toEqual(sent);
    expect(told).toBe(options.includes('true'));
    if (told) expect(wires.at(0).calls.at(-1)?.body).toBe(body);
  });

  it('keeps the usage chunk from who did not ask, and counts it', async () => {
    const before = await wires.gateway.metric('modelgateway_tokens_total');
    const usage = { prompt_tokens: 30, completion_tokens: 12, total_tokens: 42 };
    const body = `{"model":"m","stream":true,${MESSAGES}}`;
    const response = await wires.ask('/v1/chat/completions', 'openai', body, pieces(openAiEvents({ usage })));
    expect(await response.text()).toBe(openAiEvents({ includeUsage: false }).join(''));
    expect((await wires.gateway.metric('modelgateway_tokens_total')) - before).toBe(42);
  });

  it('keeps usage that stands in a chunk with choices', async () => {
    const last = openAiEvent({ ...FINISH, usage: { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 } });
    const events = [last, openAiEvent('[DONE]')];
    const body = `{"model":"m","stream":true,${MESSAGES}}`;
    const response = await wires.ask('/v1/chat/completions', 'openai', body, pieces(events));
    expect(await response.text()).toBe(events.join(''));
  });
});

describe('what cannot be streamed', () => {
  it.each([
    ['/v1/embeddings', 'openai', '"input":"Hi"', openAiEmbedding()],
    ['/v1/messages/count_tokens', 'anthropic', MESSAGES, { input_tokens: 7 }],
  ] as const)('%s takes "stream" for a field that it does not know', async (path, wire, members, answer) => {
    const body = `{"model":"m","stream":true,${members}}`;
    const response = await wires.ask(path, wire, body, json(200, answer));
    expect(response.status).toBe(200);
    expect(await response.json()).toEqual(answer);
    expect(wires.at(0).calls.at(-1)?.body).toBe(body);
  });
});
