/** What limits look at. Words of one thing are all the names that it goes by: a condition holds for any of them. */
import type { Caller } from '../exchange.ts';
import type { PromptUse } from '../prompts/ready-prompt.ts';

/** What is known of a request before its body is read. */
export interface Asker {
  readonly caller: Caller;
  /** The word of the endpoint, e.g. `chatComplete`. */
  readonly endpointType: string;
  readonly config: string | undefined;
  readonly prompt?: PromptUse | undefined;
}

/** Where a request may go. */
export interface Place {
  /** Name of the provider. */
  readonly provider: string;
  /** Integration in use, by `namespace/name`. */
  readonly integration: string | undefined;
}

type WordsOf<T> = (of: T) => readonly string[];

const NOTHING: readonly string[] = [];

function one(word: string | undefined): readonly string[] {
  return word === undefined || word === '' ? NOTHING : [word];
}

/** By key of a condition. */
export const ASKER_WORDS: ReadonlyMap<string, WordsOf<Asker>> = new Map<string, WordsOf<Asker>>([
  ['api_key', ({ caller }) => (caller.key === undefined ? NOTHING : [caller.name, fullName(caller)])],
  ['config', ({ config }) => one(config)],
  ['prompt', ({ prompt }) => (prompt === undefined ? NOTHING : promptWords(prompt))],
  ['endpoint_type', ({ endpointType }) => one(endpointType)],
  ['workspace_id', ({ caller }) => one(caller.namespace)],
]);

export const PLACE_WORDS: ReadonlyMap<string, WordsOf<Place>> = new Map<string, WordsOf<Place>>([
  ['virtual_key', ({ integration }) => (integration === undefined ? NOTHING : [nameOf(integration), integration])],
  ['provider', ({ provider }) => one(provider)],
]);

export const MODEL = 'model';

/** `model`, and `@<integration>/<model>`. */
export function modelWords({ integration }: Place, model: string | undefined): readonly string[] {
  if (model === undefined) return NOTHING;
  return integration === undefined ? [model] : [model, `@${nameOf(integration)}/${model}`];
}

/** An own value that is a text: what a request calls its metadata must not lead to what every object has. */
export function metadataValue(metadata: Readonly<Record<string, string>>, key: string): string | undefined {
  const value = Object.hasOwn(metadata, key) ? metadata[key] : undefined;
  return typeof value === 'string' ? value : undefined;
}

function promptWords({ namespace, name, uid }: PromptUse): readonly string[] {
  return [name, ...one(uid), `${namespace}/${name}`];
}

function fullName({ namespace, name }: Caller): string {
  return `${namespace}/${name}`;
}

function nameOf(integration: string): string {
  return integration.slice(integration.indexOf('/') + 1);
}
