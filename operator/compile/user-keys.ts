/** What the organisation enforces for keys of users. */
import type { ApiKeyObject, CheckContext } from './check.ts';
import { type Candidate, fallBack, type LastGood } from './elect.ts';
import type { Verdict } from './status.ts';

export interface UserKeyRules {
  readonly rotationPeriod?: 'weekly' | 'monthly' | undefined;
  readonly ttlDays?: number | undefined;
}

export type RulesOf = (namespace: string) => UserKeyRules;

/** A Workspace says it for its namespace; what it leaves out holds as for all. */
export function userKeyRules(candidates: readonly Candidate[], forAll: UserKeyRules): RulesOf {
  const own = new Map<string, UserKeyRules>();
  for (const { object } of candidates) {
    if (object?.kind !== 'Workspace') continue;
    const { user_api_key_rotation_period: rotationPeriod, user_api_key_ttl_days: ttlDays } = object.spec.settings;
    own.set(object.manifest.name, {
      rotationPeriod: rotationPeriod ?? forAll.rotationPeriod,
      ttlDays: ttlDays ?? forAll.ttlDays,
    });
  }
  return (namespace) => own.get(namespace) ?? forAll;
}

/** Refuses what says otherwise than is enforced; who was accepted before is served on, by the rule. */
export function enforceOnKeys(
  candidates: readonly Candidate[],
  rulesOf: RulesOf,
  previous: LastGood,
  context: CheckContext,
): readonly Candidate[] {
  return candidates.map((candidate) => {
    const { manifest, object, refused } = candidate;
    if (object?.kind !== 'ApiKey' || refused !== undefined) return candidate;
    const verdict = verdictOn(object, rulesOf(manifest.namespace));
    return verdict === undefined ? candidate : fallBack(manifest, verdict, previous, context);
  });
}

function verdictOn({ spec }: ApiKeyObject, { rotationPeriod }: UserKeyRules): Verdict | undefined {
  const asked = spec.rotation_policy?.rotation_period;
  if (spec.type !== 'workspace-user' || asked === undefined) return undefined;
  if (rotationPeriod === undefined || rotationPeriod === asked) return undefined;
  const field = 'spec.rotation_policy.rotation_period';
  return {
    reason: 'EnforcedOtherwise',
    message: `${field}: is ${asked}, but keys of users are rotated ${rotationPeriod} here: write that, or leave it out`,
  };
}
