/** An ApiKey -> the records of its keys, or the Secret that must be written first. */
import { isMisspelt } from '#crds/keys/key-form.ts';
import { ANNOTATIONS } from '#crds/object.ts';
import type { KeyRecord } from '#crds/snapshot/contract.ts';
import { dueAt } from '../keys/due.ts';
import { digestOf, KEY_FIELDS, type KeyState, keyStateOf } from '../keys/key-state.ts';
import type { IssuedKey } from '../keys/rotation-step.ts';
import type { GeneratedSecret } from '../source/source.ts';
import type { SecretObject } from '../world.ts';
import type { ApiKeyObject } from './check.ts';
import { type KeyTimes, keyStatusOf, keyWarnings } from './key-report.ts';
import { type Lookup, secretValue } from './lookup.ts';
import type { StatusFields, Verdict } from './status.ts';
import type { UserKeyRules } from './user-keys.ts';

export const KEY_FIELD = KEY_FIELDS.current;
const MIN_KEY_CHARACTERS = 16;
const MAX_KEY_CHARACTERS = 512;
const DAY_MS = 86_400_000;

/** A Secret that is yet to be made: the key and the time are added when it is. */
export type LackingSecret = Omit<GeneratedSecret, 'values'> & {
  readonly notes?: Readonly<Record<string, string>> | undefined;
};

export interface KeySurroundings {
  readonly lookup: Lookup;
  readonly keyPrefix: string;
  /** What is enforced for keys of users of the namespace. */
  readonly rules: UserKeyRules;
}

export interface CompiledKey {
  /** The present key first; []: there is no key that could be used. */
  readonly records: readonly KeyRecord[];
  readonly refused: Verdict | undefined;
  readonly unresolved: readonly Verdict[];
  readonly warnings: readonly Verdict[];
  /** The Secret that does not exist yet. */
  readonly generate: LackingSecret | undefined;
  /** undefined: somebody brought the key, or there is none. */
  readonly issued: IssuedKey | undefined;
  readonly fields: StatusFields | undefined;
}

/** What a key with its Secret comes to. */
type Made = Pick<CompiledKey, 'records' | 'warnings' | 'issued' | 'fields'>;

const NONE: Made = { records: [], warnings: [], issued: undefined, fields: undefined };

/** The keys are always those that the Secret holds: a former one never outlives its Secret. */
export function compileKey(object: ApiKeyObject, around: KeySurroundings): CompiledKey {
  const { lookup, keyPrefix, rules } = around;
  const { namespace } = object.manifest;
  const secretName = secretNameOf(object);
  const path = 'spec.secret_name';
  const unresolved = missingConfig(object, lookup);
  const nothing: CompiledKey = { ...NONE, refused: undefined, unresolved, generate: undefined };
  const found = secretValue(lookup, namespace, secretName, KEY_FIELD, path);
  if ('missing' in found) {
    if (found.missing.reason !== 'SecretNotFound') return { ...nothing, unresolved: [found.missing, ...unresolved] };
    const message = `${path}: Secret ${namespace}/${secretName} is yet to be written`;
    const pending: Verdict = { reason: 'SecretPending', message };
    return { ...nothing, unresolved: [pending, ...unresolved], generate: lackingSecret(object, secretName) };
  }
  const secret = lookup.secrets.get(namespace, secretName);
  const known = secret === undefined ? undefined : knownKeys.get(object)?.get(secret);
  if (known !== undefined && isSameRules(known.rules, rules)) return { ...nothing, ...known.made };
  const problem = keyProblem(found.value, keyPrefix);
  if (secret !== undefined && problem === undefined) {
    const made = makeKey(object, secret, found.value, around);
    knownKeys.set(object, new WeakMap([[secret, { rules, made }]]));
    return { ...nothing, ...made };
  }
  const message = `${path}: Secret ${namespace}/${secretName}: ${KEY_FIELD}: ${problem}`;
  return { ...nothing, refused: { reason: 'InvalidKey', message } };
}

/** Most keys are the same from one pass to the next. */
const knownKeys = new WeakMap<
  ApiKeyObject,
  WeakMap<SecretObject, { readonly rules: UserKeyRules; readonly made: Made }>
>();

function isSameRules(a: UserKeyRules, b: UserKeyRules): boolean {
  return a.rotationPeriod === b.rotationPeriod && a.ttlDays === b.ttlDays;
}

function makeKey(object: ApiKeyObject, secret: SecretObject, current: string, around: KeySurroundings): Made {
  const isKey = (key: string): boolean => keyProblem(key, around.keyPrefix) === undefined;
  const state = keyStateOf(secret.generated ? secret.values : new Map(), current, isKey);
  const rules = object.spec.type === 'workspace-user' ? around.rules : {};
  const times = timesOf(object, state, rules, secret.generated);
  const issued = secret.generated ? issuedKey(object, secret, state, times) : undefined;
  return {
    records: recordsOf(object, state, times.expiresAtMs),
    warnings: keyWarnings(object, { issued, times, rules, secret }),
    issued,
    fields: keyStatusOf(state, times),
  };
}

