/** The versions of a prompt or partial, as the control plane reads and makes them. */
import { setTimeout as sleep } from 'node:timers/promises';
import { ANNOTATIONS } from '#crds/object.ts';
import { canonicalContent, contentText } from '#crds/prompts/content.ts';
import type { Publication } from '#crds/prompts/reference.ts';
import { VERSIONS_LABEL, type Versioned, versionName, versionsOf } from '#crds/prompts/version-name.ts';
import { publicationOf } from '../../../compile/prompt-publication.ts';
import { ControlError, unavailable } from '../../control-error.ts';
import type { ControlWorld } from '../../control-world.ts';
import type { Spec, StoredObject } from '../../stored-object.ts';
import { wholeSpec } from '../wire.ts';

/** One version that there is. */
export interface StoredVersion {
  readonly object: StoredObject;
  readonly version: number;
  readonly content: Spec;
  readonly description: string | undefined;
}

export interface PromptVersions {
  /** In order. */
  readonly versions: readonly StoredVersion[];
  readonly publication: Publication;
  /** Version that edits of the object have published last; 0: none. */
  readonly byEdit: number;
  readonly highest: number;
}

const PATIENCE_MS = 15_000;
const LOOK_EVERY_MS = 20;
const TRIES = 5;

export async function versionsOfPrompt(prompt: StoredObject, { objects }: ControlWorld): Promise<PromptVersions> {
  const kind = prompt.kind as Versioned;
  const label = [VERSIONS_LABEL, versionsOf(kind, prompt.name)] as const;
  const all = (await objects.list('PromptVersion', prompt.namespace, { label })).filter(
    ({ spec }) => spec['kind'] === kind && spec['prompt'] === prompt.name,
  );
  const versions = all
    .filter(({ ownerId }) => ownerId === undefined || ownerId === prompt.id)
    .map(storedVersion)
    .sort((a, b) => a.version - b.version);
  const highest = all.reduce((most, { spec }) => Math.max(most, Number(spec['version'])), 0);
  return { versions, highest, ...publicationIn(prompt, versions) };
}

function storedVersion(object: StoredObject): StoredVersion {
  const { version, content, description } = object.spec as { version: number; content: string; description?: string };
  return { object, version, content: JSON.parse(content) as Spec, description };
}

/** By the same rules as the operator's. */
function publicationIn(
  prompt: StoredObject,
  versions: readonly StoredVersion[],
): Pick<PromptVersions, 'publication' | 'byEdit'> {
  const { publish = true, ...spec } = wholeSpec(prompt);
  const edited = versions.findLast(({ object }) => object.spec['created_by'] === 'manifest');
  return publicationOf({
    publish: publish === true,
    annotations: prompt.annotations,
    versions: versions.map(({ object: { annotations }, version }) => ({
      version,
      isPublished: annotations[ANNOTATIONS.published] === 'true',
      labels: (annotations[ANNOTATIONS.labels] ?? '').split(',').filter(Boolean),
    })),
    edited: edited?.version,
    isCurrent: edited !== undefined && isSameContent(String(edited.object.spec['content']), contentText(spec)),
  });
}

function isSameContent(one: string, other: string): boolean {
  return canonicalContent(one) === canonicalContent(other);
}

/** The first version of a new object, which the operator makes. Takes the object back where it is refused, or nobody makes one. */
export async function firstVersion(prompt: StoredObject, world: ControlWorld): Promise<StoredVersion> {
  const untilMs = performance.now() + PATIENCE_MS;
  for (;;) {
    const { versions } = await versionsOfPrompt(prompt, world);
    const [first] = versions;
    if (first !== undefined) return first;
    const refusal = world.refusalOf(prompt);
    if (refusal !== undefined || performance.now() > untilMs) {
      await world.objects.remove(prompt);
      if (refusal === undefined) throw unavailable('No operator made a version in time; nothing was kept.');
      throw new ControlError('invalid_value', `${refusal.replace(/^spec\./, '')}.`);
    }
    await sleep(LOOK_EVERY_MS);
  }
}

/** A draft; that of the newest version where it holds the same. `text`: the content, as versions keep it. */
export async function draftVersion(
  prompt: StoredObject,
  text: string,
  description: string | undefined,
  world: ControlWorld,
): Promise<StoredVersion> {
  const kind = prompt.kind as Versioned;
  for (let tries = 0; tries < TRIES; tries += 1) {
    const { versions, highest } = await versionsOfPrompt(prompt, world);
    const newest = versions.at(-1);
    if (newest !== undefined && isSameContent(String(newest.object.spec['content']), text)) return newest;
    const version = highest + 1;
    const made = await world.objects.create({
      kind: 'PromptVersion',
      namespace: prompt.namespace,
      name: versionName(kind, prompt.name, version),
      labels: { [VERSIONS_LABEL]: versionsOf(kind, prompt.name) },
      owner: prompt,
      spec: {
        kind,
        prompt: prompt.name,
        version,
        content: text,
        ...(description === undefined ? {} : { description }),
        created_by: 'api',
      },
    });
    if (made !== undefined) return storedVersion(made);
  }
  throw new ControlError('conflict', 'Versions are being made by others all the time.');
}

/** By its number or its id. Throws `unknown_object`. */
export function findVersion({ versions }: PromptVersions, asked: string | number): StoredVersion {
  const word = String(asked);
  const found = versions.find(({ object, version }) => object.id === word.toLowerCase() || String(version) === word);
  if (found !== undefined) return found;
  throw new ControlError('unknown_object', `There is no version "${word.slice(0, 64)}".`, { param: 'version' });
}
