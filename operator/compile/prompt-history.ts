/** The versions that there are of each prompt and partial. */
import { ANNOTATIONS } from '#crds/object.ts';
import { canonicalContent } from '#crds/prompts/content.ts';
import type { Versioned } from '#crds/prompts/version-name.ts';
import type { Manifest } from '../world.ts';
import type { AcceptedObject, PromptObject, PromptPartialObject, PromptVersionObject } from './check.ts';
import type { Candidate } from './elect.ts';

export type VersionedObject = PromptObject | PromptPartialObject;

export interface KnownVersion {
  readonly object: PromptVersionObject;
  readonly version: number;
  readonly content: string;
  /** See `canonicalContent`. */
  readonly canonical: string;
  /** An edit made it, and published it then or later. */
  readonly isPublished: boolean;
  /** Those that an edit gave it. */
  readonly labels: readonly string[];
}

export interface History {
  /** In order. */
  readonly versions: readonly KnownVersion[];
  /** The last that an edit made. */
  readonly edited: KnownVersion | undefined;
  /** Of all versions of that name, also of an object that is gone; 0: there is none. */
  readonly highest: number;
}

export function isVersioned(object: AcceptedObject): object is VersionedObject {
  return object.kind === 'Prompt' || object.kind === 'PromptPartial';
}

export function annotationsOf({ raw }: Manifest): Readonly<Record<string, string>> {
  return (Object(raw['metadata']) as { annotations?: Record<string, string> }).annotations ?? {};
}

export class Histories {
  readonly #versions = new Map<string, PromptVersionObject[]>();

  constructor(candidates: readonly Candidate[]) {
    for (const { object } of candidates) {
      if (object?.kind !== 'PromptVersion') continue;
      const key = keyOf(object.spec.kind, object.manifest.namespace, object.spec.prompt);
      const known = this.#versions.get(key);
      if (known === undefined) this.#versions.set(key, [object]);
      else known.push(object);
    }
  }

  of({ kind, manifest }: VersionedObject): History {
    const all = this.#versions.get(keyOf(kind, manifest.namespace, manifest.name)) ?? [];
    const versions = all
      .filter((object) => isOf(object, manifest))
      .map(known)
      .sort((a, b) => a.version - b.version);
    return {
      versions,
      edited: versions.findLast(({ object }) => object.spec.created_by === 'manifest'),
      highest: all.reduce((highest, { spec }) => Math.max(highest, spec.version), 0),
    };
  }
}

function keyOf(kind: Versioned, namespace: string, name: string): string {
  return `${kind} ${namespace}/${name}`;
}

/** Another object may have had the name: its versions only wait to be collected. */
function isOf({ manifest }: PromptVersionObject, { uid }: Manifest): boolean {
  return uid === undefined || ownerUid(manifest) === uid;
}

function ownerUid({ raw }: Manifest): unknown {
  const { ownerReferences: [owner] = [] } = Object(raw['metadata']) as {
    ownerReferences?: readonly { uid?: unknown }[];
  };
  return owner?.uid;
}

/** The same again for the same object. */
const knownVersions = new WeakMap<PromptVersionObject, KnownVersion>();

function known(object: PromptVersionObject): KnownVersion {
  const before = knownVersions.get(object);
  if (before !== undefined) return before;
  const { version, content } = object.spec;
  const { [ANNOTATIONS.published]: published, [ANNOTATIONS.labels]: labels = '' } = annotationsOf(object.manifest);
  const made = {
    object,
    version,
    content,
    canonical: canonicalContent(content),
    isPublished: published === 'true',
    labels: labels.split(',').filter(Boolean),
  };
  knownVersions.set(object, made);
  return made;
}
