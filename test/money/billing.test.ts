/** What requests cost, as the log and the metrics say it. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { anthropicEvents } from '../fakes/anthropic-wire.ts';
import { openAiChat, openAiChunks, openAiEmbedding, openAiEvents, type WireUsage } from '../fakes/openai-wire.ts';
import {
  chat,
  chatStream,
  hangBeforeHeaders,
  json,
  message,
  messageStream,
  pieces,
  problem,
  type Reply,
} from '../fakes/replies.ts';
import { type MoneyStage, startMoneyStage } from './money-stage.ts';

let stage: MoneyStage;
beforeAll(async () => {
  stage = await startMoneyStage();
});
afterAll(() => stage.close());

const CHAT = '/v1/chat/completions';
const MESSAGES = '/v1/messages';
const ASKED = { messages: [{ role: 'user', content: 'Hi' }], max_tokens: 16 };

function tokens(prompt: number, completion: number, details: Partial<WireUsage> = {}): WireUsage {
  return { prompt_tokens: prompt, completion_tokens: completion, total_tokens: prompt + completion, ...details };
}

const CACHED = tokens(100, 12, { prompt_tokens_details: { cached_tokens: 40, audio_tokens: 0 } });
const REASONED = tokens(10, 300, { completion_tokens_details: { reasoning_tokens: 256, audio_tokens: 0 } });
const SPOKEN = tokens(100, 50, {
  prompt_tokens_details: { audio_tokens: 40, cached_tokens: 0 },
  completion_tokens_details: { audio_tokens: 30 },
});
const WRITTEN = tokens(1_000, 10, { prompt_tokens_details: { cached_tokens: 500, cache_write_tokens: 200 } });
const CLAUDE = {
  input_tokens: 10,
  output_tokens: 12,
  cache_read_input_tokens: 100,
  cache_creation_input_tokens: 50,
  cache_creation: { ephemeral_5m_input_tokens: 30, ephemeral_1h_input_tokens: 20 },
};
/** 10 x 3 + 100 x 0.30 + 30 x 3.75 + 20 x 6 + 12 x 15, for a million each. */
const CLAUDE_COST = '0.0004725';
const CLAUDE_LINE = {
  input_tokens: 160,
  output_tokens: 12,
  cache_read_tokens: 100,
  cache_write_tokens: 50,
  cache_write_1h_tokens: 20,
  cost_usd: CLAUDE_COST,
  price_version: expect.stringMatching(/^anthropic-20\d\d-\d\d-\d\d$/),
};

interface Case {
  readonly path?: string;
  readonly integration?: string;
  readonly body: object;
  readonly reply: Reply;
  readonly line: object;
}

