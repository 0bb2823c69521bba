/** What is said about an object: conditions, as Kubernetes has them. */
import type { Manifest, Place } from '../world.ts';
import type { Reason } from './reasons.ts';

export type ConditionType = 'Accepted' | 'ResolvedRefs' | 'Programmed' | 'Ready' | 'Warning';

export interface Condition {
  readonly type: ConditionType;
  readonly status: 'True' | 'False' | 'Unknown';
  readonly reason: Reason;
  /** '' where the reason says it all. */
  readonly message: string;
}

/**
 * What a status says besides its conditions: JSON by the names of the kind's `statusShape`. undefined takes a field away; of
 * a name that is not here, what is stored stays.
 */
export type StatusFields = Readonly<Record<string, unknown>>;

export interface ObjectStatus {
  readonly kind: string;
  readonly namespace: string;
  readonly name: string;
  readonly uid: string | undefined;
  /** `observedGeneration` of every condition. */
  readonly generation: number;
  readonly place: Place | undefined;
  /** Another object of the same kind and name takes precedence over this one. */
  readonly isDuplicate: boolean;
  /** Which version of the object is in the snapshot. */
  readonly served: 'current' | 'last-good' | 'none';
  /** From `compile`: Accepted, ResolvedRefs and perhaps Warning. `Programmed` adds the others. */
  readonly conditions: readonly Condition[];
  readonly fields?: StatusFields | undefined;
}

/** A reason and a message that names the field. */
export interface Verdict {
  readonly reason: Reason;
  readonly message: string;
}

export interface StatusInput {
  readonly refused: Verdict | undefined;
  readonly unresolved: readonly Verdict[];
  readonly warnings: readonly Verdict[];
  readonly served: ObjectStatus['served'];
  readonly isDuplicate: boolean;
  /** The same object again where it says the same. */
  readonly fields?: StatusFields | undefined;
}

const OK: Verdict = { reason: 'Resolved', message: '' };

/** Most objects are in order from one pass to the next: the same manifest then has the same status, not only an equal one. */
const statusesInOrder = new WeakMap<Manifest, ObjectStatus>();

export function statusOf(manifest: Manifest, input: StatusInput): ObjectStatus {
  if (!isInOrder(input)) return newStatus(manifest, input);
  const known = statusesInOrder.get(manifest);
  if (known !== undefined && known.fields === input.fields) return known;
  const status = newStatus(manifest, input);
  statusesInOrder.set(manifest, status);
  return status;
}

function isInOrder({ refused, unresolved, warnings, served, isDuplicate }: StatusInput): boolean {
  const isQuiet = refused === undefined && unresolved.length === 0 && warnings.length === 0;
  return isQuiet && served === 'current' && !isDuplicate;
}

function newStatus(manifest: Manifest, input: StatusInput): ObjectStatus {
  const { kind, namespace, name, uid, generation, place } = manifest;
  const { refused, unresolved, warnings, served, isDuplicate, fields } = input;
  const conditions = [
    condition('Accepted', refused === undefined, refused ?? { reason: 'Accepted', message: '' }),
    refused === undefined
      ? condition('ResolvedRefs', unresolved.length === 0, joined(unresolved) ?? OK)
      : ({ type: 'ResolvedRefs', status: 'Unknown', reason: 'NotResolved', message: '' } as const),
    ...warnings.slice(0, 1).map((warning) => condition('Warning', true, joined(warnings) ?? warning)),
  ];
  return { kind, namespace, name, uid, generation, place, isDuplicate, served, conditions, fields };
}

/** The last answer for each status: see `statusesInOrder`. */
const toldStatuses = new WeakMap<ObjectStatus, { readonly programmed: Condition; readonly told: ObjectStatus }>();

/** Adds Programmed, and Ready, which sums all of them up. The same again where the same was asked before. */
export function withProgrammed(status: ObjectStatus, programmed: Condition): ObjectStatus {
  const known = toldStatuses.get(status);
  if (known !== undefined && isSame(known.programmed, programmed)) return known.told;
  const told = newTold(status, programmed);
  toldStatuses.set(status, { programmed, told });
  return told;
}

function isSame(a: Condition, b: Condition): boolean {
  return a.status === b.status && a.reason === b.reason && a.message === b.message && a.type === b.type;
}

function newTold(status: ObjectStatus, programmed: Condition): ObjectStatus {
  const all = [...status.conditions, programmed];
  const failing = all.find(({ type, status: value }) => type !== 'Warning' && value !== 'True');
  const ready =
    failing === undefined
      ? condition('Ready', true, { reason: 'Ready', message: '' })
      : condition('Ready', false, { reason: 'NotReady', message: `${failing.type} is ${failing.status}` });
  return { ...status, conditions: [...all, ready] };
}

/** The last answer for each status: see `statusesInOrder`. */
const filledStatuses = new WeakMap<ObjectStatus, { readonly fields: StatusFields; readonly filled: ObjectStatus }>();

/** Adds fields to those that `compile` gave. The same again where the same was asked before. */
export function withFields(status: ObjectStatus, fields: StatusFields | undefined): ObjectStatus {
  if (fields === undefined) return status;
  const known = filledStatuses.get(status);
  if (known?.fields === fields) return known.filled;
  const filled = { ...status, fields: { ...status.fields, ...fields } };
  filledStatuses.set(status, { fields, filled });
  return filled;
}

export function conditionOf(status: ObjectStatus, type: ConditionType): Condition | undefined {
  return status.conditions.find((candidate) => candidate.type === type);
}

function condition(type: ConditionType, holds: boolean, { reason, message }: Verdict): Condition {
  return { type, status: holds ? 'True' : 'False', reason, message };
}

/** The first reason, all messages. */
function joined(verdicts: readonly Verdict[]): Verdict | undefined {
  const [first] = verdicts;
  return first && { reason: first.reason, message: verdicts.map(({ message }) => message).join('; ') };
}
