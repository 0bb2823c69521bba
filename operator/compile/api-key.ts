/** An ApiKey -> its record with the digest of the key, or the Secret that must be written first. */
import { createHash } from 'node:crypto';
import type { KeyRecord } from '#crds/snapshot/contract.ts';
import type { GeneratedSecret } from '../source/source.ts';
import type { ApiKeyObject } from './check.ts';
import { type Lookup, secretValue } from './lookup.ts';
import type { Verdict } from './status.ts';

export const KEY_FIELD = 'api_key';
const MIN_KEY_CHARACTERS = 16;
const MAX_KEY_CHARACTERS = 512;

/** A Secret that is yet to be made. */
export type LackingSecret = Omit<GeneratedSecret, 'values'>;

export interface CompiledKey {
  /** undefined: there is no key that could be used. */
  readonly record: KeyRecord | undefined;
  readonly refused: Verdict | undefined;
  readonly unresolved: readonly Verdict[];
  /** The Secret that does not exist yet. */
  readonly generate: LackingSecret | undefined;
}

/** The key is always the Secret's present value: a former one never outlives its Secret. */
export function compileKey(object: ApiKeyObject, lookup: Lookup): CompiledKey {
  const { namespace, name } = object.manifest;
  const known = knownOf(object);
  const { secretName } = known;
  const path = 'spec.secret_name';
  const unresolved = missingConfig(object, lookup);
  const nothing: CompiledKey = { record: undefined, refused: undefined, unresolved, generate: undefined };
  const found = secretValue(lookup, namespace, secretName, KEY_FIELD, path);
  if ('missing' in found) {
    if (found.missing.reason !== 'SecretNotFound') return { ...nothing, unresolved: [found.missing, ...unresolved] };
    const pending: Verdict = {
      reason: 'SecretPending',
      message: `${path}: Secret ${namespace}/${secretName} is yet to be written`,
    };
    const generate = { namespace, name: secretName, owner: `ApiKey ${namespace}/${name}` };
    return { ...nothing, unresolved: [pending, ...unresolved], generate };
  }
  if (known.key === found.value) return { ...nothing, record: known.record };
  const problem = keyProblem(found.value);
  if (problem === undefined) return { ...nothing, record: recordOf(object, found.value, known) };
  const message = `${path}: Secret ${namespace}/${secretName}: ${KEY_FIELD}: ${problem}`;
  return { ...nothing, refused: { reason: 'InvalidKey', message } };
}

function secretNameOf({ manifest, spec }: ApiKeyObject): string {
  return spec.secret_name ?? `${manifest.name}-api-key`;
}

function keyProblem(key: string): string | undefined {
  if (key.length < MIN_KEY_CHARACTERS) return `must have at least ${MIN_KEY_CHARACTERS} characters`;
  if (key.length > MAX_KEY_CHARACTERS) return `must have at most ${MAX_KEY_CHARACTERS} characters`;
  return /^[\x21-\x7e]+$/.test(key) ? undefined : 'must be printable ASCII without spaces: it travels in a header';
}

function missingConfig({ manifest, spec }: ApiKeyObject, lookup: Lookup): readonly Verdict[] {
  const { config_id: configId } = spec.defaults;
  const missing = configId === undefined ? undefined : lookup.missing('GatewayConfig', manifest.namespace, configId);
  return missing === undefined ? [] : [{ reason: 'RefNotFound', message: `spec.defaults.config_id: ${missing}` }];
}

interface Known {
  readonly secretName: string;
  /** The last good key, and what was made from it. */
  key: string | undefined;
  record: KeyRecord | undefined;
}

/** Most keys are the same from one pass to the next. */
const knownKeys = new WeakMap<ApiKeyObject, Known>();

function knownOf(object: ApiKeyObject): Known {
  const known = knownKeys.get(object);
  if (known !== undefined) return known;
  const fresh: Known = { secretName: secretNameOf(object), key: undefined, record: undefined };
  knownKeys.set(object, fresh);
  return fresh;
}

function recordOf(object: ApiKeyObject, key: string, known: Known): KeyRecord {
  const record = newRecord(object, key);
  known.key = key;
  known.record = record;
  return record;
}

function newRecord({ manifest, spec }: ApiKeyObject, key: string): KeyRecord {
  const { defaults, expires_at: expiresAt } = spec;
  return {
    namespace: manifest.namespace,
    name: manifest.name,
    digest: createHash('sha256').update(key).digest('hex'),
    type: spec.type,
    ...(spec.scopes === undefined ? {} : { scopes: spec.scopes }),
    ...(defaults.config_id === undefined ? {} : { config_id: defaults.config_id }),
    allow_config_override: defaults.allow_config_override,
    metadata: defaults.metadata,
    ...(expiresAt === undefined ? {} : { expires_at_ms: Date.parse(expiresAt) }),
    disabled: spec.disabled,
  };
}
