/** A scenario: policies, and what happens to replicas that keep to them, with a record of what the upstream served. */
import { estimatePrompt } from '#gateway/limits/estimate.ts';
import { apiKey, defaultConfig, object } from '../../fakes/objects.ts';
import { openAiChat, openAiEvents, type WireUsage } from '../../fakes/openai-wire.ts';
import { gated, json, pieces, type Reply } from '../../fakes/replies.ts';
import type { Call, Upstream } from '../../fakes/upstream.ts';
import { waitFor } from '../../fakes/wait-for.ts';
import { Fleet } from './fleet.ts';
import { type Amounts, isFull, type Policy, specOf, type Taken, type Traits } from './policy-model.ts';

export const CALLERS = ['one', 'two', 'three'] as const;
export const TEAMS = [undefined, 'red', 'blue'] as const;
/** With the prices of a token in 1e-12 US dollars, as OpenAI's page has them. */
export const MODELS = [
  { name: 'gpt-4o', input: 2_500_000, output: 10_000_000 },
  { name: 'gpt-4o-mini', input: 150_000, output: 600_000 },
] as const;
export type Way = 'whole' | 'stream' | 'leave' | 'held' | 'held stream';

export interface AskStep {
  readonly replica: number;
  readonly caller: number;
  readonly team: number;
  readonly model: number;
  readonly words: number;
  readonly maxTokens: number;
  /** Of what was reserved, in percent: how much is used. */
  readonly usedPercent: number;
  readonly way: Way;
}

export type Step =
  | { readonly kind: 'ask'; readonly asks: readonly AskStep[] }
  | { readonly kind: 'pass'; readonly ms: number }
  | { readonly kind: 'release' }
  | { readonly kind: 'crash'; readonly replica: number }
  /** Policies that hold from now on, by their index. */
  | { readonly kind: 'swap'; readonly active: readonly number[] };

export interface Scenario {
  readonly skewsMs: readonly number[];
  readonly policies: readonly Policy[];
  readonly steps: readonly Step[];
}

interface Asked extends Omit<Taken, 'amounts'> {
  readonly number: number;
  readonly step: AskStep;
  readonly usage: WireUsage;
  readonly answer: Promise<Answer>;
}

interface Answer {
  readonly status: number;
  readonly requestId: string | null;
  readonly text: string;
}

export interface Outcome {
  readonly taken: readonly Taken[];
  readonly refused: number;
  /** What the model says otherwise than the gateways did, at moments when nothing was under way. */
  readonly disputes: readonly string[];
  readonly lines: readonly Readonly<Record<string, unknown>>[];
  /** Tokens that the upstream served to the end. */
  readonly servedTokens: number;
  readonly answers: readonly Answer[];
}

const REFUSALS: ReadonlySet<number> = new Set([400, 412, 429]);
const keyOf = (caller: string) => `key-of-${caller}-0123456789`;

export class ScenarioRun {
  readonly #scenario: Scenario;
  readonly #upstream: Upstream;
  readonly #fleet: Fleet;
  readonly #all = new Map<number, Asked>();
  /** Under way, by number: what lets them go on. */
  readonly #held = new Map<number, () => void>();
  readonly #lost = new Set<number>();
  readonly #taken = new Map<number, Taken>();
  /** Callers who did not wait for the end: the ledger alone knows what they used. */
  readonly #left: Asked[] = [];
  readonly #disputes: string[] = [];
  #active: ReadonlySet<string> = new Set();
  #refused = 0;
  #numbers = 0;

  constructor(scenario: Scenario, upstream: Upstream) {
    this.#scenario = scenario;
    this.#upstream = upstream;
    this.#fleet = new Fleet(scenario.skewsMs);
  }

