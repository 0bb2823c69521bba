/** Prompts and partials -> their records, and the versions that must be written first. */
import type { PublicationStatus } from '#crds/kinds/prompt-fields.ts';
import type { PromptRecord, PromptVersionRecord } from '#crds/snapshot/contract.ts';
import type { GeneratedObject } from '../source/source.ts';
import type { PromptVersionObject } from './check.ts';
import type { Lookup } from './lookup.ts';
import { lackingVersion, type PromptDesk, type PromptState, type UnmarkedVersion } from './prompt-desk.ts';
import type { VersionedObject } from './prompt-history.ts';
import type { Verdict } from './status.ts';

export interface CompiledPrompt {
  /** undefined: it has no version yet. */
  readonly record: PromptRecord | undefined;
  readonly versions: readonly PromptVersionRecord[];
  readonly refused: Verdict | undefined;
  readonly unresolved: readonly Verdict[];
  readonly warnings: readonly Verdict[];
  readonly fields: PublicationStatus;
  /** The version that is to be made. */
  readonly lacking: GeneratedObject | undefined;
  /** The version that is to say what an edit makes of it. */
  readonly unmarked: UnmarkedVersion | undefined;
}

export function compilePrompt(object: VersionedObject, desk: PromptDesk, lookup: Lookup): CompiledPrompt {
  const state = desk.of(object);
  const { history, refused } = state;
  const lacking = lackingVersion(object, state);
  const pending = lacking === undefined ? [] : [pendingVerdict(lacking)];
  return {
    record: history.versions.length === 0 ? undefined : recordOf(object, state),
    versions: history.versions.map((known) => versionRecord(known.object)),
    refused,
    unresolved: [...state.unresolved, ...missingIntegrations(object, lookup), ...pending],
    warnings: streamWarnings(object),
    fields: fieldsOf(object, state),
    lacking,
    unmarked: state.unmarked,
  };
}

function pendingVerdict({ name }: GeneratedObject): Verdict {
  return { reason: 'VersionPending', message: `spec: PromptVersion ${name} is yet to be written` };
}

function missingIntegrations({ kind, manifest, spec }: VersionedObject, lookup: Lookup): readonly Verdict[] {
  if (kind !== 'Prompt') return [];
  return (['provider', 'virtual_key'] as const).flatMap((field) => {
    const slug = spec[field]?.replace(/^@/, '');
    const missing = slug === undefined ? undefined : lookup.missing('Integration', manifest.namespace, slug);
    return missing === undefined ? [] : [{ reason: 'RefNotFound', message: `spec.${field}: ${missing}` }];
  });
}

function streamWarnings({ kind, spec }: VersionedObject): readonly Verdict[] {
  if (kind !== 'Prompt' || spec.parameters === undefined || !Object.hasOwn(spec.parameters, 'stream')) return [];
  const message = "spec.parameters.stream: has no effect; whether an answer is streamed is the caller's to say";
  return [{ reason: 'NoEffect', message }];
}

interface Told {
  readonly record: PromptRecord;
  readonly text: string;
}

/** The same record again where it says the same. */
const knownRecords = new WeakMap<VersionedObject, Told>();

function recordOf(object: VersionedObject, { publication }: PromptState): PromptRecord {
  const { live, latest, labels } = publication;
  const text = JSON.stringify(publication);
  const known = knownRecords.get(object);
  if (known?.text === text) return known.record;
  const { kind, manifest, sharedWith } = object;
  const { namespace, name, uid } = manifest;
  const record: PromptRecord = {
    kind,
    namespace,
    name,
    ...(uid === undefined ? {} : { uid }),
    shared_with: sharedWith,
    ...(live === undefined ? {} : { live }),
    latest,
    labels: { ...labels },
  };
  knownRecords.set(object, { record, text });
  return record;
}

const knownFields = new WeakMap<VersionedObject, PublicationStatus>();

function fieldsOf(object: VersionedObject, { publication }: PromptState): PublicationStatus {
  const fields = { live_version: publication.live, latest_version: publication.latest };
  const known = knownFields.get(object);
  const isSame = known?.live_version === fields.live_version && known?.latest_version === fields.latest_version;
  if (known !== undefined && isSame) return known;
  knownFields.set(object, fields);
  return fields;
}

const knownVersionRecords = new WeakMap<PromptVersionObject, PromptVersionRecord>();

function versionRecord(object: PromptVersionObject): PromptVersionRecord {
  const known = knownVersionRecords.get(object);
  if (known !== undefined) return known;
  const { namespace, name } = object.manifest;
  const { kind, prompt, version, content } = object.spec;
  const record = { namespace, name, of: kind, prompt, version, content };
  knownVersionRecords.set(object, record);
  return record;
}

/** Of a prompt that is gone there is nothing to serve; it may come back. */
export function orphanWarning({ manifest, spec }: PromptVersionObject): Verdict {
  const owner = `${spec.kind} ${manifest.namespace}/${spec.prompt}`;
  return { reason: 'NoEffect', message: `spec.prompt: there is no ${owner} that this is a version of` };
}
