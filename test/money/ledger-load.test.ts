/** The ledger adds up: after a load of all kinds it says what the upstream served, to the last digit (invariant 3 and 4). */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { anthropicEvents, anthropicMessage } from '../fakes/anthropic-wire.ts';
import { apiKey } from '../fakes/objects.ts';
import { openAiChat, openAiEvents } from '../fakes/openai-wire.ts';
import { json, pieces, problem, type Reply } from '../fakes/replies.ts';
import type { Call } from '../fakes/upstream.ts';
import { waitFor } from '../fakes/wait-for.ts';
import { type LedgerFile, ledgerFile, type Row } from './ledger-file.ts';
import { type MoneyStage, startMoneyStage } from './money-stage.ts';

const REQUESTS = 2_000;
const WIDTH = 24;
const KEYS = ['test', 'one', 'two'] as const;
type Key = (typeof KEYS)[number];

interface Served {
  readonly input: number;
  readonly cached: number;
  readonly output: number;
}

/** Different for each request, so that sums cannot be right by chance. */
function servedTo(number: number): Served {
  return { input: 2 * number + 40, cached: number % 37, output: 3 * number + 7 };
}

/** Units of 1e-12 US dollars for a token: input, cached input, output. */
const PRICES = {
  'gpt-4o': [2_500_000, 1_250_000, 10_000_000],
  'claude-sonnet-4-6': [3_000_000, 300_000, 15_000_000],
} as const;
type Model = keyof typeof PRICES;

function costOf(model: Model, { input, cached, output }: Served): bigint {
  const [fresh, read, answer] = PRICES[model];
  return BigInt(input - cached) * BigInt(fresh) + BigInt(cached) * BigInt(read) + BigInt(output) * BigInt(answer);
}

function chatAnswer(number: number) {
  const { input, cached, output } = servedTo(number);
  const usage = { prompt_tokens: input, completion_tokens: output, total_tokens: input + output };
  return { text: `about ${number}`, usage: { ...usage, prompt_tokens_details: { cached_tokens: cached } } };
}

function messageAnswer(number: number) {
  const { input, cached, output } = servedTo(number);
  const usage = { input_tokens: input - cached, cache_read_input_tokens: cached, output_tokens: output };
  return { text: `about ${number}`, usage };
}

interface Way {
  readonly model?: Model;
  readonly path: string;
  readonly integration: string;
  readonly stream: boolean;
  reply(number: number): Reply;
}

const CHAT = { path: '/v1/chat/completions', integration: 'plain' };
const MESSAGE = { path: '/v1/messages', integration: 'claude' };

/** With a model: the upstream served it, so that it is to be paid. */
const WAYS: readonly Way[] = [
  { ...CHAT, model: 'gpt-4o', stream: false, reply: (number) => json(200, openAiChat(chatAnswer(number))) },
  { ...CHAT, model: 'gpt-4o', stream: true, reply: (number) => pieces(openAiEvents(chatAnswer(number))) },
  {
    ...MESSAGE,
    model: 'claude-sonnet-4-6',
    stream: false,
    reply: (number) => json(200, anthropicMessage(messageAnswer(number))),
  },
  {
    ...MESSAGE,
    path: CHAT.path,
    model: 'claude-sonnet-4-6',
    stream: true,
    reply: (number) => pieces(anthropicEvents(messageAnswer(number))),
  },
  { ...CHAT, stream: false, reply: () => problem(500) },
  { ...CHAT, stream: false, reply: () => json(200, 'garbled') },
  {
    ...CHAT,
    stream: true,
    reply: (number) => pieces(openAiEvents(chatAnswer(number)).slice(0, 2), { ending: 'reset', gapMs: 1 }),
  },
];

function wayOf(number: number): Way {
  const way = WAYS[number % WAYS.length];
  if (way === undefined) throw new Error('no way');
  return way;
}

let stage: MoneyStage;
let file: LedgerFile;
let rows: readonly Row[];
let lines: readonly Readonly<Record<string, unknown>>[];

async function ask(number: number): Promise<void> {
  const { path, integration, model = 'gpt-4o', stream } = wayOf(number);
  const key = KEYS[number % KEYS.length] ?? 'test';
  const headers = {
    'x-gateway-provider': `@${integration}`,
    ...(key === 'test' ? {} : { 'x-gateway-api-key': `key-of-${key}-0123456789` }),
  };
  const body = { model, stream, max_tokens: 9, messages: [{ role: 'user', content: String(number) }] };
  const response = await stage.gateway.post(path, body, headers);
  await response.text().catch(() => '');
}

