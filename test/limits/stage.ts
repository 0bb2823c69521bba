/** A gateway with limits, whose clock is the test's. */

import { HI, type Stage, startStage, target } from '../conformance/stage.ts';
import type { TestGatewayOptions } from '../fakes/gateway.ts';
import { object, type Placing } from '../fakes/objects.ts';
import { waitFor } from '../fakes/wait-for.ts';

/** A Saturday, 11:00:00 UTC. */
export const NOON_MS = Date.UTC(2026, 10, 21, 11);

export interface LimitStage extends Stage {
  /** Moves the clock of limits. */
  pass(ms: number): void;
  /** Replaces the limits, live; configs stay. */
  limit(manifests: string): void;
}

/** `configs`: what is fed besides limits; default: one upstream as the default target. */
export async function startLimitStage(
  limits: string,
  options: {
    readonly count?: number;
    readonly configs?: (stage: Stage['upstreams']) => string;
    readonly gateway?: TestGatewayOptions;
  } = {},
): Promise<LimitStage> {
  const clock = { nowMs: NOON_MS };
  const { count = 1, configs = ([first]) => defaultTarget(first), gateway = {} } = options;
  let fed = '';
  const stage = await startStage(
    count,
    (upstreams) => {
      fed = configs(upstreams);
      return `${fed}\n${limits}`;
    },
    () => ({ limitClock: () => clock.nowMs, ...gateway }),
  );
  return {
    ...stage,
    at: (index) => stage.at(index),
    pass(ms) {
      clock.nowMs += ms;
    },
    limit: (manifests) => void stage.gateway.apply(`${fed}\n${manifests}`),
  };
}

function defaultTarget(upstream: Stage['upstreams'][number] | undefined): string {
  if (upstream === undefined) return '';
  return object('GatewayConfig', 'plain', target(upstream) as object, {
    annotations: { 'modelgateway.dev/default': 'true' },
  });
}

const ANYBODY = { conditions: [{ key: 'api_key', value: '*' }], group_by: [{ key: 'workspace_id' }] };

/** 2 requests a minute of each workspace, unless told otherwise. */
export function rateLimit(name: string, spec: object = {}, placing?: Placing): string {
  return object('RateLimitPolicy', name, { type: 'requests', unit: 'rpm', value: 2, ...ANYBODY, ...spec }, placing);
}

/** 100 tokens for ever of each workspace, unless told otherwise. */
export function usageLimit(name: string, spec: object = {}, placing?: Placing): string {
  return object('UsageLimitPolicy', name, { type: 'tokens', credit_limit: 100, ...ANYBODY, ...spec }, placing);
}

export interface Answer {
  readonly status: number;
  readonly code: unknown;
  readonly type: unknown;
  readonly message: string;
  readonly headers: Headers;
  readonly text: string;
}

/** Reads an answer to its end. */
export async function answerOf(response: Response): Promise<Answer> {
  const text = await response.text();
  const error = text.startsWith('{') ? JSON.parse(text).error : undefined;
  const { code, type, message } = error ?? {};
  return { status: response.status, code, type, message: String(message), headers: response.headers, text };
}

export async function ask(
  stage: Stage,
  headers: Readonly<Record<string, string>> = {},
  body: object = {},
): Promise<Answer> {
  return answerOf(await stage.gateway.chat({ ...HI, ...body }, headers));
}

/** Statuses of requests that follow each other. */
export async function statuses(count: number, request: () => Promise<{ readonly status: number }>): Promise<number[]> {
  const all: number[] = [];
  for (let turn = 0; turn < count; turn += 1) all.push((await request()).status);
  return all;
}

/** `x-ratelimit-*` of a type: limit, remaining, reset. */
export function rates(headers: Headers, type: 'requests' | 'tokens'): (string | null)[] {
  return ['limit', 'remaining', 'reset'].map((what) => headers.get(`x-ratelimit-${what}-${type}`));
}

/** What is settled of each budget, by its limit's id and group: as `/usage` of the admin port says. */
export async function usedOf(stage: Stage): Promise<number[]> {
  const page = (await (await fetch(`${stage.gateway.adminOrigin}/usage`)).json()) as { budgets: { used: string }[] };
  return page.budgets.map(({ used }) => Number(used));
}

/** Waits until no request is under way. */
export function idle(stage: Stage): Promise<void> {
  return waitFor(
    async () => (await stage.gateway.metric('modelgateway_requests_in_flight')) === 0,
    'the end of all requests',
  );
}

/** Reads `count` events of a stream and leaves. */
export async function readAndLeave(stage: Stage, path: string, body: object, count: number): Promise<void> {
  const leave = new AbortController();
  const response = await stage.gateway.post(path, { ...body, stream: true }, {}, leave.signal);
  let text = '';
  try {
    for await (const chunk of response.body ?? []) {
      text += Buffer.from(chunk).toString();
      if (text.split('\n\n').length > count) break;
    }
  } finally {
    leave.abort();
  }
  await idle(stage);
}
