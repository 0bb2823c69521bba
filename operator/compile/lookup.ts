/** Finds what objects name: Secrets of their own namespace, and objects that they may use. */
import type { SecretObject } from '../world.ts';
import type { AcceptedObject } from './check.ts';
import type { Candidate } from './elect.ts';
import type { Verdict } from './status.ts';

export interface Lookup {
  /** By `namespace/name`. */
  readonly secrets: ReadonlyMap<string, SecretObject>;
  /** Why an object of this kind and name cannot be used from `namespace`; undefined: it can. */
  readonly missing: (kind: 'GatewayConfig' | 'Integration', namespace: string, name: string) => string | undefined;
}

export function lookupIn(
  candidates: readonly Candidate[],
  secrets: ReadonlyMap<string, SecretObject>,
  organisationNamespace: string,
): Lookup {
  const byIdentity = new Map(candidates.map((candidate) => [keyOf(candidate.manifest), candidate]));
  return {
    secrets,
    missing: (kind, namespace, name) => {
      const own = byIdentity.get(`${kind} ${namespace}/${name}`);
      const shared = byIdentity.get(`${kind} ${organisationNamespace}/${name}`)?.object;
      if (own?.object !== undefined || (shared !== undefined && isSharedWith(shared, namespace))) return undefined;
      if (own !== undefined) return `${kind} ${namespace}/${name} was refused: see its own conditions`;
      return `there is no ${kind} "${name}" in ${namespace}, nor one that is shared with it`;
    },
  };
}

export type SecretValue = { readonly value: string } | { readonly missing: Verdict };

/** The value of a key of a Secret, without line ends that an editor or `echo` left behind. `path` begins the message. */
export function secretValue(lookup: Lookup, namespace: string, name: string, key: string, path: string): SecretValue {
  const secret = lookup.secrets.get(`${namespace}/${name}`);
  const label = `Secret ${namespace}/${name}`;
  if (secret === undefined)
    return { missing: { reason: 'SecretNotFound', message: `${path}: ${label} does not exist` } };
  if (secret.refused !== undefined) {
    return {
      missing: { reason: 'SecretRefused', message: `${path}: ${label} cannot be used: ${secret.refused.message}` },
    };
  }
  const value = secret.values.get(key)?.replace(/[\r\n]+$/, '');
  if (value !== undefined && value !== '') return { value };
  return { missing: { reason: 'SecretKeyMissing', message: `${path}: ${label} has no value under "${key}"` } };
}

function keyOf({ kind, namespace, name }: Candidate['manifest']): string {
  return `${kind} ${namespace}/${name}`;
}

function isSharedWith(object: AcceptedObject, namespace: string): boolean {
  return object.sharedWith === '*' || object.sharedWith.includes(namespace);
}
