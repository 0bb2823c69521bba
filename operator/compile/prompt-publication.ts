/** Which versions of a prompt its references mean: what an edit says, unless the control plane said otherwise since. */
import { ANNOTATIONS } from '#crds/object.ts';
import { labelProblem, type Publication } from '#crds/prompts/reference.ts';
import type { KnownVersion, VersionedObject } from './prompt-history.ts';
import type { Verdict } from './status.ts';

/** A choice by hand: version 0 is none. It holds until an edit brings a later version than `over`. */
export interface VersionChoice {
  readonly version: number;
  /** undefined: for good. */
  readonly over: number | undefined;
}

/** What decides. */
export interface Publishing {
  /** `publish` of the object. */
  readonly publish: boolean;
  readonly annotations: Readonly<Record<string, string>>;
  /** In order. */
  readonly versions: readonly Pick<KnownVersion, 'version' | 'isPublished' | 'labels'>[];
  /** The last version that an edit made. */
  readonly edited: number | undefined;
  /** It is what the object says: an edit that has no version yet publishes nothing. */
  readonly isCurrent: boolean;
}

export interface PublicationSaid {
  readonly publication: Publication;
  /** The version that the last edit published; 0: none did. */
  readonly byEdit: number;
  /** What annotations say that cannot be. */
  readonly unresolved: readonly Verdict[];
}

const CHOICE = /^(\d{1,9})(?:@(\d{1,9}))?$/;

/** `3` or `3@5`; undefined: neither. */
export function readChoice(text: string): VersionChoice | undefined {
  const [, version, over] = CHOICE.exec(text.trim()) ?? [];
  return version === undefined
    ? undefined
    : { version: Number(version), over: over === undefined ? undefined : Number(over) };
}

export function writeChoice({ version, over }: VersionChoice): string {
  return over === undefined ? String(version) : `${version}@${over}`;
}

/** `staging=3,beta=4@5` by label; a text that is none of these is left out. */
export function readLabelChoices(text: string): ReadonlyMap<string, VersionChoice> {
  const pairs = text.split(',').map((pair) => pair.trim().split('='));
  return new Map(
    pairs.flatMap(([label = '', version = '']) => {
      const choice = readChoice(version);
      return choice === undefined || labelProblem(label) !== undefined ? [] : [[label, choice] as const];
    }),
  );
}

export function writeLabelChoices(choices: ReadonlyMap<string, VersionChoice>): string {
  return [...choices]
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([label, choice]) => `${label}=${writeChoice(choice)}`)
    .join(',');
}

function publishedByEdit({ publish, versions, edited, isCurrent }: Publishing): number {
  if (publish && isCurrent) return edited ?? 0;
  return versions.findLast(({ isPublished }) => isPublished)?.version ?? 0;
}

/** What the object of the last edit's version says, for as long as that edit stands. */
export function marksOf({ spec }: VersionedObject, isPublished: boolean): Readonly<Record<string, string>> {
  return {
    ...(spec.publish || isPublished ? { [ANNOTATIONS.published]: 'true' } : {}),
    [ANNOTATIONS.labels]: [...new Set(spec.labels ?? [])].sort().join(','),
  };
}

export function publicationOf(publishing: Publishing): PublicationSaid {
  const { annotations, versions } = publishing;
  const unresolved: Verdict[] = [];
  const isThere = (version: number) => versions.some((known) => known.version === version);
  const byEdit = publishedByEdit(publishing);
  const chosen = choiceIn(annotations, unresolved);
  if (chosen !== undefined && !isThere(chosen.version)) unresolved.push(noVersion(chosen));
  const isChosen = chosen !== undefined && isThere(chosen.version) && holds(chosen, byEdit);
  const live = isChosen ? chosen.version : byEdit;
  return {
    byEdit,
    publication: {
      live: live === 0 ? undefined : live,
      latest: versions.at(-1)?.version ?? 0,
      labels: labelsOf(versions, annotations[ANNOTATIONS.versionLabels] ?? ''),
    },
    unresolved,
  };
}

function holds({ over }: VersionChoice, edited: number): boolean {
  return over === undefined || over >= edited;
}

function choiceIn(annotations: Readonly<Record<string, string>>, unresolved: Verdict[]): VersionChoice | undefined {
  const text = annotations[ANNOTATIONS.publishedVersion];
  if (text === undefined) return undefined;
  const choice = readChoice(text);
  if (choice === undefined) {
    const message = `metadata.annotations["${ANNOTATIONS.publishedVersion}"]: must be the number of a version, such as "3"`;
    unresolved.push({ reason: 'InvalidAnnotation', message });
  }
  return choice;
}

function noVersion({ version }: VersionChoice): Verdict {
  const message = `metadata.annotations["${ANNOTATIONS.publishedVersion}"]: there is no version ${version}`;
  return { reason: 'RefNotFound', message };
}

/** A label is on the last version that an edit gave it to. */
function labelsOf(versions: Publishing['versions'], text: string): Publication['labels'] {
  const labels: Record<string, number> = {};
  for (const { version, labels: given } of versions) for (const label of given) labels[label] = version;
  for (const [label, choice] of readLabelChoices(text)) {
    if (!holds(choice, labels[label] ?? 0)) continue;
    if (choice.version === 0) delete labels[label];
    else if (versions.some(({ version }) => version === choice.version)) labels[label] = choice.version;
  }
  return labels;
}
