/** What is said of an ApiKey besides whether it is served: its times, and what of it has no effect. */

import { nearest } from '#crds/config/spelling.ts';
import type { ApiKeyStatus } from '#crds/kinds/api-key.ts';
import { SCOPES } from '#crds/kinds/scopes.ts';
import { ANNOTATIONS } from '#crds/object.ts';
import type { KeyState } from '../keys/key-state.ts';
import type { IssuedKey } from '../keys/rotation-step.ts';
import type { SecretObject } from '../world.ts';
import type { ApiKeyObject } from './check.ts';
import type { Verdict } from './status.ts';
import type { UserKeyRules } from './user-keys.ts';

/** Unix milliseconds. */
export interface KeyTimes {
  /** undefined: nobody knows when the key was made. */
  readonly madeAtMs: number | undefined;
  /** undefined: never. */
  readonly expiresAtMs: number | undefined;
  readonly dueAtMs: number | undefined;
}

/** Without `last_used_at`, which only gateways know. */
export function keyStatusOf(state: KeyState, { expiresAtMs, dueAtMs }: KeyTimes): Omit<ApiKeyStatus, 'last_used_at'> {
  return {
    expires_at: timeOf(expiresAtMs),
    last_rotated_at: timeOf(state.rotatedAtMs),
    next_rotation_at: timeOf(dueAtMs),
    key_transition_expires_at: timeOf(state.previous?.expiresAtMs),
  };
}

function timeOf(epochMs: number | undefined): string | undefined {
  return epochMs === undefined || Math.abs(epochMs) > MAX_TIME_MS ? undefined : new Date(epochMs).toISOString();
}

/** Of a Date. */
const MAX_TIME_MS = 8.64e15;

export interface KeyCircumstances {
  readonly issued: IssuedKey | undefined;
  readonly times: KeyTimes;
  readonly rules: UserKeyRules;
  readonly secret: SecretObject;
}

export function keyWarnings(object: ApiKeyObject, around: KeyCircumstances): readonly Verdict[] {
  const { rules, times, issued } = around;
  const verdicts = issued === undefined ? broughtKey(object, around) : rotatedTwice(issued);
  const noTtl = rules.ttlDays !== undefined && times.madeAtMs === undefined ? [UNKNOWN_AGE] : [];
  return [...verdicts, ...noTtl, ...unknownScopes(object)];
}

const UNKNOWN_AGE: Verdict = {
  reason: 'NoEffect',
  message:
    'user_api_key_ttl_days: nobody knows when this key was made; give it expires_at, or let the key be made here',
};

/** Who brought a key must bring the next one too. */
function broughtKey({ manifest, spec }: ApiKeyObject, { rules, secret }: KeyCircumstances): readonly Verdict[] {
  const { annotations } = Object(manifest.raw['metadata']) as { annotations?: Readonly<Record<string, string>> };
  const asks: readonly (readonly [isAsked: boolean, what: string])[] = [
    [spec.rotation_policy !== undefined, 'spec.rotation_policy'],
    [annotations?.[ANNOTATIONS.rotate] !== undefined, `metadata.annotations.${ANNOTATIONS.rotate}`],
    [rules.rotationPeriod !== undefined, `the ${rules.rotationPeriod} rotation of keys of users`],
  ];
  const asked = asks.filter(([isAsked]) => isAsked).map(([, what]) => what);
  if (asked.length === 0) return [];
  const label = `Secret ${secret.namespace}/${secret.name}`;
  const message = `${asked.join(', ')}: ${label} was not made here, so that only who brought the key can replace it`;
  return [{ reason: 'KeyNotIssued', message }];
}

function rotatedTwice({ state }: IssuedKey): readonly Verdict[] {
  const at = timeOf(state.cutShortAtMs);
  if (at === undefined || state.previous === undefined) return [];
  const message = `rotated again during a transition: the key before the former one ended at ${at}, before its time`;
  return [{ reason: 'TransitionCutShort', message }];
}

function unknownScopes({ spec }: ApiKeyObject): readonly Verdict[] {
  const unknown = (spec.scopes ?? []).filter((scope) => !SCOPES.has(scope));
  if (unknown.length === 0) return [];
  const told = unknown.map((scope) => {
    const meant = nearest(scope, [...SCOPES.keys()]);
    return meant === undefined ? `"${scope}"` : `"${scope}" (did you mean ${meant}?)`;
  });
  return [{ reason: 'UnknownScope', message: `spec.scopes: nothing asks for ${told.join(', ')}` }];
}
