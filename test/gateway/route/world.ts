/** A routing world in virtual time: sleeping moves the clock, and every attempt is scripted and recorded. */
import { NO_GUARDS } from '#gateway/guardrails/node-guards.ts';
import type { Branch, BreakerRule, Facts, Plan, PlanNode, RetryRule, Settings, Target } from '#gateway/plan/plan.ts';
import { Breakers } from '#gateway/route/breakers.ts';
import type { AdmitTarget, Circumstances } from '#gateway/route/circumstances.ts';
import type { Reply, Routed } from '#gateway/route/reply.ts';
import { DEFAULT_RETRY_CODES } from '#gateway/route/retry.ts';
import { RetryBudgets } from '#gateway/route/retry-budget.ts';
import { route } from '#gateway/route/route.ts';

export const EMPTY_FACTS: Facts = { metadata: {}, params: {}, headers: {}, pathname: '/v1/chat/completions' };

const SETTINGS: Settings = {
  overrideParams: undefined,
  retry: undefined,
  breaker: undefined,
  requestTimeoutMs: undefined,
  forwardHeaders: [],
  strict: true,
  streamDelivery: 'live',
  streamIdleTimeoutMs: 60_000,
  customHost: undefined,
  concurrency: undefined,
  cache: undefined,
};

export interface TargetOptions {
  readonly weight?: number;
  readonly retry?: RetryRule;
  readonly breaker?: BreakerRule;
  readonly upstream?: Target['upstream'];
}

/** A target whose path, name and breaker key are all `path`. */
export function target(path: string, options: TargetOptions = {}): Target {
  const { weight = 1, retry, breaker, upstream = 'request' } = options;
  const settings = { ...SETTINGS, retry, breaker };
  return {
    kind: 'target',
    path,
    name: path,
    weight,
    settings,
    guards: NO_GUARDS,
    upstream,
    config: {},
    breakerKey: path,
  };
}

export type BranchOptions = Partial<Pick<Branch, 'weight' | 'fallbackCodes' | 'choose' | 'stickyKey' | 'stickyTtlMs'>>;

let branches = 0;

export function branch(mode: Branch['mode'], children: readonly PlanNode[], options: BranchOptions = {}): Branch {
  branches += 1;
  const path = `branch-${branches}`;
  const open = { fallbackCodes: undefined, choose: undefined, stickyKey: undefined, stickyTtlMs: undefined };
  return { kind: 'branch', path, name: path, weight: 1, mode, children, ...open, ...options };
}

const NO_CACHE = { at: 'nowhere', rule: undefined, fingerprint: '' } as const;

export function planOf(root: PlanNode): Plan {
  return {
    name: 'team-a/chat',
    root,
    cache: NO_CACHE,
    isCapped: false,
    prompt: undefined,
    inputGuards: [],
    isGuarded: false,
  };
}

export function retryRule(attempts: number, options: Partial<RetryRule> = {}): RetryRule {
  return { attempts, statusCodes: DEFAULT_RETRY_CODES, useRetryAfter: false, ...options };
}

export function breakerRule(failureThreshold: number, options: Partial<BreakerRule> = {}): BreakerRule {
  return { failureThreshold, cooldownMs: 30_000, statusCodes: undefined, ...options };
}

export function reply(status: number, options: Partial<Reply> = {}): Reply {
  const ok = status >= 200 && status < 300;
  const failure = ok ? 'none' : 'status';
  return { status, ok, failure, final: false, headers: undefined, contextTooSmall: false, ...options };
}

export const NETWORK = reply(502, { failure: 'network' });
export const TIMEOUT = reply(408, { failure: 'timeout' });

/** What a target answers: always the same, a list (its last one repeats), or by the number of the call, from 0. */
export type Script = number | Reply | readonly (number | Reply)[] | ((call: number) => number | Reply | Promise<Reply>);

/** A generator of the same numbers in [0, 1) for the same seed (mulberry32). */
export function seeded(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

export class World {
  nowMs = 1000;
  unixOffsetMs = 1_700_000_000_000;
  gone = false;
  random: () => number = () => 0.5;
  readonly breakers = new Breakers(() => this.nowMs);
  readonly budgets = new RetryBudgets();
  /** `path` of a first try, `path#n` of its n-th retry, in order. */
  readonly asked: string[] = [];
  readonly slept: number[] = [];
  /** Called at each sleep, e.g. to let the client leave. */
  onSleep: (ms: number) => void = () => {};
  readonly #scripts: Readonly<Record<string, Script>>;
  readonly #calls = new Map<string, number>();

  constructor(scripts: Readonly<Record<string, Script>> = {}) {
    this.#scripts = scripts;
  }

  circumstances(deadlineAt = Number.POSITIVE_INFINITY): Circumstances {
    return {
      now: () => this.nowMs,
      unixNow: () => this.unixOffsetMs + this.nowMs,
      sleep: async (ms) => {
        this.slept.push(ms);
        this.nowMs += ms;
        this.onSleep(ms);
      },
      random: () => this.random(),
      deadlineAt,
      breakers: this.breakers,
      budgets: this.budgets,
      isGone: () => this.gone,
    };
  }

  route(
    root: PlanNode,
    options: { facts?: Facts; deadlineAt?: number; admit?: AdmitTarget } = {},
  ): Promise<Routed<Reply>> {
    const { facts = EMPTY_FACTS, deadlineAt, admit } = options;
    const attempt = (asked: Target, retry: number) => this.#attempt(asked, retry);
    return route(planOf(root), facts, attempt, this.circumstances(deadlineAt), admit);
  }

  /** Paths asked since the last call of this. */
  takeAsked(): string[] {
    return this.asked.splice(0);
  }

  async #attempt({ path }: Target, retry: number): Promise<Reply> {
    this.asked.push(retry === 0 ? path : `${path}#${retry}`);
    const call = this.#calls.get(path) ?? 0;
    this.#calls.set(path, call + 1);
    const answer = await scripted(this.#scripts[path] ?? 200, call);
    return typeof answer === 'number' ? reply(answer) : answer;
  }
}

function scripted(script: Script, call: number): number | Reply | Promise<Reply> {
  if (typeof script === 'function') return script(call);
  if (!Array.isArray(script)) return script as number | Reply;
  return script[Math.min(call, script.length - 1)];
}

/** A promise to be settled from outside, for attempts that hang. */
export function pending<T>(): PromiseWithResolvers<T> {
  return Promise.withResolvers<T>();
}
