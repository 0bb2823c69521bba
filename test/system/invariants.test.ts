/** What must hold after any load: nothing lost, nothing twice, nothing mixed, nothing left behind. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Stage, startStage, target } from '../conformance/stage.ts';
import { config, defaultConfig } from '../fakes/objects.ts';
import { openAiChat, openAiEvents } from '../fakes/openai-wire.ts';
import { chat, chatStream, hangBeforeHeaders, json, after as later, pieces, type Reply } from '../fakes/replies.ts';
import type { Call, Upstream } from '../fakes/upstream.ts';
import { waitFor } from '../fakes/wait-for.ts';

const REQUESTS = 480;
const WIDTH = 24;

interface Tokens {
  input: number;
  output: number;
}

/** What an upstream says of itself and of the request, in every word of its answer. */
function wordsOf(upstream: number, call: Call): string {
  const { messages } = JSON.parse(call.body) as { messages: { content: string }[] };
  return Array(6).fill(`${upstream}/${messages[0]?.content}`).join(' ');
}

/** Ways in which a request can go, by the model that it names. `counts`: its usage reaches the caller. */
const WAYS: Readonly<
  Record<string, { readonly counts: boolean; readonly stream?: boolean; reply(upstream: number, call: Call): Reply }>
> = {
  whole: { counts: true, reply: (upstream, call) => chat({ text: wordsOf(upstream, call), usage: usageOf(call) }) },
  slow: {
    counts: true,
    reply: (upstream, call) => later(20, chat({ text: wordsOf(upstream, call), usage: usageOf(call) })),
  },
  stream: {
    counts: true,
    stream: true,
    reply: (upstream, call) => chatStream({ text: wordsOf(upstream, call), usage: usageOf(call) }, { gapMs: 1 }),
  },
  // The first target refuses, the second answers.
  moved: {
    counts: true,
    reply: (upstream, call) =>
      upstream === 0 ? json(503, {}) : chat({ text: wordsOf(upstream, call), usage: usageOf(call) }),
  },
  // The first target breaks off before its first event, the second answers.
  rescued: {
    counts: true,
    stream: true,
    reply: (upstream, call) =>
      upstream === 0
        ? pieces([': nothing yet\n\n'], { ending: 'reset' })
        : chatStream({ text: wordsOf(upstream, call), usage: usageOf(call) }),
  },
  refused: { counts: false, reply: () => json(400, { error: { message: 'no' } }) },
  failing: { counts: false, reply: () => json(500, { error: { message: 'no' } }) },
  garbled: { counts: false, reply: () => json(200, [openAiChat()]) },
  cut: {
    counts: false,
    stream: true,
    reply: (upstream, call) =>
      pieces(openAiEvents({ text: wordsOf(upstream, call) }).slice(0, 4), { ending: 'reset', gapMs: 1 }),
  },
  hanging: { counts: false, reply: () => hangBeforeHeaders },
  invalid: { counts: false, reply: () => json(500, {}) },
};
const NAMES = Object.keys(WAYS);

function numberOf(call: Call): number {
  const { messages } = JSON.parse(call.body) as { messages: { content: string }[] };
  return Number(messages[0]?.content);
}

/** Different for each request, so that sums cannot be right by chance. */
function usageOf(call: Call) {
  const number = numberOf(call);
  const usage = { prompt_tokens: number + 1, completion_tokens: 2 * number + 3 };
  return { ...usage, total_tokens: usage.prompt_tokens + usage.completion_tokens };
}

interface Answer {
  readonly number: number;
  readonly way: string;
  /** undefined: the caller left. */
  readonly status: number | undefined;
  readonly text: string;
  readonly requestId: string | null;
}

let stage: Stage;
let answers: Answer[];
let lines: readonly Readonly<Record<string, unknown>>[];
let metrics: string;
const served: Tokens = { input: 0, output: 0 };
/** By number: they leave once the upstream has their call. */
const leavers = new Map<number, AbortController>();

function script(upstream: number): (call: Call) => Reply {
  return (call) => {
    const { model } = JSON.parse(call.body) as { model: string };
    const way = WAYS[model];
    if (way === undefined) throw new Error(`nobody asked for ${model}`);
    const isAnswer = way.counts && (upstream === 1 || !['moved', 'rescued'].includes(model));
    if (model === 'hanging') setTimeout(() => leavers.get(numberOf(call))?.abort(), 20);
    if (isAnswer) {
      served.input += usageOf(call).prompt_tokens;
      served.output += usageOf(call).completion_tokens;
    }
    return way.reply(upstream, call);
  };
}

async function ask(number: number): Promise<Answer> {
  const way = NAMES[number % NAMES.length] ?? '';
  const { stream = false } = WAYS[way] ?? {};
  const body = { model: way, stream, messages: way === 'invalid' ? [] : [{ role: 'user', content: String(number) }] };
  const headers: Record<string, string> = ['moved', 'rescued'].includes(way) ? { 'x-gateway-config': 'spare' } : {};
  const leaving = new AbortController();
  leavers.set(number, leaving);
  try {
    const response = await stage.gateway.chat(body, headers, leaving.signal);
    const requestId = response.headers.get('x-request-id');
    return { number, way, status: response.status, text: await response.text(), requestId };
  } catch {
    return { number, way, status: undefined, text: '', requestId: null };
  }
}

async function load(): Promise<Answer[]> {
  const gathered: Answer[] = [];
  let next = 0;
  const caller = async () => {
    while (next < REQUESTS) {
      next += 1;
      gathered.push(await ask(next));
    }
  };
  await Promise.all(Array.from({ length: WIDTH }, caller));
  return gathered;
}

