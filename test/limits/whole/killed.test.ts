/** Four real gateways on one real Redis, under load, of which one is killed every second: what must hold holds. */
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { apiKey } from '../../fakes/objects.ts';
import { openAiChat, openAiEvents } from '../../fakes/openai-wire.ts';
import { after, json, pieces, type Reply } from '../../fakes/replies.ts';
import type { Call } from '../../fakes/upstream.ts';
import { waitFor } from '../../fakes/wait-for.ts';
import { endAll } from '../../operator/embedded-process.ts';
import { rateLimit, usageLimit } from '../stage.ts';
import { describeRedis } from '../stores/describe-redis.ts';
import { mostInAnyWindow } from '../stores/windows.ts';
import { keyOf, type Line, PREFIX, type Processes, startProcesses } from './processes.ts';

const REPLICAS = 4;
const LANES = 6;
const LOAD_MS = process.env.CI === undefined ? 10_000 : 20_000;
const WINDOW_MS = 60_000;
const MAX_TOKENS = 40;
const PROMPT_TOKENS = 10;
/** gpt-4o: 1e-12 US dollars a token. */
const PRICE = { input: 2_500_000, output: 10_000_000 };
const PICO = 1e12;
/** Each has a limit of its own, which the load comes to on the way. */
const CALLERS = ['many', 'wordy', 'dear'] as const;
const REQUESTS_PER_MINUTE = 220;
const TOKENS_PER_MINUTE = 6_500;
const BUDGET = 0.05 * PICO;
/** A replica is forgotten after so long. */
const DEAD_AFTER_MS = 46_000;
const PATIENCE_MS = 60_000;

interface Ask {
  readonly number: number;
  readonly sentMs: number;
  /** undefined: the connection broke. */
  status: number | undefined;
  requestId: string | null;
  text: string;
}

const on = (caller: string) => ({ conditions: [{ key: 'api_key', value: caller }] });
const manifests = [
  ...CALLERS.map((caller) => apiKey(caller, keyOf(caller))),
  rateLimit('requests', { value: REQUESTS_PER_MINUTE, ...on('many') }),
  rateLimit('tokens', { type: 'tokens', value: TOKENS_PER_MINUTE, ...on('wordy') }),
  usageLimit('budget', { type: 'cost', credit_limit: BUDGET / PICO, ...on('dear') }),
].join('');

const callerOf = (number: number): (typeof CALLERS)[number] => CALLERS[number % CALLERS.length] ?? 'many';
const outputOf = (number: number): number => 1 + ((number * 7) % MAX_TOKENS);
const costOf = (number: number): number => PROMPT_TOKENS * PRICE.input + outputOf(number) * PRICE.output;

function numberOf({ body }: Call): number {
  const { messages } = JSON.parse(body) as { messages: readonly { content: string }[] };
  return Number(messages[0]?.content.split(' ')[1]);
}

function reply(call: Call): Reply {
  const number = numberOf(call);
  const usage = {
    prompt_tokens: PROMPT_TOKENS,
    completion_tokens: outputOf(number),
    total_tokens: PROMPT_TOKENS + outputOf(number),
  };
  const answer = { text: `served-${number} `.repeat(4), usage, model: 'gpt-4o' };
  if (number % 2 === 0) return after(number % 50, json(200, openAiChat(answer)));
  return pieces(openAiEvents(answer), { gapMs: 4 });
}

