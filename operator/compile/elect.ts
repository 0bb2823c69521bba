/** Which version of each object is in force, where objects compete for a name or a role. */
import { identityOf, type Manifest } from '../world.ts';
import { type AcceptedObject, type CheckContext, check } from './check.ts';
import type { ObjectStatus, Verdict } from './status.ts';

/** By identity: the manifest that was accepted last. */
export type LastGood = ReadonlyMap<string, Manifest>;

/** What became of one manifest. */
export interface Candidate {
  readonly manifest: Manifest;
  readonly refused: Verdict | undefined;
  /** The version in force: of this manifest, or the last accepted one; undefined: none. */
  readonly object: AcceptedObject | undefined;
  readonly served: ObjectStatus['served'];
}

export interface Election {
  readonly candidates: readonly Candidate[];
  /** Manifests whose name another one has. */
  readonly duplicates: readonly { readonly manifest: Manifest; readonly refused: Verdict }[];
}

/** The first manifest of a name wins, good or bad; each is then judged alone, and defaults of a namespace by name. */
export function elect(manifests: readonly Manifest[], previous: LastGood, context: CheckContext): Election {
  const winners = new Map<string, Manifest>();
  const duplicates: { manifest: Manifest; refused: Verdict }[] = [];
  for (const manifest of manifests) {
    const identity = identityOf(manifest);
    const first = winners.get(identity);
    if (first === undefined) winners.set(identity, manifest);
    else duplicates.push({ manifest, refused: sameName(manifest, first) });
  }
  const judged = [...winners.values()].map((manifest) => judge(manifest, previous, context));
  return { candidates: electDefaults(judged, previous, context), duplicates };
}

function judge(manifest: Manifest, previous: LastGood, context: CheckContext): Candidate {
  const checked = check(manifest, context);
  if ('object' in checked) return { manifest, refused: undefined, object: checked.object, served: 'current' };
  return fallBack(manifest, checked.refused, previous, context);
}

/** What is served in the place of a refused manifest: the version that was accepted last, if any. */
export function fallBack(manifest: Manifest, refused: Verdict, previous: LastGood, context: CheckContext): Candidate {
  const last = previous.get(identityOf(manifest));
  // Another uid: the object was deleted and made anew, and owes its name nothing.
  const checked = last !== undefined && last.uid === manifest.uid ? check(last, context) : undefined;
  const object = checked !== undefined && 'object' in checked ? checked.object : undefined;
  return { manifest, refused, object, served: object === undefined ? 'none' : 'last-good' };
}

function electDefaults(judged: readonly Candidate[], previous: LastGood, context: CheckContext): readonly Candidate[] {
  const winners = new Map<string, Candidate>();
  const claimants = judged.filter((candidate) => candidate.object?.isDefault === true);
  if (claimants.length < 2) return judged;
  for (const candidate of claimants.sort((a, b) => compareNames(a.manifest, b.manifest))) {
    if (!winners.has(candidate.manifest.namespace)) winners.set(candidate.manifest.namespace, candidate);
  }
  return judged.map((candidate) => {
    const winner = winners.get(candidate.manifest.namespace);
    if (winner === undefined || winner === candidate || candidate.object?.isDefault !== true) return candidate;
    return withoutRole(candidate, winner, previous, context);
  });
}

/** The last accepted version stays, but not as the default: that role has gone to another. */
function withoutRole(candidate: Candidate, winner: Candidate, previous: LastGood, context: CheckContext): Candidate {
  const { manifest } = candidate;
  const refused = candidate.refused ?? sameRole(manifest, winner.manifest);
  const fallen = candidate.refused === undefined ? fallBack(manifest, refused, previous, context) : candidate;
  return fallen.object === undefined ? fallen : { ...fallen, object: { ...fallen.object, isDefault: false } };
}

function sameName(manifest: Manifest, first: Manifest): Verdict {
  const message = `metadata.name: ${placeOf(first)} and ${placeOf(manifest)} both define ${identityOf(manifest)}; the first is used`;
  return { reason: 'Conflicted', message };
}

function sameRole(manifest: Manifest, winner: Manifest): Verdict {
  const both = `${winner.name} (${placeOf(winner)}) and ${manifest.name} (${placeOf(manifest)})`;
  const message = `metadata.annotations: ${both} both claim to be the default of ${manifest.namespace}; the first by name is`;
  return { reason: 'Conflicted', message };
}

function placeOf({ place }: Manifest): string {
  return place === undefined ? 'the cluster' : `${place.file}:${place.line}`;
}

export function compareNames(
  a: { readonly namespace: string; readonly name: string },
  b: { readonly namespace: string; readonly name: string },
): number {
  if (a.namespace !== b.namespace) return a.namespace < b.namespace ? -1 : 1;
  return a.name === b.name ? 0 : a.name < b.name ? -1 : 1;
}
