/** A thousand streams at once against a budget that is nearly spent, over three real gateways on one real Redis. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { estimatePrompt } from '#gateway/limits/estimate.ts';
import { apiKey } from '../../fakes/objects.ts';
import { openAiEvents } from '../../fakes/openai-wire.ts';
import { pieces } from '../../fakes/replies.ts';
import { waitFor } from '../../fakes/wait-for.ts';
import { endAll } from '../../operator/embedded-process.ts';
import { usageLimit } from '../stage.ts';
import { describeRedis } from '../stores/describe-redis.ts';
import { keyOf, type Processes, startProcesses } from './processes.ts';

const STREAMS = 1_000;
const REPLICAS = 3;
const MAX_TOKENS = 60;
/** gpt-4o: 1e-12 US dollars a token. */
const PRICE = { input: 2_500_000, output: 10_000_000 };
const PICO = 1e12;
/** Room for some forty of them. */
const BUDGET = 0.025 * PICO;
const PATIENCE_MS = 60_000;

const bodyOf = (number: number) => ({
  model: 'gpt-4o',
  stream: true,
  max_tokens: MAX_TOKENS,
  messages: [{ role: 'user', content: `Stream number ${number}: say something of middling length about it.` }],
});
const RESERVED_PROMPT = estimatePrompt(bodyOf(500));
const RESERVED = RESERVED_PROMPT * PRICE.input + MAX_TOKENS * PRICE.output;

interface Outcome {
  readonly admitted: number;
  readonly refused: number;
  /** 1e-12 US dollars, by the upstream's record. */
  readonly spent: number;
  readonly used: bigint;
}

/** Of each stream, what the provider says that it used. */
async function run(usage: { readonly prompt: number; readonly completion: number }): Promise<Outcome> {
  const limit = usageLimit('edge', { type: 'cost', credit_limit: BUDGET / PICO });
  const processes = await startProcesses(REPLICAS, apiKey('many', keyOf('many')) + limit);
  const wire = { prompt_tokens: usage.prompt, completion_tokens: usage.completion };
  const events = openAiEvents({
    text: 'word '.repeat(12),
    model: 'gpt-4o',
    usage: { ...wire, total_tokens: usage.prompt + usage.completion },
  });
  // All of them are under way before the first of them ends.
  processes.upstream.answer(pieces(events, { gapMs: 150 }));
  const statuses = await Promise.all(Array.from({ length: STREAMS }, (_, number) => ask(processes, number)));
  const cost = usage.prompt * PRICE.input + usage.completion * PRICE.output;
  const admitted = statuses.filter((status) => status === 200).length;
  await waitFor(
    async () => (await processes.used()) === BigInt(admitted * cost),
    'all to be settled',
    PATIENCE_MS,
  ).catch(() => undefined);
  const outcome = {
    admitted,
    refused: statuses.filter((status) => status === 412).length,
    spent: processes.upstream.calls.length * cost,
    used: await processes.used(),
  };
  await endAll();
  return outcome;
}

async function ask(processes: Processes, number: number): Promise<number> {
  const response = await fetch(`${processes.at(number % REPLICAS).origin}/v1/chat/completions`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', authorization: `Bearer ${keyOf('many')}` },
    body: JSON.stringify(bodyOf(number)),
  });
  await response.text();
  return response.status;
}

describeRedis('a thousand streams at once at the edge of a budget', () => {
  afterAll(endAll);

  describe.each([
    ['exactly what was reserved', { prompt: RESERVED_PROMPT, completion: MAX_TOKENS }],
    ['a third of what was reserved', { prompt: 9, completion: 18 }],
    ['half as much again as anybody could know', { prompt: RESERVED_PROMPT * 3, completion: MAX_TOKENS * 1.5 }],
  ])('of which each uses %s', (_title, usage) => {
    let outcome: Outcome;
    const cost = usage.prompt * PRICE.input + usage.completion * PRICE.output;
    beforeAll(async () => {
      outcome = await run(usage);
    }, 120_000);

    it('are admitted as many as can be reserved, and all others are told that it is spent', () => {
      const { admitted, refused } = outcome;
      expect(admitted + refused).toBe(STREAMS);
      expect(admitted).toBeGreaterThanOrEqual(Math.floor(BUDGET / RESERVED) - 1);
    });

    it('spend no more than the budget and the error of their reservations', () => {
      const { admitted, spent } = outcome;
      const error = Math.max(0, cost - RESERVED);
      expect(spent).toBe(admitted * cost);
      expect(spent).toBeLessThanOrEqual(BUDGET + admitted * error);
      if (error === 0) expect(spent).toBeLessThanOrEqual(BUDGET);
    });

    it('have all been settled, to the last fraction', () => {
      expect(outcome.used).toBe(BigInt(outcome.spent));
    });
  });
});