describeRedis('four gateways of which one is killed every second', () => {
  let processes: Processes;
  const asks: Ask[] = [];
  let kills = 0;
  let numbers = 0;

  async function ask(place: number): Promise<void> {
    numbers += 1;
    const one: Ask = { number: numbers, sentMs: performance.now(), status: undefined, requestId: null, text: '' };
    asks.push(one);
    const body = {
      model: 'gpt-4o',
      stream: one.number % 2 === 1,
      max_tokens: MAX_TOKENS,
      messages: [{ role: 'user', content: `number ${one.number} of many` }],
    };
    try {
      const response = await fetch(`${processes.at(place).origin}/v1/chat/completions`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', authorization: `Bearer ${keyOf(callerOf(one.number))}` },
        body: JSON.stringify(body),
      });
      one.requestId = response.headers.get('x-request-id');
      one.text = await response.text();
      one.status = response.status;
    } catch {
      // It was killed: wait until another one is in its place.
      await sleep(100);
    }
  }

  /** One of those that are up, as long as another one is. */
  async function killEverySecond(): Promise<void> {
    const up = new Set(processes.alive.keys());
    const replaced: Promise<void>[] = [];
    const untilMs = performance.now() + LOAD_MS;
    while (performance.now() < untilMs) {
      const [place] = up;
      if (place !== undefined && up.size > 1) {
        kills += 1;
        up.delete(place);
        replaced.push(processes.replace(place).then(() => void up.add(place)));
      }
      await sleep(1_000);
    }
    await Promise.all(replaced);
  }

  beforeAll(async () => {
    processes = await startProcesses(REPLICAS, manifests);
    processes.upstream.answer(reply);
    let isOver = false;
    const lane = async (place: number) => {
      while (!isOver) {
        await ask(place);
        await sleep(5);
      }
    };
    const load = Promise.all(Array.from({ length: REPLICAS * LANES }, (_, index) => lane(index % REPLICAS)));
    await killEverySecond();
    isOver = true;
    await load;
    const inFlight = async (place: number) =>
      /^modelgateway_requests_in_flight (\d+)/m.exec(await processes.page('/metrics', place))?.[1];
    for (let place = 0; place < REPLICAS; place += 1)
      await waitFor(async () => (await inFlight(place)) === '0', 'the end of all requests', PATIENCE_MS);
    await sleep(300);
  }, 180_000);
  afterAll(endAll);

  const callsOf = (...callers: readonly string[]) =>
    processes.upstream.calls.filter((call) => callers.includes(callerOf(numberOf(call))));
  const served = (...callers: readonly string[]) => callsOf(...callers).map(numberOf);
  const answered = () => asks.filter(({ status }) => status === 200);
  const sum = (amounts: readonly number[]) => amounts.reduce((total, amount) => total + amount, 0);
  const picos = (line: Line) => {
    const [whole = '', fraction = ''] = String(line['cost_usd'] ?? '0').split('.');
    return BigInt(whole + fraction.padEnd(12, '0'));
  };

  it('every request was answered, refused by a limit, or in the hands of one that was killed', () => {
    const statuses = Map.groupBy(asks, ({ status }) => status);
    expect(new Set(statuses.keys()).isSubsetOf(new Set([200, 412, 429, undefined]))).toBe(true);
    expect(kills).toBeGreaterThanOrEqual(5);
    expect(answered().length).toBeGreaterThan(200);
    for (const [caller, status] of [
      ['many', 429],
      ['wordy', 429],
      ['dear', 412],
    ] as const) {
      const refused = statuses.get(status)?.filter(({ number }) => callerOf(number) === caller) ?? [];
      expect(refused.length, caller).toBeGreaterThan(0);
    }
  });

  it('each was settled once, and the ledger has of each what the upstream served', () => {
    const lines = processes.lines();
    expect(new Set(lines.map((line) => line['request_id'])).size).toBe(lines.length);
    const byId = new Map(lines.map((line) => [line['request_id'], line]));
    let found = 0;
    for (const { number, requestId } of answered()) {
      const line = byId.get(requestId);
      // What a process that was killed had not yet written.
      if (line === undefined) continue;
      found += 1;
      expect(line).toMatchObject({ input_tokens: PROMPT_TOKENS, output_tokens: outputOf(number) });
      expect(picos(line)).toBe(BigInt(costOf(number)));
    }
    expect(found).toBeGreaterThan(answered().length * 0.8);
  });

  it('in no window was more served than the limits of requests and of tokens say', () => {
    const sentMs = new Map(asks.map((one) => [one.number, one.sentMs]));
    const most = (caller: string, amountOf: (number: number) => number) => {
      const admissions = callsOf(caller).map((call) => {
        const number = numberOf(call);
        return { fromMs: sentMs.get(number) ?? 0, toMs: call.receivedAt, amount: amountOf(number) };
      });
      return mostInAnyWindow(admissions, WINDOW_MS);
    };
    expect(most('many', () => 1)).toBeLessThanOrEqual(REQUESTS_PER_MINUTE);
    expect(most('wordy', (number) => PROMPT_TOKENS + outputOf(number))).toBeLessThanOrEqual(TOKENS_PER_MINUTE);
    // What the dead have in hand is nobody else's, and no more than that is missing.
    expect(most('many', () => 1)).toBeGreaterThan(REQUESTS_PER_MINUTE - kills * LANES - 1);
  });

  it('no more money was served than the budget has, what was lost with the killed included', () => {
    const cost = sum(served('dear').map(costOf));
    expect(cost).toBeLessThanOrEqual(BUDGET);
    expect(cost).toBeGreaterThan(BUDGET * 0.5);
  });

  it('no upstream answer was given to another request, and none twice', () => {
    for (const { number, text } of answered())
      expect([...new Set(text.match(/(?<=served-)\d+/g))]).toEqual([String(number)]);
    expect(new Set(served(...CALLERS)).size).toBe(served(...CALLERS).length);
  });

  it('the store has what the ledger has, and the holds of the dead lapse', async () => {
    const { client } = processes.redis.nodes[0] ?? {};
    const replicas = `{${PREFIX}}:replicas`;
    const names = (await client?.zrange(replicas, '0', '-1')) ?? [];
    expect(names.length).toBeGreaterThan(REPLICAS);
    // As if nobody had heard of the dead for so long; the living say a word now and then.
    for (const name of names) await client?.call('ZINCRBY', replicas, String(-DEAD_AFTER_MS), name);
    await waitFor(async () => (await client?.zcard(replicas)) === REPLICAS, 'the dead to be forgotten', PATIENCE_MS);
    // Whoever asks hears what all have used.
    for (let turn = 0; turn < REPLICAS * CALLERS.length; turn += 1) await ask(turn % REPLICAS);
    const used = await processes.used();
    const entries = processes.lines().filter(({ caller }) => caller === 'dear');
    const written = entries.reduce((total, line) => total + picos(line), 0n);
    const atMost = sum(served('dear').map(costOf));
    // A process may die between what it tells the store and what it tells the log: each had no more than its lanes in hand.
    const lastWords = BigInt(kills * LANES * (PROMPT_TOKENS * PRICE.input + MAX_TOKENS * PRICE.output));
    expect(used).toBeLessThanOrEqual(BigInt(atMost));
    expect(used).toBeGreaterThanOrEqual(written - lastWords);
    expect(used - written).toBeLessThanOrEqual(lastWords);
  }, 90_000);

  it('nothing went wrong that nobody expected', () => {
    const codes = new Set(processes.lines().map((line) => line['error']));
    expect(codes.has('internal')).toBe(false);
    for (const { errors } of processes.all.map((gateway) => ({ errors: gateway.errors() }))) expect(errors).toBe('');
  });
});
