/** What becomes of an answer besides what was asked: part of what it is kept by. */
import type { Guard } from '../guardrails/guard.ts';
import type { Target } from '../plan/plan.ts';
import type { RequestContext } from '../request-context.ts';

const ANTHROPIC_HEADERS = ['anthropic-beta', 'anthropic-version'] as const;

/** `target` undefined: whichever answers; what it says itself is in the fingerprint of the plan. */
export function treatmentOf(context: RequestContext, target: Target | undefined): string {
  const { control, caller, snapshot } = context;
  const guards = [...snapshot.guards.defaultsOf(caller.namespace).output, ...(target?.guards.output ?? [])];
  const strict = control.strict ?? true;
  return JSON.stringify([
    strict && (target?.settings.strict ?? true),
    guards.map(fingerprintOf),
    headersOf(context, target),
  ]);
}

function fingerprintOf({ fingerprint }: Guard): string {
  return fingerprint;
}

/** Headers of the caller that go to the provider, and may change what it says. */
function headersOf({ control, request }: RequestContext, target: Target | undefined): readonly unknown[] {
  const names = control.forwardHeaders ?? target?.settings.forwardHeaders ?? [];
  return [...ANTHROPIC_HEADERS, ...names].flatMap((name) => {
    const value = request.headers[name];
    return value === undefined ? [] : [name, value];
  });
}