  async run(): Promise<Outcome> {
    const before = this.#upstream.calls.length;
    this.#upstream.answer((call) => this.#reply(call));
    await this.#fleet.start();
    try {
      this.#swap(this.#scenario.policies.map((_, index) => index));
      for (const step of this.#scenario.steps) await this.#do(step);
      await this.#release();
      await this.#fleet.runs(0);
      await this.#bookLeft();
      const answers = await Promise.all([...this.#all.values()].map(({ answer }) => answer));
      return {
        taken: [...this.#taken.values()],
        refused: this.#refused,
        disputes: this.#disputes,
        lines: await this.#fleet.lines(),
        servedTokens: this.#servedTokens(before),
        answers,
      };
    } finally {
      for (const open of this.#held.values()) open();
      await this.#fleet.close();
    }
  }

  async #do(step: Step): Promise<void> {
    if (step.kind === 'pass') this.#fleet.pass(step.ms);
    else if (step.kind === 'release') await this.#release();
    else if (step.kind === 'swap') this.#swap(step.active);
    else if (step.kind === 'crash') await this.#crash(step.replica % this.#fleet.size);
    else await this.#ask(step.asks);
  }

  #swap(active: readonly number[]): void {
    const policies = this.#scenario.policies.filter((_, index) => active.includes(index));
    this.#active = new Set(policies.map(({ name }) => name));
    const target = { provider: 'openai', api_key: 'any', custom_host: `${this.#upstream.origin}/v1` };
    const keys = CALLERS.map((caller) => apiKey(caller, keyOf(caller)));
    const limits = policies.map((policy) => object(policy.kind, policy.name, specOf(policy)));
    this.#fleet.apply([defaultConfig('plain', target), ...keys, ...limits].join(''));
  }

  async #crash(replica: number): Promise<void> {
    for (const number of this.#held.keys()) if (this.#all.get(number)?.step.replica === replica) this.#lose(number);
    await this.#fleet.crash(replica);
  }

  /** Nobody will ever know what it used. */
  #lose(number: number): void {
    this.#lost.add(number);
    this.#held.get(number)?.();
    this.#held.delete(number);
  }

  async #ask(steps: readonly AskStep[]): Promise<void> {
    const isQuiet = steps.length === 1 && this.#held.size === 0 && this.#lost.size === 0;
    const started = steps.map((step) => this.#start(step));
    for (const asked of started) {
      const isHeld = await Promise.race([asked.answer.then(() => false), this.#arrived(asked)]);
      if (isHeld) continue;
      this.#held.delete(asked.number);
      const { status } = await asked.answer;
      if (isQuiet) await this.#compare(asked, status);
      if (status !== 200) this.#refused += 1;
    }
    await this.#fleet.runs(this.#held.size);
    for (const asked of started) if (!this.#held.has(asked.number)) await this.#record(asked);
  }

  /** Resolves, with true, when one that is to be held has come to the upstream. */
  async #arrived({ number, step }: Asked): Promise<boolean> {
    if (!step.way.startsWith('held')) return new Promise(() => undefined);
    let isOver = false;
    void this.#all.get(number)?.answer.then(() => {
      isOver = true;
    });
    await waitFor(() => isOver || this.#held.has(number), `request ${number}`, 20_000);
    return !isOver || new Promise(() => undefined);
  }

  async #release(): Promise<void> {
    const numbers = [...this.#held.keys()];
    for (const number of numbers) this.#held.get(number)?.();
    this.#held.clear();
    const asked = numbers.flatMap((number) => this.#all.get(number) ?? []);
    await Promise.all(asked.map(({ answer }) => answer));
    await this.#fleet.runs(0);
    for (const one of asked) await this.#record(one);
  }

  #start(step: AskStep): Asked {
    const number = 1 + this.#numbers++;
    const { name: model, input, output } = MODELS[step.model] ?? MODELS[0];
    const [api_key, team] = [CALLERS[step.caller] ?? 'one', TEAMS[step.team]];
    const stream = ['stream', 'leave', 'held stream'].includes(step.way);
    const content = `#${number} ${'word '.repeat(step.words)}`;
    const body = { model, stream, max_tokens: step.maxTokens, messages: [{ role: 'user', content }] };
    const prompt = estimatePrompt(body);
    const traits: Traits = { api_key, model, team };
    const asked: Asked = {
      ...{ number, step, traits, atMs: this.#fleet.nowMs, clockMs: this.#fleet.clockOf(step.replica) },
      policies: this.#active,
      reserved: amountsOf(prompt, step.maxTokens, input, output),
      usage: usageOf(prompt, step),
      answer: this.#send(step, body, api_key, team),
    };
    this.#all.set(number, asked);
    return asked;
  }

  async #send({ replica, way }: AskStep, body: object, caller: string, team: string | undefined): Promise<Answer> {
    const metadata = team === undefined ? {} : { 'x-gateway-metadata': JSON.stringify({ team }) };
    const leaving = new AbortController();
    const headers = { 'x-gateway-api-key': keyOf(caller), ...metadata };
    const response = await this.#fleet.at(replica).chat(body, headers, leaving.signal);
    const { status } = response;
    const requestId = response.headers.get('x-request-id');
    if (way === 'leave' && status === 200) {
      await response.body?.getReader().read();
      leaving.abort();
      return { status, requestId, text: '' };
    }
    return { status, requestId, text: await response.text().catch(() => 'cut') };
  }

  #reply(call: Call): Reply {
    const asked = this.#all.get(numberOf(call));
    if (asked === undefined) throw new Error('nobody asked for it');
    const { number, usage, step, traits } = asked;
    const answer = { text: `re ${number}`, usage, model: traits.model };
    const stream = pieces(openAiEvents(answer));
    if (step.way === 'leave') return pieces(openAiEvents(answer).slice(0, 2), { ending: 'stall' });
    const reply = step.way.endsWith('stream') ? stream : json(200, openAiChat(answer));
    if (!step.way.startsWith('held')) return reply;
    const gate = gated(reply);
    this.#held.set(number, gate.open);
    return gate.reply;
  }

  async #compare(asked: Asked, status: number): Promise<void> {
    await this.#bookLeft();
    const taken = [...this.#taken.values()];
    const full = this.#scenario.policies.filter((policy) => isFull(policy, taken, asked));
    const isRefused = REFUSALS.has(status);
    if (isRefused === full.length > 0) return;
    const why = `${status}, though full are [${full.map(({ name }) => name).join()}]`;
    this.#disputes.push(`request ${asked.number} ${JSON.stringify(asked.traits)}: ${why}`);
  }

  async #record(asked: Asked): Promise<void> {
    const { status } = await asked.answer;
    if (status !== 200 || this.#lost.has(asked.number)) return;
    const { usage, step } = asked;
    if (step.way === 'leave') this.#left.push(asked);
    else this.#book(asked, usage.prompt_tokens, usage.completion_tokens);
  }

  #book(asked: Asked, prompt: number, completion: number): void {
    const { input, output } = MODELS[asked.step.model] ?? MODELS[0];
    this.#taken.set(asked.number, { ...asked, amounts: amountsOf(prompt, completion, input, output) });
  }

  async #bookLeft(): Promise<void> {
    if (this.#left.length === 0) return;
    const lines = new Map((await this.#fleet.lines()).map((line) => [line['request_id'], line]));
    for (const asked of this.#left.splice(0)) {
      const line = lines.get((await asked.answer).requestId);
      this.#book(asked, Number(line?.['input_tokens']), Number(line?.['output_tokens']));
    }
  }

  #servedTokens(from: number): number {
    const served = this.#upstream.calls.slice(from).flatMap((call) => this.#all.get(numberOf(call)) ?? []);
    return served.filter(({ step }) => step.way !== 'leave').reduce((sum, { usage }) => sum + usage.total_tokens, 0);
  }
}

function amountsOf(prompt: number, completion: number, input: number, output: number): Amounts {
  return { requests: 1, tokens: prompt + completion, cost: prompt * input + completion * output };
}

function usageOf(prompt: number, { maxTokens, usedPercent }: AskStep): WireUsage {
  const part = (tokens: number) => Math.ceil((tokens * usedPercent) / 100);
  const [prompt_tokens, completion_tokens] = [part(prompt), part(maxTokens)];
  return { prompt_tokens, completion_tokens, total_tokens: prompt_tokens + completion_tokens };
}

function numberOf({ body }: Call): number {
  const { messages } = JSON.parse(body) as { messages: readonly { content: string }[] };
  return Number(/^#(\d+)/.exec(messages[0]?.content ?? '')?.[1]);
}
