/** All prompts and partials of the world: which versions they have, lack and publish, and whether their partials can be had. */
import { canonicalContent, contentText, type PromptContent, partialsIn, readContent } from '#crds/prompts/content.ts';
import { parseReference, selectedVersion } from '#crds/prompts/reference.ts';
import { VERSIONS_LABEL, versionName, versionsOf } from '#crds/prompts/version-name.ts';
import type { GeneratedObject } from '../source/source.ts';
import { identityOf, type Manifest } from '../world.ts';
import { ByName } from './by-name.ts';
import type { PromptPartialObject, PromptVersionObject } from './check.ts';
import { type Candidate, compareNames } from './elect.ts';
import {
  annotationsOf,
  Histories,
  type History,
  isVersioned,
  type KnownVersion,
  type VersionedObject,
} from './prompt-history.ts';
import { marksOf, type PublicationSaid, publicationOf } from './prompt-publication.ts';
import type { Verdict } from './status.ts';

export interface UnmarkedVersion {
  readonly manifest: Manifest;
  readonly annotations: Readonly<Record<string, string>>;
}

export interface PromptState extends PublicationSaid {
  readonly history: History;
  /** Content that no version has yet, though an edit says it. */
  readonly pending: string | undefined;
  /** Version that an edit publishes or labels, and that does not say so yet. */
  readonly unmarked: UnmarkedVersion | undefined;
  readonly refused: Verdict | undefined;
}

/** Partials within partials. */
export const MAX_PARTIAL_DEPTH = 8;

class PartialProblem extends Error {
  /** Whose edit would mend it. */
  readonly isMissing: boolean;
  constructor(message: string, isMissing: boolean) {
    super(message);
    this.isMissing = isMissing;
  }
}

export class PromptDesk {
  readonly #states = new Map<VersionedObject, PromptState>();
  readonly #partials = new ByName<PromptPartialObject>();
  readonly #organisationNamespace: string;
  /** How many levels of partials there are below a text, by what it is called. */
  readonly #depths = new Map<string, number>();
  readonly #versions = new WeakSet<PromptVersionObject>();

  constructor(candidates: readonly Candidate[], organisationNamespace: string) {
    this.#organisationNamespace = organisationNamespace;
    const histories = new Histories(candidates);
    const objects = candidates.flatMap(({ object }) => (object !== undefined && isVersioned(object) ? [object] : []));
    for (const object of objects) {
      const history = histories.of(object);
      this.#states.set(object, newState(object, history));
      for (const version of history.versions) this.#versions.add(version.object);
      if (object.kind === 'PromptPartial') this.#partials.set(object.manifest.namespace, object.manifest.name, object);
    }
    this.#judge(objects);
  }

  of(object: VersionedObject): PromptState {
    const state = this.#states.get(object);
    if (state === undefined) throw new Error(`${identityOf(object.manifest)} is not on the desk`);
    return state;
  }

  /** Whether a version is one of a prompt that there is. */
  has(version: PromptVersionObject): boolean {
    return this.#versions.has(version);
  }

  /** Partials first: what is wrong with one must not be said of those that name it. */
  #judge(objects: readonly VersionedObject[]): void {
    const inOrder = [...objects].sort((a, b) => rank(a) - rank(b) || compareNames(a.manifest, b.manifest));
    for (const object of inOrder) {
      const problems = this.#problems(object);
      if (problems.length === 0) continue;
      const state = this.of(object);
      const circle = state.pending === undefined ? undefined : problems.find(({ problem }) => !problem.isMissing);
      if (circle === undefined) {
        this.#states.set(object, { ...state, unresolved: [...state.unresolved, ...problems.map(verdictOf)] });
        continue;
      }
      const refused: Verdict = { ...verdictOf(circle), reason: 'InvalidSpec' };
      this.#states.set(object, { ...state, pending: undefined, refused });
      this.#depths.clear();
    }
  }

  #problems(object: VersionedObject): readonly NamedProblem[] {
    const { manifest } = object;
    const trail = object.kind === 'PromptPartial' ? [ownKey(object, this.of(object))] : [];
    return [...partialsNamedBy(object.spec as PromptContent)].flatMap(([reference, path]) => {
      try {
        this.#depthBelow(reference, manifest.namespace, trail);
        return [];
      } catch (problem) {
        if (problem instanceof PartialProblem) return [{ reference, path, problem }];
        throw problem;
      }
    });
  }

  /** Levels of partials that a reference brings. Throws PartialProblem. `trail`: what it was reached by. */
  #depthBelow(reference: string, namespace: string, trail: readonly string[]): number {
    const { key, text, holder, home } = this.#find(reference, namespace);
    if (trail.includes(key))
      throw new PartialProblem(`leads back to itself: ${[...trail, key].map(nameIn).join(' > ')}`, false);
    const known = this.#depths.get(key);
    if (known !== undefined) return assertDepth(known + trail.length) - trail.length;
    assertDepth(trail.length + 1);
    let depth = 1;
    for (const below of partialsNamedBy(holder, text).keys())
      depth = Math.max(depth, 1 + this.#depthBelow(below, home, [...trail, key]));
    this.#depths.set(key, depth);
    return depth;
  }

  #find(reference: string, namespace: string): FoundPartial {
    const { name, selector } = parseReference(reference);
    const object = this.#visible(namespace, name);
    if (object === undefined) {
      const message = `there is no PromptPartial "${name}" in ${namespace}, nor one that is shared with it`;
      throw new PartialProblem(message, true);
    }
    const { manifest, spec } = object;
    const { pending, publication, history } = this.of(object);
    const home = manifest.namespace;
    const isNow =
      selector.by === 'latest' || (selector.by === 'published' && (spec.publish || publication.live === undefined));
    if (pending !== undefined && isNow) return { key: keyOf(manifest, 'now'), text: spec.string, holder: spec, home };
    const number = selectedVersion(selector, publication);
    const version = history.versions.find((one) => one.version === number);
    if (version === undefined) throw new PartialProblem(`PromptPartial ${home}/${name} has no such version`, true);
    const { string = '' } = readContent(version.content);
    return { key: keyOf(manifest, String(version.version)), text: string, holder: version, home };
  }

  #visible(namespace: string, name: string): PromptPartialObject | undefined {
    const own = this.#partials.get(namespace, name);
    if (own !== undefined) return own;
    const shared = this.#partials.get(this.#organisationNamespace, name);
    const isShared = shared?.sharedWith === '*' || shared?.sharedWith.includes(namespace) === true;
    return isShared ? shared : undefined;
  }
}