const CASES: Readonly<Record<string, Case>> = {
  'a whole answer': {
    body: { model: 'gpt-4o' },
    reply: chat(),
    // 9 x 2.50 + 12 x 10
    line: {
      input_tokens: 9,
      output_tokens: 12,
      cost_usd: '0.0001425',
      integration: 'default/plain',
      sent_model: undefined,
    },
  },
  'a stream whose usage the caller did not ask for': {
    body: { model: 'gpt-4o', stream: true },
    reply: chatStream(),
    line: { cost_usd: '0.0001425', stream: true },
  },
  'a whole answer with cached tokens': {
    body: { model: 'gpt-4o' },
    reply: chat({ usage: CACHED }),
    // 60 x 2.50 + 40 x 1.25 + 12 x 10
    line: { input_tokens: 100, cache_read_tokens: 40, cost_usd: '0.00032' },
  },
  'a stream with cached tokens': {
    body: { model: 'gpt-4o', stream: true },
    reply: chatStream({ usage: CACHED }),
    line: { input_tokens: 100, cache_read_tokens: 40, cost_usd: '0.00032' },
  },
  'reasoning, which is a part of the answer': {
    body: { model: 'o4-mini' },
    reply: chat({ usage: REASONED }),
    // 10 x 1.10 + 300 x 4.40
    line: { output_tokens: 300, reasoning_tokens: 256, cost_usd: '0.001331' },
  },
  'speech, heard and spoken': {
    body: { model: 'gpt-audio' },
    reply: chat({ usage: SPOKEN }),
    // 60 x 2.50 + 40 x 32 + 20 x 10 + 30 x 64
    line: { input_audio_tokens: 40, output_audio_tokens: 30, cost_usd: '0.00355', cache_read_tokens: undefined },
  },
  'writes to the cache': {
    body: { model: 'gpt-6.1-sol' },
    reply: chat({ usage: WRITTEN }),
    // 300 x 2 + 500 x 0.10 + 200 x 2.50 + 10 x 10
    line: { cache_read_tokens: 500, cache_write_tokens: 200, cost_usd: '0.00125' },
  },
  'a message': {
    path: MESSAGES,
    integration: 'claude',
    body: { model: 'claude-sonnet-4-6' },
    reply: message({ usage: CLAUDE }),
    line: CLAUDE_LINE,
  },
  'a stream of messages': {
    path: MESSAGES,
    integration: 'claude',
    body: { model: 'claude-sonnet-4-6', stream: true },
    reply: messageStream({ usage: CLAUDE }),
    line: CLAUDE_LINE,
  },
  'a message that is asked for as a chat': {
    integration: 'claude',
    body: { model: 'claude-sonnet-4-6' },
    reply: message({ usage: CLAUDE }),
    line: CLAUDE_LINE,
  },
  'a stream of messages that is asked for as a chat': {
    integration: 'claude',
    body: { model: 'claude-sonnet-4-6', stream: true },
    reply: messageStream({ usage: CLAUDE }),
    line: CLAUDE_LINE,
  },
  'thinking of a message': {
    path: MESSAGES,
    integration: 'claude',
    body: { model: 'claude-sonnet-4-6' },
    reply: message({ usage: { input_tokens: 10, output_tokens: 12, output_tokens_details: { thinking_tokens: 8 } } }),
    line: { reasoning_tokens: 8, cost_usd: '0.00021' },
  },
  'a chat that is asked for as a message': {
    path: MESSAGES,
    body: { model: 'gpt-4o' },
    reply: chat({ usage: CACHED }),
    line: { cost_usd: '0.00032', endpoint: 'messages' },
  },
  'an embedding': {
    path: '/v1/embeddings',
    body: { model: 'text-embedding-3-small', input: 'x' },
    reply: json(200, openAiEmbedding()),
    line: { input_tokens: 3, output_tokens: 0, cost_usd: '0.00000006', endpoint: 'embed' },
  },
  'a model with a slug before it': {
    body: { model: '@plain/gpt-4o' },
    reply: chat(),
    line: { model: '@plain/gpt-4o', sent_model: 'gpt-4o', cost_usd: '0.0001425' },
  },
  'a price of the Integration, by the request and the token': {
    integration: 'house',
    body: { model: 'house-model' },
    reply: chat(),
    line: { cost_usd: '0.001033', price_version: 'house 1' },
  },
  'a long prompt': {
    integration: 'house',
    body: { model: 'house-model' },
    reply: chat({ usage: tokens(1_001, 0) }),
    line: { cost_usd: '0.01101' },
  },
  'a discount': {
    integration: 'half',
    body: { model: 'o4-mini' },
    reply: chat({ usage: REASONED }),
    // (10 x 1.10 + 44 x 4.40) / 2 + 256 x 4.40 x 2
    line: { cost_usd: '0.0023551', price_version: expect.stringMatching(/ x0\.5,reasoning_token=2$/) },
  },
  'a name that stands for a model, by the model that answered': {
    body: { model: 'the-usual' },
    reply: chat({ model: 'gpt-4o-2024-08-06' }),
    line: { cost_usd: '0.0001425' },
  },
  'a model that nobody knows a price of': {
    body: { model: 'gpt-99' },
    reply: chat({ model: 'gpt-99' }),
    line: { input_tokens: 9, output_tokens: 12, cost_unknown: true, cost_usd: undefined, price_version: undefined },
  },
  'an answer whose provider does not count': {
    body: { model: 'gpt-4o', messages: [{ role: 'user', content: 'x'.repeat(3_000) }] },
    reply: json(200, { ...openAiChat({ text: 'y'.repeat(4_000) }), usage: undefined }),
    line: { estimated: true, cost_usd: expect.stringMatching(/^0\.01[2-6]/) },
  },
  'a stream whose provider does not count': {
    body: { model: 'gpt-4o', stream: true },
    reply: chatStream({ text: 'one two three', includeUsage: false }),
    line: { estimated: true, output_tokens: expect.any(Number), cost_usd: expect.stringMatching(/^0\.000/) },
  },
};

