/** What callers are told of guardrails: `hook_results` of an answer. */
import type { CheckResult, CheckRun } from '../checks/run-checks.ts';
import type { Json } from '../providers/provider.ts';
import type { Guard, GuardType } from './guard.ts';

export interface HookFeedback {
  readonly value: number;
  readonly weight: number;
  readonly metadata: Json;
}

/** One guardrail. Where it was skipped, or runs beside the request, `verdict` is true and there are no checks. */
export interface HookResult {
  readonly id: string;
  readonly verdict: boolean;
  /** Whether a failed check ends the request. */
  readonly deny: boolean;
  readonly async: boolean;
  readonly skipped: boolean;
  readonly type: GuardType;
  readonly transformed: boolean;
  /** When it began, ISO 8601. */
  readonly created_at: string;
  /** Milliseconds. */
  readonly execution_time: number;
  readonly feedback: HookFeedback | null;
  readonly checks: readonly CheckResult[];
}

export interface HookResults {
  readonly before_request_hooks: readonly HookResult[];
  readonly after_request_hooks: readonly HookResult[];
}

/** Where the manifest names no value. */
const PASS_VALUE = 5;
const FAIL_VALUE = -5;

export function resultOf(guard: Guard, run: CheckRun, beganAt: number): HookResult {
  const { verdict, transformed, results } = run;
  return { ...shell(guard, beganAt), verdict, transformed, feedback: feedbackOf(guard, verdict), checks: results };
}

/** Of a guardrail that could not be asked. */
export function brokenResult(guard: Guard): HookResult {
  return { ...shell(guard, performance.now()), verdict: false, feedback: feedbackOf(guard, false) };
}

/** After another one has ended the request. */
export function skippedResult(guard: Guard): HookResult {
  return { ...shell(guard, performance.now()), skipped: true };
}

/** It runs on, and its verdict is told elsewhere. */
export function asyncResult(guard: Guard): HookResult {
  return shell(guard, performance.now());
}

/** `beganAt`: `performance.now()` milliseconds. */
function shell({ id, deny, isAsync, type }: Guard, beganAt: number): HookResult {
  const elapsedMs = performance.now() - beganAt;
  return {
    id,
    verdict: true,
    deny,
    async: isAsync,
    skipped: false,
    type,
    transformed: false,
    created_at: new Date(Date.now() - elapsedMs).toISOString(),
    execution_time: Math.round(elapsedMs * 1000) / 1000,
    feedback: null,
    checks: [],
  };
}

function feedbackOf({ onFail, onSuccess }: Guard, verdict: boolean): HookFeedback | null {
  const said = verdict ? onSuccess : onFail;
  if (said === undefined) return null;
  const { value = verdict ? PASS_VALUE : FAIL_VALUE, weight = 1, metadata = {} } = said;
  return { value, weight, metadata };
}
