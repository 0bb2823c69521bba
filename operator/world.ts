/** Everything that was read, before anything is judged: what `compile` takes. Plain values; no files, sockets or clocks. */

import type { EmbeddingModel } from '#crds/command/embedding-model.ts';
import type { UserKeyRules } from './compile/user-keys.ts';

/** Where a manifest was read. */
export interface Place {
  /** As it is shown to the user, e.g. `manifests/chat.yaml`. */
  readonly file: string;
  /** 1-based. */
  readonly line: number;
}

/** One object of this project's group, as it was written. */
export interface Manifest {
  readonly kind: string;
  readonly namespace: string;
  readonly name: string;
  /** The API server's; undefined in a directory of manifests. */
  readonly uid: string | undefined;
  /** `metadata.generation`, 1 where there is none. */
  readonly generation: number;
  /** The whole document. */
  readonly raw: Readonly<Record<string, unknown>>;
  /** undefined: read from an API server. */
  readonly place: Place | undefined;
}

/** A Secret, decoded. */
export interface SecretObject {
  readonly namespace: string;
  readonly name: string;
  readonly values: ReadonlyMap<string, string>;
  readonly place: Place | undefined;
  /** Why it cannot be used; its values are then empty. */
  readonly refused: { readonly reason: string; readonly message: string } | undefined;
  /** Written by this program: gives way to a Secret of the same name that a user wrote. */
  readonly generated: boolean;
}

/** Something that was read and is no object: reported, never fatal. */
export interface Problem {
  readonly place: Place;
  /** `ignored`: nothing of ours; `refused`: it was meant for us and cannot be used. */
  readonly severity: 'ignored' | 'refused';
  /** e.g. `Deployment/web`, or '' for a whole file. */
  readonly subject: string;
  readonly reason: string;
  readonly message: string;
}

/** What a source has seen. Manifests and Secrets are in order of precedence: the first of one name wins. */
export interface Observation {
  readonly manifests: readonly Manifest[];
  readonly secrets: readonly SecretObject[];
  readonly problems: readonly Problem[];
}

export interface WorldSettings {
  readonly organisationNamespace: string;
  /** Origins that a request may name as its custom host. */
  readonly requestHosts: readonly string[];
  /** Who says what texts mean; absent: nobody, and `semantic` is `simple`. */
  readonly embeddingModel?: EmbeddingModel | undefined;
  /** What keys that are made begin with. Default `mgw_`. */
  readonly keyPrefix?: string;
  /** What holds for keys of users where their Workspace says nothing. Default: nothing. */
  readonly userKeys?: UserKeyRules;
}

export interface World extends Observation {
  readonly settings: WorldSettings;
}

interface Identified {
  readonly kind: string;
  readonly namespace: string;
  readonly name: string;
}

/** The same text again for the same object, whose hash is then known: most objects are asked many times. */
const knownIdentities = new WeakMap<Identified, string>();

/** `Kind namespace/name`: unique in a world that has no conflicts. */
export function identityOf(object: Identified): string {
  const known = knownIdentities.get(object);
  if (known !== undefined) return known;
  const identity = `${object.kind} ${object.namespace}/${object.name}`;
  knownIdentities.set(object, identity);
  return identity;
}
