/** Finds what objects name: Secrets of their own namespace, and objects that they may use. */
import type { SecretObject } from '../world.ts';
import { ByName } from './by-name.ts';
import type { AcceptedObject } from './check.ts';
import type { Candidate } from './elect.ts';
import type { Verdict } from './status.ts';

export interface Lookup {
  readonly secrets: Pick<ByName<SecretObject>, 'get'>;
  /** Why an object of this kind and name cannot be used from `namespace`; undefined: it can. */
  readonly missing: (kind: Usable, namespace: string, name: string) => string | undefined;
}

/** Kinds that others name. */
type Usable = 'GatewayConfig' | 'Integration' | 'Guardrail' | 'Prompt';

export function lookupIn(
  candidates: readonly Candidate[],
  secrets: Lookup['secrets'],
  organisationNamespace: string,
): Lookup {
  const usable: Readonly<Record<Usable, ByName<Candidate>>> = {
    GatewayConfig: new ByName(),
    Integration: new ByName(),
    Guardrail: new ByName(),
    Prompt: new ByName(),
  };
  for (const candidate of candidates) {
    const { kind, namespace, name } = candidate.manifest;
    if (Object.hasOwn(usable, kind)) usable[kind as Usable].set(namespace, name, candidate);
  }
  return {
    secrets,
    missing: (kind, namespace, name) => {
      const own = usable[kind].get(namespace, name);
      if (own?.object !== undefined) return undefined;
      const shared = usable[kind].get(organisationNamespace, name)?.object;
      if (shared !== undefined && isSharedWith(shared, namespace)) return undefined;
      if (own !== undefined) return `${kind} ${namespace}/${name} was refused: see its own conditions`;
      return `there is no ${kind} "${name}" in ${namespace}, nor one that is shared with it`;
    },
  };
}

export type SecretValue = { readonly value: string } | { readonly missing: Verdict };

/** The value of a key of a Secret, without line ends that an editor or `echo` left behind. `path` begins the message. */
export function secretValue(lookup: Lookup, namespace: string, name: string, key: string, path: string): SecretValue {
  const secret = lookup.secrets.get(namespace, name);
  const value = secret?.refused === undefined ? withoutLineEnds(secret?.values.get(key)) : undefined;
  if (value !== undefined && value !== '') return { value };
  const label = `${namespace}/${name}`;
  if (secret === undefined)
    return { missing: { reason: 'SecretNotFound', message: `${path}: Secret ${label} does not exist` } };
  if (secret.refused !== undefined) {
    const message = `${path}: Secret ${label} cannot be used: ${secret.refused.message}`;
    return { missing: { reason: 'SecretRefused', message } };
  }
  const message = `${path}: Secret ${label} has no value under "${key}"`;
  return { missing: { reason: 'SecretKeyMissing', message } };
}

function withoutLineEnds(value: string | undefined): string | undefined {
  return value?.endsWith('\n') || value?.endsWith('\r') ? value.replace(/[\r\n]+$/, '') : value;
}

function isSharedWith(object: AcceptedObject, namespace: string): boolean {
  return object.sharedWith === '*' || object.sharedWith.includes(namespace);
}