function lineOf({ path = CHAT, integration = 'plain', body, reply }: Case) {
  stage.at(0).answer(reply);
  return stage.lineOf(path, integration, { ...ASKED, ...body });
}

describe('the line of a request says what it cost', () => {
  it.each(Object.entries(CASES))('%s', async (_what, asked) => {
    const line = await lineOf(asked);
    expect(line).toMatchObject(
      Object.fromEntries(Object.entries(asked.line).filter(([, value]) => value !== undefined)),
    );
    for (const [field, value] of Object.entries(asked.line))
      if (value === undefined) expect(line).not.toHaveProperty(field);
    if (!('estimated' in asked.line)) expect(line).not.toHaveProperty('estimated');
    if (!('cost_unknown' in asked.line)) expect(line).not.toHaveProperty('cost_unknown');
  });
});

describe('what used nothing costs nothing, and says nothing of it', () => {
  it.each<[string, string, string, object, Reply]>([
    ['an error of the upstream', CHAT, 'plain', {}, problem(500)],
    ['a refusal of the upstream', CHAT, 'plain', {}, problem(400)],
    ['an answer that is none', CHAT, 'plain', {}, json(200, ['x'])],
    ['a bad request', CHAT, 'plain', { messages: [] }, chat()],
    ['a count of tokens', `${MESSAGES}/count_tokens`, 'claude', {}, json(200, { input_tokens: 14 })],
  ])('%s', async (_what, path, integration, more, reply) => {
    stage.at(0).answer(reply);
    const line = await stage.lineOf(path, integration, { ...ASKED, model: 'gpt-4o', ...more });
    for (const field of ['cost_usd', 'cost_unknown', 'estimated', 'price_version'])
      expect(line).not.toHaveProperty(field);
  });
});

describe('a stream that breaks off is billed by what came of it', () => {
  const words = (count: number) => Array.from({ length: count }, () => 'word').join(' ');

  it.each<[string, Case, { input: number; output: number }]>([
    [
      'a chat',
      {
        body: { model: 'gpt-4o', stream: true },
        reply: pieces(openAiEvents({ text: words(50) }).slice(0, 41), { ending: 'reset', gapMs: 1 }),
        line: {},
      },
      { input: 1, output: 30 },
    ],
    [
      'a message, whose prompt the provider had counted',
      {
        path: MESSAGES,
        integration: 'claude',
        body: { model: 'claude-sonnet-4-6', stream: true },
        reply: pieces(anthropicEvents({ text: words(50), usage: CLAUDE }).slice(0, 41), { ending: 'reset', gapMs: 1 }),
        line: {},
      },
      { input: 160, output: 30 },
    ],
  ])('%s', async (_what, asked, least) => {
    const line = await lineOf(asked);
    expect(line).toMatchObject({ stream_failed: true, estimated: true, error: 'upstream_cut' });
    expect(Number(line['input_tokens'])).toBeGreaterThanOrEqual(least.input);
    expect(Number(line['output_tokens'])).toBeGreaterThanOrEqual(least.output);
    expect(Number(line['output_tokens'])).toBeLessThan(50);
    expect(Number(line['cost_usd'])).toBeGreaterThan(0);
  });

  it('by its caller too', async () => {
    const leaving = new AbortController();
    stage.at(0).answer(
      pieces(
        openAiChunks({ text: words(500) }).map((chunk) => `data: ${JSON.stringify(chunk)}\n\n`),
        { gapMs: 2 },
      ),
    );
    setTimeout(() => leaving.abort(), 400);
    const line = await stage.lineOf(CHAT, 'plain', { ...ASKED, model: 'gpt-4o', stream: true }, leaving.signal);
    expect(line).toMatchObject({ status: 499, estimated: true });
    expect(Number(line['output_tokens'])).toBeGreaterThan(0);
    expect(Number(line['output_tokens'])).toBeLessThan(500);
    expect(Number(line['cost_usd'])).toBeGreaterThan(0);
  });
});