function timesOf({ spec, manifest }: ApiKeyObject, state: KeyState, rules: UserKeyRules, isIssued: boolean): KeyTimes {
  const { rotation_policy: policy, expires_at: expiresAt } = spec;
  const { creationTimestamp = '' } = Object(manifest.raw['metadata']) as { creationTimestamp?: string };
  const madeAtMs = timeIn(creationTimestamp) ?? state.createdAtMs;
  const ends = [
    timeIn(expiresAt ?? ''),
    rules.ttlDays === undefined || madeAtMs === undefined ? undefined : madeAtMs + rules.ttlDays * DAY_MS,
  ].filter((end) => end !== undefined);
  const expiresAtMs = ends.length === 0 ? undefined : Math.min(...ends);
  const rule = {
    period: rules.rotationPeriod ?? policy?.rotation_period,
    firstAtMs: timeIn(policy?.next_rotation_at ?? ''),
  };
  const dueAtMs = isIssued ? dueAt(rule, state.sinceMs ?? timeIn(creationTimestamp)) : undefined;
  // A key that will have ended by then needs no successor.
  const isPointless = dueAtMs !== undefined && expiresAtMs !== undefined && expiresAtMs <= dueAtMs;
  return { madeAtMs, expiresAtMs, dueAtMs: isPointless ? undefined : dueAtMs };
}

function timeIn(text: string): number | undefined {
  const timeMs = Date.parse(text);
  return Number.isNaN(timeMs) ? undefined : timeMs;
}

const DEFAULT_TRANSITION_MS = 30 * 60_000;

function issuedKey(
  { manifest, spec }: ApiKeyObject,
  secret: SecretObject,
  state: KeyState,
  { dueAtMs }: KeyTimes,
): IssuedKey {
  const { namespace, name } = manifest;
  const transitionMs = spec.rotation_policy?.key_transition_period_ms ?? DEFAULT_TRANSITION_MS;
  return { namespace, name, secret, state, word: wordOf(manifest.raw), dueAtMs, transitionMs };
}

function lackingSecret({ manifest }: ApiKeyObject, secretName: string): LackingSecret {
  const { namespace, name, raw } = manifest;
  const word = wordOf(raw);
  const lacking = { namespace, name: secretName, owner: `ApiKey ${namespace}/${name}` };
  // The word that a key is made with asks for nothing more.
  return word === undefined ? lacking : { ...lacking, notes: { [KEY_FIELDS.word]: word } };
}

function wordOf(raw: Readonly<Record<string, unknown>>): string | undefined {
  const { annotations } = Object(raw['metadata']) as { annotations?: Readonly<Record<string, string>> };
  return annotations?.[ANNOTATIONS.rotate];
}

function secretNameOf({ manifest, spec }: ApiKeyObject): string {
  return spec.secret_name ?? `${manifest.name}-api-key`;
}

function keyProblem(key: string, prefix: string): string | undefined {
  if (key.length < MIN_KEY_CHARACTERS) return `must have at least ${MIN_KEY_CHARACTERS} characters`;
  if (key.length > MAX_KEY_CHARACTERS) return `must have at most ${MAX_KEY_CHARACTERS} characters`;
  if (!/^[\x21-\x7e]+$/.test(key)) return 'must be printable ASCII without spaces: it travels in a header';
  if (!isMisspelt(key, prefix)) return undefined;
  return `must end in its checksum where it begins with ${prefix} and is as long as the keys made here: copy it anew, or bring one of another form`;
}

function missingConfig({ manifest, spec }: ApiKeyObject, lookup: Lookup): readonly Verdict[] {
  const { config_id: configId } = spec.defaults;
  const missing = configId === undefined ? undefined : lookup.missing('GatewayConfig', manifest.namespace, configId);
  return missing === undefined ? [] : [{ reason: 'RefNotFound', message: `spec.defaults.config_id: ${missing}` }];
}

function recordsOf(
  object: ApiKeyObject,
  { current, next, previous }: KeyState,
  expiresAtMs: number | undefined,
): KeyRecord[] {
  const record = (digest: string, slot?: KeyRecord['slot'], endMs = expiresAtMs) =>
    newRecord(object, digest, slot, endMs);
  const records = [record(digestOf(current))];
  if (next !== undefined) records.push(record(digestOf(next), 'next'));
  if (previous !== undefined) {
    const endMs = Math.min(previous.expiresAtMs, expiresAtMs ?? Number.POSITIVE_INFINITY);
    records.push(record(previous.digest, 'previous', endMs));
  }
  return records;
}

function newRecord(
  { manifest, spec }: ApiKeyObject,
  digest: string,
  slot: KeyRecord['slot'],
  endMs?: number,
): KeyRecord {
  const { defaults } = spec;
  return {
    namespace: manifest.namespace,
    name: manifest.name,
    ...(slot === undefined ? {} : { slot }),
    digest,
    type: spec.type,
    ...(spec.scopes === undefined ? {} : { scopes: spec.scopes }),
    ...(defaults.config_id === undefined ? {} : { config_id: defaults.config_id }),
    allow_config_override: defaults.allow_config_override,
    metadata: defaults.metadata,
    ...(endMs === undefined ? {} : { expires_at_ms: endMs }),
    disabled: spec.disabled,
    ...(spec.concurrency === undefined ? {} : { concurrency: spec.concurrency }),
  };
}
