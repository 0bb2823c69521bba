/** A guardrail made ready: its checks compiled, its actions settled. Immutable; shared by all requests of a snapshot. */
import { hash } from 'node:crypto';
import type { Feedback, GuardItem } from '#crds/config/guard-items.ts';
import type { GuardrailRecord } from '#crds/snapshot/contract.ts';
import { canonicalJson } from '#crds/snapshot/records.ts';
import type { CompiledCheck } from '../checks/check.ts';
import { compileCheck } from '../checks/checks.ts';
import type { CheckMeans } from '../checks/means.ts';
import { isWindowed } from './windowed-checks.ts';

export type GuardType = 'guardrail' | 'mutator';

export interface Guard {
  /** What results and messages call it. */
  readonly id: string;
  readonly type: GuardType;
  readonly checks: readonly CompiledCheck[];
  /** Those that can be put to a part of an answer. */
  readonly windowed: ReadonlySet<CompiledCheck>;
  /** Why it cannot be asked: whatever is put to it fails. */
  readonly broken: string | undefined;
  /** A failed check ends the request. */
  readonly deny: boolean;
  readonly isAsync: boolean;
  readonly sequential: boolean;
  /** How it looks at streams. */
  readonly stream: 'buffer' | 'watch';
  /** As its manifest says; undefined: it says nothing of it. */
  readonly saidStream: 'buffer' | 'watch' | undefined;
  /** Some check may rewrite the body. */
  readonly mutates: boolean;
  /** How long all of its checks may wait together, milliseconds; 0: none of them ever does. */
  readonly limitMs: number;
  readonly onFail: Feedback | undefined;
  readonly onSuccess: Feedback | undefined;
  /** The same for guardrails that make the same of the same answer. */
  readonly fingerprint: string;
}

interface Actions {
  readonly deny: boolean;
  readonly async: boolean;
  readonly sequential?: boolean;
  readonly on_error?: 'deny' | 'allow';
  readonly stream?: 'buffer' | 'watch' | undefined;
  readonly on_fail?: Feedback | undefined;
  readonly on_success?: Feedback | undefined;
}

interface CheckSource {
  readonly id: string;
  readonly parameters: Readonly<Record<string, unknown>>;
}

/** All guardrails of a side together, unless some check has a longer time of its own. */
export const PHASE_MS = 15_000;
const NO_CHECKS: ReadonlySet<CompiledCheck> = new Set();

function makeGuard(
  id: string,
  type: GuardType | undefined,
  sources: readonly CheckSource[],
  actions: Actions,
  means: CheckMeans,
): Guard {
  const checks: CompiledCheck[] = [];
  const windowed = new Set<CompiledCheck>();
  for (const source of sources) {
    const compiled = compileCheck(source.id, source.parameters, means);
    if (typeof compiled === 'string') return brokenGuard(id, `${source.id}: ${compiled}`);
    const check = actions.on_error === 'allow' ? { ...compiled, failOnError: false } : compiled;
    checks.push(check);
    if (isWindowed(compiled.id, source.parameters)) windowed.add(check);
  }
  const waiting = checks.flatMap(({ timeoutMs }) => timeoutMs ?? []);
  return withActions(
    {
      id,
      type: type ?? (checks.length > 0 && checks.every(({ mutates }) => mutates) ? 'mutator' : 'guardrail'),
      checks,
      windowed,
      broken: undefined,
      sequential: actions.sequential ?? false,
      mutates: checks.some(({ mutates }) => mutates),
      limitMs: waiting.length === 0 ? 0 : Math.max(PHASE_MS, ...waiting),
      fingerprint: fingerprintOf(id, sources, actions.on_error),
    },
    actions,
  );
}

type Unacted = Omit<Guard, 'deny' | 'isAsync' | 'stream' | 'saidStream' | 'onFail' | 'onSuccess'>;

function fingerprintOf(...words: readonly unknown[]): string {
  return hash('sha256', canonicalJson(words), 'base64url');
}

function withActions(guard: Unacted, { deny, async: isAsync, stream, ...said }: Actions): Guard {
  const buffers = !isAsync && (guard.mutates || (stream ?? (deny ? 'buffer' : 'watch')) === 'buffer');
  return {
    ...guard,
    deny,
    isAsync,
    stream: buffers ? 'buffer' : 'watch',
    saidStream: stream,
    onFail: said.on_fail,
    onSuccess: said.on_success,
    fingerprint: fingerprintOf(guard.fingerprint, deny, isAsync, buffers),
  };
}

/** Fails closed: nothing passes a guardrail that cannot be asked. */
export function brokenGuard(id: string, broken: string): Guard {
  return {
    id,
    type: 'guardrail',
    checks: [],
    windowed: NO_CHECKS,
    broken,
    deny: true,
    isAsync: false,
    sequential: false,
    stream: 'buffer',
    saidStream: undefined,
    mutates: false,
    limitMs: 0,
    onFail: undefined,
    onSuccess: undefined,
    fingerprint: fingerprintOf(id, broken),
  };
}

export function guardOfRecord(record: GuardrailRecord, means: CheckMeans): Guard {
  return makeGuard(record.name, undefined, record.checks, record, means);
}

/** An item with checks of its own; without a name it is called after its place. */
export function inlineGuard(item: GuardItem, checks: readonly CheckSource[], means: CheckMeans): Guard {
  const id = item.id ?? item.path.map(String).join('.');
  const { deny = false, async = false, onFail, onSuccess } = item;
  return makeGuard(id, item.type, checks, { deny, async, on_fail: onFail, on_success: onSuccess }, means);
}

/** A guardrail that an item names, with the actions that the item says. */
export function referredGuard(guard: Guard, item: GuardItem): Guard {
  if (guard.broken !== undefined) return guard;
  const { deny = guard.deny, async = guard.isAsync, onFail = guard.onFail, onSuccess = guard.onSuccess } = item;
  const acted = withActions(guard, { deny, async, stream: guard.saidStream, on_fail: onFail, on_success: onSuccess });
  return item.type === undefined ? acted : { ...acted, type: item.type };
}
