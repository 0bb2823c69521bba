/** The end of a request that a guardrail does not let pass. */
import { GatewayError } from '../errors.ts';
import type { Guard } from './guard.ts';
import type { HookResult, HookResults } from './hook-results.ts';

export interface Denial {
  readonly guard: Guard;
  readonly result: HookResult;
}

/** What was judged, as messages call it. */
export type Judged = 'request' | 'answer';

/** `guardrail_denied`, or `guardrail_failed` where no check came to a verdict against it. */
export function denialError({ guard, result }: Denial, judged: Judged, hookResults: HookResults): GatewayError {
  const failing = result.checks.filter(({ verdict }) => !verdict);
  const denying = failing.filter(({ error }) => error === null);
  const refusal = `The guardrail "${guard.id}" refused the ${judged}`;
  if (denying.length > 0) {
    const names = denying.map(({ id }) => id).join(', ');
    return new GatewayError('guardrail_denied', `${refusal}: ${names} did not pass.`, { hookResults });
  }
  const reasons = failing.map(({ id, error }) => `${id}: ${error?.message ?? ''}`).join(' ');
  return new GatewayError('guardrail_failed', `${refusal}, since it came to no verdict: ${guard.broken ?? reasons}`, {
    hookResults,
  });
}

/** The guardrail, and its first check that did not pass: `no-pii/default.pii`. */
export function deniedBy({ guard, result }: Denial): string {
  const check =
    result.checks.find(({ verdict, error }) => !verdict && error === null) ??
    result.checks.find(({ verdict }) => !verdict);
  return check === undefined ? guard.id : `${guard.id}/${check.id}`;
}

/** A guardrail's word, no fault of an upstream. */
export function isDenial({ code }: GatewayError): boolean {
  return code === 'guardrail_denied' || code === 'guardrail_failed';
}