beforeAll(async () => {
  file = ledgerFile();
  stage = await startMoneyStage({ ledgerFile: file.path });
  stage.gateway.apply(
    stage.manifests + apiKey('one', 'key-of-one-0123456789') + apiKey('two', 'key-of-two-0123456789'),
  );
  stage.at(0).answer((call: Call) => {
    const { messages } = JSON.parse(call.body) as { messages: { content: string | { text: string }[] }[] };
    const said = messages[0]?.content ?? '';
    const number = Number(typeof said === 'string' ? said : said[0]?.text);
    return wayOf(number).reply(number);
  });
  let next = 0;
  const caller = async () => {
    while (next < REQUESTS) await ask(next++);
  };
  await Promise.all(Array.from({ length: WIDTH }, caller));
  await waitFor(async () => (await stage.gateway.metric('modelgateway_requests_in_flight')) === 0, 'the last request');
  lines = (await stage.gateway.logs()).filter(({ msg }) => msg === 'request');
  await stage.gateway.close();
  rows = file.rows('SELECT *, CAST(cost AS TEXT) AS exact FROM entries');
}, 120_000);
afterAll(async () => {
  await stage.close();
  file.remove();
});

const NUMBERS = Array.from({ length: REQUESTS }, (_, number) => number);
const SERVED = NUMBERS.flatMap((number) => {
  const { model } = wayOf(number);
  return model === undefined ? [] : [{ number, model, key: KEYS[number % KEYS.length] as Key, ...servedTo(number) }];
});

function total(amounts: readonly unknown[]): number {
  return amounts.reduce<number>((sum, amount) => sum + Number(amount), 0);
}

function spent(entries: readonly Row[]): bigint {
  return entries.reduce((sum, { exact }) => sum + BigInt(String(exact)), 0n);
}

function owed(served: typeof SERVED): bigint {
  return served.reduce((sum, each) => sum + costOf(each.model, each), 0n);
}

describe('after 2,000 requests', () => {
  const counted = () => rows.filter(({ estimated }) => estimated === 0);

  it('there is one entry for each request that was served', () => {
    expect(lines).toHaveLength(REQUESTS);
    expect(counted()).toHaveLength(SERVED.length);
    expect(new Set(rows.map((row) => row['request_id'])).size).toBe(rows.length);
  });

  it('usage is what the upstream served', () => {
    expect(total(counted().map((row) => row['input_tokens']))).toBe(total(SERVED.map(({ input }) => input)));
    expect(total(counted().map((row) => row['cache_read_tokens']))).toBe(total(SERVED.map(({ cached }) => cached)));
    expect(total(counted().map((row) => row['output_tokens']))).toBe(total(SERVED.map(({ output }) => output)));
  });

  it('money is what that costs, of each key and in all', () => {
    expect(spent(counted())).toBe(owed(SERVED));
    for (const key of KEYS) {
      const own = SERVED.filter((served) => served.key === key);
      expect(own.length).toBeGreaterThan(300);
      expect(spent(counted().filter((row) => row['key'] === key)), key).toBe(owed(own));
    }
  });

  it('a query by key says the same', () => {
    const sums = file.rows(
      'SELECT key, CAST(sum(cost) AS TEXT) AS units FROM entries WHERE estimated = 0 GROUP BY key ORDER BY key',
    );
    expect(sums).toEqual(
      KEYS.toSorted().map((key) => ({ key, units: String(owed(SERVED.filter((served) => served.key === key))) })),
    );
  });

  it('streams that broke off are there as estimates', () => {
    const broken = NUMBERS.filter((number) => number % WAYS.length === WAYS.length - 1);
    const estimates = rows.filter(({ estimated }) => estimated === 1);
    // A break before the first event is none of its business: nothing was answered.
    expect(estimates.length).toBeGreaterThan(0);
    expect(estimates.length).toBeLessThanOrEqual(broken.length);
    for (const row of estimates) expect(Number(row['cost'])).toBeGreaterThan(0);
  });

  it('the log says what the ledger says', () => {
    const byId = new Map(lines.map((line) => [line['request_id'], line]));
    for (const row of rows) {
      const line = byId.get(row['request_id']);
      const [whole = '', fraction = ''] = String(line?.['cost_usd']).split('.');
      expect(BigInt(whole + fraction.padEnd(12, '0'))).toBe(BigInt(String(row['exact'])));
      expect(line).toMatchObject({
        caller: row['key'],
        provider: row['provider'],
        integration: row['integration'],
        input_tokens: row['input_tokens'],
        output_tokens: row['output_tokens'],
        price_version: row['price_version'],
      });
    }
    expect(lines.filter((line) => 'cost_usd' in line)).toHaveLength(rows.length);
  });
});
