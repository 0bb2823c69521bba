/** Finds what objects name: Secrets of their own namespace, and objects that they may use. */
import { identityOf, type SecretObject } from '../world.ts';
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
  const byIdentity = new Map(candidates.map((candidate) => [identityOf(candidate.manifest), candidate]));
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
  const label = `${namespace}/${name}`;
  const secret = lookup.secrets.get(label);
  if (secret === undefined)
    return { missing: { reason: 'SecretNotFound', message: `${path}: Secret ${label} does not exist` } };
  if (secret.refused !== undefined) {
    const message = `${path}: Secret ${label} cannot be used: ${secret.refused.message}`;
    return { missing: { reason: 'SecretRefused', message } };
  }
  const value = withoutLineEnds(secret.values.get(key));
  if (value !== undefined && value !== '') return { value };
  const message = `${path}: Secret ${label} has no value under "${key}"`;
  return { missing: { reason: 'SecretKeyMissing', message } };
}

function withoutLineEnds(value: string | undefined): string | undefined {
  return value?.endsWith('\n') || value?.endsWith('\r') ? value.replace(/[\r\n]+$/, '') : value;
}

function isSharedWith(object: AcceptedObject, namespace: string): boolean {
  return object.sharedWith === '*' || object.sharedWith.includes(namespace);
}