describe('a caller who leaves before the answer', () => {
  it.each([false, true])('pays for the prompt that the provider was sent: stream %s', async (stream) => {
    const leaving = new AbortController();
    stage.at(0).answer(hangBeforeHeaders);
    const before = stage.at(0).calls.length;
    const line = stage.lineOf(CHAT, 'plain', { ...ASKED, model: 'gpt-4o', stream }, leaving.signal);
    await stage.at(0).called(before + 1);
    leaving.abort();
    expect(await line).toMatchObject({ status: 499, estimated: true, output_tokens: 0 });
    expect(Number((await line)['input_tokens'])).toBeGreaterThan(0);
    expect(Number((await line)['cost_usd'])).toBeGreaterThan(0);
  });
});

describe('metrics', () => {
  it('are the sum of the lines, to the last digit', async () => {
    const lines = (await stage.gateway.logs()).filter(({ msg }) => msg === 'request');
    const pico = (dollars: unknown) => {
      const [whole = '0', fraction = ''] = String(dollars).split('.');
      return BigInt(whole + fraction.padEnd(12, '0'));
    };
    const spent = lines.flatMap((line) => (line['cost_usd'] === undefined ? [] : [pico(line['cost_usd'])]));
    expect(spent.length).toBeGreaterThan(20);
    const text = await stage.gateway.metrics();
    const series = text.split('\n').filter((line) => line.startsWith('modelgateway_cost_usd_total{'));
    const counted = series.map((line) => pico(line.slice(line.lastIndexOf(' ') + 1)));
    const sum = (amounts: readonly bigint[]) => amounts.reduce((total, amount) => total + amount, 0n);
    expect(sum(counted)).toBe(sum(spent));
    expect(text).toContain('modelgateway_cost_usd_total{provider="anthropic",model="claude-test"} ');
  });

  it('count what has no known price', async () => {
    const labels = { provider: 'openai', model: 'gpt-99' };
    expect(await stage.gateway.metric('modelgateway_cost_unknown_total', labels)).toBe(1);
    expect(await stage.gateway.metric('modelgateway_cost_unknown_total')).toBe(1);
    expect(await stage.gateway.metrics()).not.toContain(
      'modelgateway_cost_usd_total{provider="openai",model="gpt-99"}',
    );
  });
});

it('a price that changes is the next request’s', async () => {
  const before = await lineOf({ integration: 'house', body: { model: 'house-model' }, reply: chat(), line: {} });
  stage.gateway.apply(stage.manifests.replaceAll('"house 1"', '"house 2"').replaceAll('"0.001"', '"1"'));
  const after = await lineOf({ integration: 'house', body: { model: 'house-model' }, reply: chat(), line: {} });
  expect([before['cost_usd'], before['price_version']]).toEqual(['0.001033', 'house 1']);
  expect([after['cost_usd'], after['price_version']]).toEqual(['1.000033', 'house 2']);
});