beforeAll(async () => {
  stage = await startStage(2, (upstreams) => {
    const [one, two] = upstreams.map((upstream: Upstream) => target(upstream));
    return defaultConfig('house', one ?? {}) + config('spare', { strategy: { mode: 'fallback' }, targets: [one, two] });
  });
  stage.upstreams.forEach((upstream, index) => {
    upstream.answer(script(index));
  });
  answers = await load();
  await waitFor(async () => (await stage.gateway.metric('modelgateway_requests_in_flight')) === 0, 'the last request');
  lines = (await stage.gateway.logs()).filter(({ msg }) => msg === 'request');
  metrics = await stage.gateway.metrics();
});
afterAll(() => stage.close());

function countBy<T>(items: readonly T[], keyOf: (item: T) => unknown): Record<string, number> {
  return Object.fromEntries(
    [...Map.groupBy(items, (item) => String(keyOf(item)))].map(([key, group]) => [key, group.length]),
  );
}

function sum(values: readonly unknown[]): number {
  return values.reduce<number>((total, value) => total + Number(value ?? 0), 0);
}

function series(name: string, label: string): number {
  const found = metrics.split('\n').filter((line) => line.startsWith(`${name}{`) && line.includes(label));
  return sum(found.map((line) => line.slice(line.lastIndexOf(' ') + 1)));
}

describe('after a mixed load', () => {
  it('every way was gone, and every one of them ended as it must', () => {
    const wanted: Readonly<Record<string, number | undefined>> = {
      refused: 400,
      failing: 500,
      garbled: 502,
      hanging: undefined,
      invalid: 400,
    };
    expect(answers).toHaveLength(REQUESTS);
    for (const name of NAMES) {
      const ofWay = answers.filter(({ way }) => way === name);
      expect(ofWay.length, name).toBeGreaterThan(30);
      const status = name in wanted ? wanted[name] : 200;
      expect(
        countBy(ofWay, (answer) => answer.status),
        name,
      ).toEqual({ [String(status)]: ofWay.length });
    }
  });

  it('requests in are replies and callers who left, in the log and in the metrics', () => {
    const replied = answers.filter(({ status }) => status !== undefined);
    const left = answers.length - replied.length;
    expect(lines).toHaveLength(REQUESTS);
    expect(countBy(lines, ({ status }) => status)).toEqual({ ...countBy(replied, ({ status }) => status), 499: left });
    expect(series('modelgateway_requests_total', '')).toBe(REQUESTS);
    expect(series('modelgateway_requests_total', 'status="499"')).toBe(left);
    expect(series('modelgateway_request_duration_seconds_count', '')).toBe(REQUESTS);
  });

  it('each request was settled once', () => {
    expect(new Set(lines.map((line) => line['request_id'])).size).toBe(REQUESTS);
    const told = answers.flatMap(({ requestId }) => requestId ?? []);
    expect(new Set(told).size).toBe(told.length);
    expect(new Set(told).isSubsetOf(new Set(lines.map((line) => line['request_id'])))).toBe(true);
  });

  it('the sum of usage is what the upstreams served', () => {
    // Of a stream that was cut nobody said what it used.
    const told = lines.filter(({ estimated }) => estimated !== true);
    expect(served.output).toBeGreaterThan(10_000);
    expect(sum(told.map((line) => line['input_tokens']))).toBe(served.input);
    expect(sum(told.map((line) => line['output_tokens']))).toBe(served.output);
    expect(series('modelgateway_tokens_total', 'type="input"')).toBe(served.input);
    expect(series('modelgateway_tokens_total', 'type="output"')).toBe(served.output);
  });

  it('attempts are what the upstreams saw', () => {
    const seen = stage.upstreams
      .flatMap(({ calls }) => calls)
      .filter(({ body }) => JSON.parse(body).model !== 'hanging');
    const attempts = lines.filter(({ status }) => status !== 499).map((line) => line['attempts']);
    expect(sum(attempts)).toBe(seen.length);
  });

  it('no reply mixes two upstreams, or two requests', () => {
    const complete = answers.filter(({ way }) => WAYS[way]?.counts);
    for (const { number, way, text } of complete) {
      const upstream = ['moved', 'rescued'].includes(way) ? 1 : 0;
      const words = [...text.matchAll(/\d+\/\d+/g)].map(([word]) => word);
      expect(words.length, way).toBe(6);
      expect(new Set(words), way).toEqual(new Set([`${upstream}/${number}`]));
    }
  });

  it('a stream that was cut says so, and never that it is done', () => {
    for (const { text } of answers.filter(({ way }) => way === 'cut')) {
      expect(text).toContain('"code":"upstream_cut"');
      expect(text).not.toContain('[DONE]');
    }
    const ends = answers.filter(({ way }) => way === 'stream' || way === 'rescued').map(({ text }) => text.slice(-14));
    expect(new Set(ends)).toEqual(new Set(['data: [DONE]\n\n']));
  });

  it('upstreams of callers who left were let go of', async () => {
    const hanging = stage.at(0).calls.filter(({ body }) => JSON.parse(body).model === 'hanging');
    expect(hanging.length).toBeGreaterThan(0);
    await waitFor(() => hanging.every(({ abortedAt }) => abortedAt !== undefined), 'every hanging call to be aborted');
  });

  it('gauges are back, and no more connections are kept than were in use', async () => {
    expect(await stage.gateway.metric('modelgateway_requests_in_flight')).toBe(0);
    for (const { connections } of stage.upstreams) expect(connections.open).toBeLessThanOrEqual(WIDTH);
  });

  it('nothing was a defect', () => {
    expect(series('modelgateway_requests_total', 'code="internal"')).toBe(0);
    expect(lines.filter(({ level }) => level === 'error')).toEqual([]);
  });
});
