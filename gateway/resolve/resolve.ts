/** What applies: caller + headers + key -> plan (`semantics.md` 2). */
import { hash } from 'node:crypto';
import { type Config, configSchema } from '#crds/config/schema.ts';
import { problemsOf } from '#crds/problems.ts';
import type { ConfigRecord } from '#crds/snapshot/contract.ts';
import { GatewayError } from '../errors.ts';
import type { Caller } from '../exchange.ts';
import { treeCheckProblems } from '../guardrails/check-problems.ts';
import { buildPlan } from '../plan/build.ts';
import type { Plan } from '../plan/plan.ts';
import type { ActiveSnapshot } from '../snapshot/active-snapshot.ts';
import type { RequestHeaders } from './request-headers.ts';

/** Plan of a request without any config: the provider comes from its headers or its model. */
const DIRECT = 'direct';
const INLINE = 'inline';

export interface Resolved {
  readonly plan: Plan;
  /** Name for logs: the GatewayConfig, `inline`, or undefined. */
  readonly config: string | undefined;
}

export function resolvePlan(snapshot: ActiveSnapshot, caller: Caller, control: RequestHeaders): Resolved {
  if (control.config !== undefined) return chosenByRequest(snapshot, caller, control.config);
  const bound = caller.key?.config_id;
  if (bound !== undefined) return named(snapshot, caller, bound);
  const record = snapshot.defaultConfig(caller.namespace);
  return record === undefined ? { plan: directPlan(snapshot, caller), config: undefined } : planOf(snapshot, record);
}

function chosenByRequest(snapshot: ActiveSnapshot, caller: Caller, header: string): Resolved {
  if (caller.key?.allow_config_override === false) {
    throw new GatewayError(
      'config_override_denied',
      `The key ${caller.name} is bound to its default config: leave x-gateway-config out.`,
      { param: 'x-gateway-config' },
    );
  }
  return header.trimStart().startsWith('{') ? inline(snapshot, caller, header) : named(snapshot, caller, header);
}

function named(snapshot: ActiveSnapshot, caller: Caller, name: string): Resolved {
  const record = snapshot.config(caller.namespace, name);
  if (record !== undefined) return planOf(snapshot, record);
  const refusal = snapshot.refusal('GatewayConfig', caller.namespace, name);
  if (refusal !== undefined)
    throw new GatewayError('config_refused', `The GatewayConfig "${name}" was refused: ${refusal}`, {
      param: 'x-gateway-config',
    });
  throw new GatewayError(
    'unknown_config',
    `There is no GatewayConfig "${name.slice(0, 253)}" in the workspace ${caller.namespace}, nor one that is shared with it.`,
    { param: 'x-gateway-config' },
  );
}

function planOf(snapshot: ActiveSnapshot, record: ConfigRecord): Resolved {
  return { plan: snapshot.plan(record), config: record.name };
}

function inline(snapshot: ActiveSnapshot, caller: Caller, header: string): Resolved {
  const config = parseInline(header);
  return {
    plan: buildPlan(snapshot, config, {
      name: inlineName(caller, header),
      namespace: caller.namespace,
      credentialsAt: undefined,
    }),
    config: INLINE,
  };
}

/** Breakers of inline configs are shared by equal configs of one workspace, never beyond it. */
function inlineName(caller: Caller, header: string): string {
  return `${INLINE} ${caller.namespace} ${hash('sha256', header)}`;
}

function parseInline(header: string): Config {
  let value: unknown;
  try {
    value = JSON.parse(header);
  } catch {
    throw new GatewayError(
      'invalid_config',
      'x-gateway-config is neither the name of a GatewayConfig nor a JSON object.',
      { param: 'x-gateway-config' },
    );
  }
  const parsed = configSchema.safeParse(value);
  const problems = parsed.success ? treeCheckProblems(parsed.data, 'config') : problemsOf(parsed.error, 'config');
  if (parsed.success && problems.length === 0) return parsed.data;
  const texts = problems.slice(0, 5).map((problem) => `${problem.path} ${problem.message}`);
  throw new GatewayError('invalid_config', `x-gateway-config is not valid: ${texts.join('; ')}.`, {
    param: 'x-gateway-config',
  });
}

function directPlan(snapshot: ActiveSnapshot, caller: Caller): Plan {
  return buildPlan(snapshot, {}, { name: DIRECT, namespace: caller.namespace, credentialsAt: () => undefined });
}