interface FoundPartial {
  readonly key: string;
  readonly text: string;
  /** What the text stands in; never changes. */
  readonly holder: object;
  /** Where partials of the text are looked for. */
  readonly home: string;
}

interface NamedProblem {
  readonly reference: string;
  readonly path: string;
  readonly problem: PartialProblem;
}

function verdictOf({ reference, path, problem }: NamedProblem): Verdict {
  return { reason: 'RefNotFound', message: `${path}: {{>${reference}}} ${problem.message}` };
}

function rank({ kind }: VersionedObject): number {
  return kind === 'PromptPartial' ? 0 : 1;
}

function keyOf({ namespace, name }: Manifest, version: string): string {
  return `${namespace}/${name}@${version}`;
}

function nameIn(key: string): string {
  return key.slice(key.indexOf('/') + 1).replace(/@now$/, '');
}

/** As those find it that name it. */
function ownKey({ manifest }: VersionedObject, { pending, history }: PromptState): string {
  return keyOf(manifest, pending === undefined ? String(history.edited?.version) : 'now');
}

function assertDepth(depth: number): number {
  if (depth <= MAX_PARTIAL_DEPTH) return depth;
  throw new PartialProblem(`leads more than ${MAX_PARTIAL_DEPTH} partials deep`, false);
}

/** Most texts are the same from one pass to the next. */
const named = new WeakMap<object, ReadonlyMap<string, string>>();

function partialsNamedBy(holder: object, text?: string): ReadonlyMap<string, string> {
  const known = named.get(holder);
  if (known !== undefined) return known;
  const found = partialsIn(text === undefined ? holder : { string: text });
  named.set(holder, found);
  return found;
}

function newState(object: VersionedObject, history: History): PromptState {
  const { edited } = history;
  const content = contentOf(object);
  const isPending = edited === undefined || edited.canonical !== content.canonical;
  return {
    history,
    ...publicationOf({
      publish: object.spec.publish,
      annotations: annotationsOf(object.manifest),
      versions: history.versions,
      edited: edited?.version,
      isCurrent: !isPending,
    }),
    pending: isPending ? content.text : undefined,
    unmarked: isPending ? undefined : unmarkedOf(object, edited),
    refused: undefined,
  };
}

function unmarkedOf(
  object: VersionedObject,
  { object: { manifest }, isPublished }: KnownVersion,
): UnmarkedVersion | undefined {
  const annotations = marksOf(object, isPublished);
  const present = annotationsOf(manifest);
  const isMarked = Object.entries(annotations).every(([name, value]) => (present[name] ?? '') === value);
  return isMarked ? undefined : { manifest, annotations };
}

const contents = new WeakMap<VersionedObject, { readonly text: string; readonly canonical: string }>();

function contentOf(object: VersionedObject): { readonly text: string; readonly canonical: string } {
  const known = contents.get(object);
  if (known !== undefined) return known;
  const text = contentText(object.spec);
  const content = { text, canonical: canonicalContent(text) };
  contents.set(object, content);
  return content;
}

/** The version that is to be made of what an edit says. */
export function lackingVersion(
  { kind, manifest, spec }: VersionedObject,
  { history, pending }: PromptState,
): GeneratedObject | undefined {
  if (pending === undefined) return undefined;
  const { namespace, name } = manifest;
  const version = history.highest + 1;
  const description = spec.version_description;
  return {
    kind: 'PromptVersion',
    namespace,
    name: versionName(kind, name, version),
    owner: identityOf(manifest),
    labels: { [VERSIONS_LABEL]: versionsOf(kind, name) },
    annotations: marksOf({ kind, manifest, spec } as VersionedObject, false),
    spec: {
      kind,
      prompt: name,
      version,
      content: pending,
      ...(description === undefined ? {} : { description }),
      created_by: 'manifest',
    },
  };
}
