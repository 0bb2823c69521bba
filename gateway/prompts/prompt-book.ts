/** The prompts of a snapshot, by whatever they are called; each version is made ready when it is first asked for. */

import { parseReference, selectedVersion } from '#crds/prompts/reference.ts';
import type { PromptRecord, PromptVersionRecord, Snapshot } from '#crds/snapshot/contract.ts';
import { GatewayError } from '../errors.ts';
import { ReadyPrompt } from './ready-prompt.ts';
import { type FoundPartial, ReadyTemplates } from './ready-template.ts';

type Records = Pick<Snapshot, 'prompts' | 'prompt_versions' | 'settings'>;
/** Why a prompt was refused; undefined: it was not. */
type RefusalOf = (kind: string, namespace: string, name: string) => string | undefined;

interface Found {
  readonly record: PromptRecord;
  readonly version: PromptVersionRecord;
}

const MAX_SHOWN_CHARS = 320;

export class PromptBook {
  private readonly organisationNamespace: string;
  private readonly refusalOf: RefusalOf;
  /** By kind and `namespace/name`, or UID. */
  private readonly records = new Map<string, PromptRecord>();
  /** By kind, `namespace/name` and number. */
  private readonly versions = new Map<string, PromptVersionRecord>();
  private readonly ready = new Map<PromptVersionRecord, ReadyPrompt>();
  private readonly templates = new ReadyTemplates((reference, namespace) => this.partial(reference, namespace));

  constructor({ prompts, prompt_versions: versions, settings }: Records, refusalOf: RefusalOf) {
    this.organisationNamespace = settings.organisation_namespace;
    this.refusalOf = refusalOf;
    for (const record of prompts) {
      this.records.set(nameKey(record.kind, record.namespace, record.name), record);
      if (record.uid !== undefined) this.records.set(uidKey(record.kind, record.uid), record);
    }
    for (const version of versions)
      this.versions.set(versionKey(version.of, version.namespace, version.prompt, version.version), version);
  }

  /** `name`, `name@12`, `name@latest`, `name@label`, or the UID in place of the name. Throws `unknown_prompt`. */
  prompt(reference: string, namespace: string): ReadyPrompt {
    const found = this.find('Prompt', reference, namespace);
    if (found === undefined) throw this.unknown(reference, namespace);
    const known = this.ready.get(found.version);
    if (known !== undefined) return known;
    const ready = this.makeReady(found);
    this.ready.set(found.version, ready);
    return ready;
  }

  private makeReady({ record, version }: Found): ReadyPrompt {
    const { namespace, name, uid } = record;
    try {
      return new ReadyPrompt({ namespace, name, uid, version: version.version }, version.content, this.templates);
    } catch (error) {
      if (error instanceof GatewayError) throw error;
      const message = `The prompt "${name}", version ${version.version}, cannot be filled in: ${(error as Error).message}.`;
      throw new GatewayError('unknown_prompt', message, { param: 'prompt_id', cause: error });
    }
  }

  private partial(reference: string, namespace: string): FoundPartial {
    const found = this.find('PromptPartial', reference, namespace);
    if (found === undefined)
      throw new GatewayError('unknown_prompt', `The partial {{>${reference}}} that the prompt names is not there.`, {
        param: 'prompt_id',
      });
    const { version } = found;
    const { string: text = '' } = JSON.parse(version.content) as { readonly string?: string };
    return { key: `${version.namespace}/${version.name}`, text, namespace: version.namespace };
  }

  private find(kind: PromptRecord['kind'], reference: string, namespace: string): Found | undefined {
    const { name, selector } = parseReference(reference);
    const record = this.visible(kind, name, namespace);
    if (record === undefined) return undefined;
    const { live, latest, labels } = record;
    const number = selectedVersion(selector, { live, latest, labels });
    const version = this.versions.get(versionKey(kind, record.namespace, record.name, number));
    return version === undefined ? undefined : { record, version };
  }

  private visible(kind: PromptRecord['kind'], name: string, namespace: string): PromptRecord | undefined {
    const own = this.records.get(nameKey(kind, namespace, name));
    if (own !== undefined) return own;
    const other =
      this.records.get(nameKey(kind, this.organisationNamespace, name)) ?? this.records.get(uidKey(kind, name));
    if (other === undefined || other.namespace === namespace) return other;
    return isShared(other, namespace) ? other : undefined;
  }

  private unknown(reference: string, namespace: string): GatewayError {
    const { name } = parseReference(reference);
    const shown = reference.slice(0, MAX_SHOWN_CHARS);
    const refusal = this.refusalOf('Prompt', namespace, name);
    const why =
      refusal === undefined
        ? `There is no prompt "${shown}" in the workspace ${namespace}, nor one that is shared with it${this.hint(name, namespace)}.`
        : `The prompt "${shown}" was refused: ${refusal}`;
    return new GatewayError('unknown_prompt', why, { param: 'prompt_id' });
  }

  /** It exists, but not that version of it. */
  private hint(name: string, namespace: string): string {
    const record = this.visible('Prompt', name, namespace);
    if (record === undefined) return '';
    const published = record.live === undefined ? 'none is published' : `version ${record.live} is published`;
    return `: of "${record.name}" ${published}, the latest is ${record.latest}`;
  }
}

function isShared({ shared_with: sharedWith }: PromptRecord, namespace: string): boolean {
  return sharedWith === '*' || sharedWith.includes(namespace);
}

function nameKey(kind: string, namespace: string, name: string): string {
  return `${kind} ${namespace}/${name}`;
}

/** No name of a namespace is followed by a space. */
function uidKey(kind: string, uid: string): string {
  return `${kind} uid ${uid}`;
}

function versionKey(kind: string, namespace: string, name: string, version: number | undefined): string {
  return `${kind} ${namespace}/${name}@${version}`;
}
