/** Bounds of request fields: what lies outside is a 400 that names the field, what lies at the edge goes on. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { failureOf, type Stage, startStage, target } from '../conformance/stage.ts';
import { config, defaultConfig } from '../fakes/objects.ts';
import type { Upstream } from '../fakes/upstream.ts';

let stage: Stage;
beforeAll(async () => {
  stage = await startStage(1, ([upstream]) => {
    const up = upstream as Upstream;
    return defaultConfig('house', target(up)) + config('anthropic', target(up, { provider: 'anthropic' }));
  });
});
afterAll(() => stage.close());

const MESSAGES = [{ role: 'user', content: 'Hi' }];
const GOOD: Readonly<Record<string, object>> = {
  '/v1/chat/completions': { model: 'm', messages: MESSAGES },
  '/v1/completions': { model: 'm', prompt: 'Hi' },
  '/v1/embeddings': { model: 'm', input: 'Hi' },
  '/v1/messages': { model: 'm', max_tokens: 5, messages: MESSAGES },
};

type Case = readonly [path: string, field: string, bad: readonly unknown[], good: readonly unknown[], beside?: object];

const fn = (index: number) => ({ type: 'function', function: { name: `f${index}`, parameters: {} } });
const many = <T>(count: number, make: (index: number) => T): T[] =>
  Array.from({ length: count }, (_, index) => make(index));

const SAMPLING = (path: string): Case[] => [
  [path, 'temperature', [-0.01, 2.01, '1', true, [], {}], [0, 2, 1.5, null]],
  [path, 'top_p', [-0.01, 1.01, '1', false], [0, 1, 0.5, null]],
  [path, 'frequency_penalty', [-2.01, 2.01, '0'], [-2, 2, 0]],
  [path, 'presence_penalty', [-2.01, 2.01, '0'], [-2, 2, 0]],
  [path, 'n', [0, 129, 1.5, '1', -1], [1, 128]],
  [path, 'seed', [1.5, '7', 1e30, -1e30], [0, -7, 9007199254740991]],
  [path, 'stop', [many(5, String), [1], 7, {}, [null]], ['END', ['a', 'b', 'c', 'd'], [], null]],
  [path, 'stream', ['true', 1, {}], [false, null]],
  [path, 'logit_bias', [{ 1: 101 }, { 1: -101 }, { 1: 'x' }, [], 'x'], [{ 1: 100, 2: -100 }, {}]],
  [path, 'user', [7, {}, true], ['u', '']],
];

const CASES: readonly Case[] = [
  ...SAMPLING('/v1/chat/completions'),
  ...SAMPLING('/v1/completions'),
  [
    '/v1/chat/completions',
    'messages',
    [[], 'Hi', {}, null, [1], [null], [{ content: 'x' }], [{ role: 7 }]],
    [MESSAGES],
  ],
  ['/v1/chat/completions', 'model', ['', 7, {}, 'a\nb', 'a\0b'], ['m', 'org/m', 'm:free', 'ü']],
  ['/v1/chat/completions', 'max_tokens', [-1, 1.5, '5'], [0, 1, 1_000_000]],
  ['/v1/chat/completions', 'max_completion_tokens', [-1, 1.5, '5'], [0, 1]],
  ['/v1/chat/completions', 'logprobs', [1, 'true'], [true, false]],
  ['/v1/chat/completions', 'top_logprobs', [-1, 21, 1.5, '3'], [0, 20], { logprobs: true }],
  ['/v1/chat/completions', 'top_logprobs', [3], [], {}],
  ['/v1/chat/completions', 'stream_options', [{ include_usage: true }], [], {}],
  ['/v1/chat/completions', 'stream_options', ['x', [], 1], [], { stream: true }],
  ['/v1/chat/completions', 'tools', [many(129, fn), 'x', {}], [[], many(128, fn)]],
  ['/v1/chat/completions', 'functions', [[], many(129, fn), {}], [many(1, fn), many(128, fn)]],
  ['/v1/chat/completions', 'response_format', ['json', [], 7], [{ type: 'text' }, { type: 'json_object' }]],
  ['/v1/chat/completions', 'thinking', ['on', [], 7], [{ type: 'enabled', budget_tokens: 1024 }]],
  ['/v1/chat/completions', 'parallel_tool_calls', ['x', 1], [true, false]],
  ['/v1/completions', 'prompt', [[], 7, {}, null], ['', 'x', ['a', 'b'], [1, 2], [[1], [2]]]],
  ['/v1/completions', 'best_of', [-1, 21, 1.5], [0, 20]],
  ['/v1/completions', 'best_of', [3, 2], [4], { n: 3 }],
  ['/v1/completions', 'best_of', [3], [], { stream: true }],
  ['/v1/completions', 'echo', ['x', 1], [true, false]],
  ['/v1/completions', 'logprobs', [-1, 6, 'x', true], [0, 5]],
  ['/v1/completions', 'max_tokens', [-1, 0.5], [0, 16]],
  ['/v1/completions', 'suffix', [7, {}], ['', 'x']],
  ['/v1/embeddings', 'input', [[], 7, {}, null], ['x', ['a'], [1, 2], [[1]]]],
  ['/v1/embeddings', 'dimensions', [0, 1.5, 'x'], [1, 256]],
  ['/v1/embeddings', 'user', [7], ['u']],
  ['/v1/messages', 'max_tokens', [-1, 1.5, 'x', null], [0, 1, 4096]],
  ['/v1/messages', 'messages', [[], 'x', null, [{ content: 'x' }]], [MESSAGES]],
  ['/v1/messages', 'temperature', [-0.1, 1.1, 'x'], [0, 1]],
  ['/v1/messages', 'top_p', [-0.1, 1.1], [0, 1]],
  ['/v1/messages', 'stream', ['x', 1], [false]],
  ['/v1/messages', 'stop_sequences', ['x', {}], [[], many(8, String)]],
  ['/v1/messages', 'tools', ['x', {}], [[]]],
];

const label = (value: unknown) => (JSON.stringify(value) ?? 'nothing').slice(0, 40);
const BAD = CASES.flatMap(([path, field, bad, , beside = {}]) =>
  bad.map((value) => [path, field, label(value), value, beside] as const),
);
const EDGE = CASES.flatMap(([path, field, , good, beside = {}]) =>
  good.map((value) => [path, field, label(value), value, beside] as const),
);

function ask(path: string, body: object): Promise<Response> {
  return stage.gateway.post(path, body, path === '/v1/messages' ? { 'x-gateway-config': 'anthropic' } : {});
}

describe('outside', () => {
  it.each(BAD)('%s: %s may not be %s', async (path, field, _label, value, beside) => {
    const before = stage.at(0).calls.length;
    const failure = await failureOf(await ask(path, { ...GOOD[path], ...beside, [field]: value }));
    expect(failure.status).toBe(400);
    expect(failure.type).toBe('invalid_request_error');
    expect(failure.message).toContain(field);
    if (path !== '/v1/messages') expect(failure.param).toBe(field);
    expect(stage.at(0).calls.length).toBe(before);
  });
});

describe('within', () => {
  it.each(EDGE)('%s: %s may be %s', async (path, field, _label, value, beside) => {
    const response = await ask(path, { ...GOOD[path], ...beside, [field]: value });
    await response.text();
    expect(response.status).toBe(200);
    expect(stage.at(0).json(-1)[field]).toEqual(value);
  });

  it.each([
    ['/v1/chat/completions', 'messages'],
    ['/v1/completions', 'prompt'],
    ['/v1/embeddings', 'input'],
    ['/v1/messages', 'messages'],
    ['/v1/messages', 'max_tokens'],
  ])('%s without %s is a 400 that names it', async (path, field) => {
    const { [field]: _, ...rest } = { ...(GOOD[path] as Record<string, unknown>) };
    const failure = await failureOf(await ask(path, rest));
    expect(failure).toMatchObject({ status: 400, type: 'invalid_request_error' });
    expect(failure.message).toContain(field);
  });
});
