/** What a status is in the API server: built, compared and read. */
import { isDeepStrictEqual } from 'node:util';
import type { ApiObject, Resource } from '#crds/api/api-object.ts';
import type { Condition, ConditionType, ObjectStatus } from '../compile/status.ts';

/** As `metav1.Condition`. */
export interface StoredCondition {
  readonly type: string;
  readonly status: string;
  readonly reason: string;
  readonly message: string;
  readonly observedGeneration?: number;
  /** RFC 3339. */
  readonly lastTransitionTime?: string;
}

interface StoredStatus {
  readonly observedGeneration?: number;
  readonly conditions?: readonly StoredCondition[];
  readonly [field: string]: unknown;
}

/** In what a stored status is not the wanted one: in what is judged, or only in fields that may change all the time. */
export type Difference = 'judgement' | 'fields';

/** Bound of the CRDs, in characters. */
const MAX_MESSAGE_CHARS = 32_768;
const OUR_TYPES: Readonly<Record<ConditionType, true>> = {
  Accepted: true,
  ResolvedRefs: true,
  Programmed: true,
  Ready: true,
  Warning: true,
};

export function storedConditions(object: ApiObject): readonly StoredCondition[] {
  return storedStatus(object).conditions ?? [];
}

/** Message of the stored condition Programmed=True, where it is of this very version of the object. */
export function storedProgrammed(object: ApiObject | undefined, status: ObjectStatus): string | undefined {
  if (object === undefined || object.metadata.uid !== status.uid) return undefined;
  const stored = storedConditions(object).find(({ type }) => type === 'Programmed');
  const isOfThis = stored?.status === 'True' && stored.observedGeneration === status.generation;
  return isOfThis ? stored.message : undefined;
}

/** undefined: the stored status says the same. How many replicas it was that served it first is no news. */
export function differenceOf(status: ObjectStatus, object: ApiObject): Difference | undefined {
  const stored = storedStatus(object);
  if (isJudgedOtherwise(status, stored)) return 'judgement';
  const { fields = {} } = status;
  return Object.keys(fields).every((name) => isDeepStrictEqual(stored[name], fields[name])) ? undefined : 'fields';
}

function isJudgedOtherwise(status: ObjectStatus, stored: StoredStatus): boolean {
  if (stored.observedGeneration !== status.generation) return true;
  const conditions = new Map(stored.conditions?.map((condition) => [condition.type, condition]));
  for (const wanted of status.conditions) {
    if (!isSame(wanted, status.generation, conditions.get(wanted.type))) return true;
    conditions.delete(wanted.type);
  }
  return [...conditions.keys()].some((type) => Object.hasOwn(OUR_TYPES, type));
}

/**
 * What is applied: nothing but what says which version of which object is meant, and its status. Another object of the name
 * answers 409, and so does another version: what arrives late must not undo what was said since.
 */
export function statusObject(
  status: ObjectStatus,
  { apiVersion, kind }: Resource,
  object: ApiObject,
  nowMs: number,
): ApiObject {
  const { namespace, name, uid, generation } = status;
  const { resourceVersion } = object.metadata;
  const stored = new Map(storedConditions(object).map((condition) => [condition.type, condition]));
  const conditions = status.conditions.map((condition): StoredCondition => {
    const before = stored.get(condition.type);
    return {
      ...condition,
      message: condition.message.slice(0, MAX_MESSAGE_CHARS),
      observedGeneration: generation,
      lastTransitionTime: (before?.status === condition.status && before.lastTransitionTime) || timeOf(nowMs),
    };
  });
  return {
    apiVersion,
    kind,
    metadata: {
      name,
      namespace,
      ...(uid === undefined ? {} : { uid }),
      ...(resourceVersion === undefined ? {} : { resourceVersion }),
    },
    // What is left out would be taken away, and what is unknown now may have been known to the writer before.
    status: { ...storedStatus(object), ...status.fields, observedGeneration: generation, conditions },
  };
}

/** Equal for statuses that are written alike. */
export function textOfStatus({ generation, conditions, fields = {} }: ObjectStatus): string {
  return JSON.stringify([generation, conditions, Object.keys(fields).sort(), fields]);
}

function isSame(wanted: Condition, generation: number, stored: StoredCondition | undefined): boolean {
  if (stored?.status !== wanted.status || stored.observedGeneration !== generation) return false;
  if (wanted.type === 'Programmed' && wanted.status === 'True') return true;
  return stored.reason === wanted.reason && stored.message === wanted.message.slice(0, MAX_MESSAGE_CHARS);
}

function storedStatus(object: ApiObject): StoredStatus {
  return (object['status'] ?? {}) as StoredStatus;
}

/** To the second, as the API server writes times itself. */
function timeOf(epochMs: number): string {
  return `${new Date(epochMs).toISOString().slice(0, 19)}Z`;
}
