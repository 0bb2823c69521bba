/** One version of a prompt, ready to be filled in. */
import { CONTENT_FIELDS, type PromptContent, type PromptVariable, readContent } from '#crds/prompts/content.ts';
import { GatewayError } from '../errors.ts';
import type { Json } from '../providers/provider.ts';
import { Filling } from './filling.ts';
import { filled, type ReadyContent, readyContent } from './ready-content.ts';
import type { ReadyTemplates } from './ready-template.ts';

/** Which prompt a request is made of: for logs, spans, metadata and limits. Shared by all requests of a snapshot. */
export interface PromptUse {
  readonly namespace: string;
  readonly name: string;
  /** undefined: it has none, in a directory of manifests. */
  readonly uid: string | undefined;
  readonly version: number;
}

/** Of the prompt of a text completion. */
const TEXT_FIELD = 'prompt';
/** Their strings stay text whatever the variables are. */
const TEXTS: ReadonlySet<string> = new Set(['messages', 'string']);
/** Not of the request that is made of it. */
const ASIDE: ReadonlySet<string> = new Set(['variables', 'virtual_key', 'provider', 'parameters']);

export class ReadyPrompt {
  readonly use: PromptUse;
  /** Integration that it goes to where no config says otherwise, by its name. */
  readonly slug: string | undefined;
  /** false: a text completion. */
  readonly isChat: boolean;
  private readonly fields: readonly (readonly [string, ReadyContent])[];
  private readonly variables: readonly (readonly [string, PromptVariable])[];
  private readonly defaults: Json;

  /** Throws as `ReadyTemplates.ready`. `text`: what a version keeps. */
  constructor(use: PromptUse, text: string, templates: ReadyTemplates) {
    const content = readContent(text);
    const ready = (template: string) => templates.ready(template, use.namespace);
    this.use = use;
    this.slug = content.virtual_key ?? content.provider?.replace(/^@/, '');
    this.isChat = content.messages !== undefined;
    this.fields = fieldsOf(content).map(([field, value, keepsTypes]) => [
      field,
      readyContent(value, ready, keepsTypes),
    ]);
    this.variables = Object.entries(content.variables ?? {});
    const defaults = this.variables.filter(([, variable]) => variable.default !== undefined);
    this.defaults = Object.fromEntries(defaults.map(([name, variable]) => [name, variable.default]));
  }

  /** Body of the request; what `root` says wins. Throws `missing_variable` and `prompt_too_large`. */
  fill(variables: Json, root: Json): Json {
    const missing = this.variables.find(
      ([name, variable]) => variable.required === true && variable.default === undefined && !isGiven(variables, name),
    );
    if (missing !== undefined) throw missingVariable(this.use, missing[0]);
    const filling = new Filling(this.withDefaults(variables));
    const body: Record<string, unknown> = {};
    for (const [field, content] of this.fields) {
      if (Object.hasOwn(root, field)) continue;
      const value = filled(content, filling);
      if (value !== undefined) body[field] = value;
    }
    return Object.assign(body, root);
  }

  private withDefaults(variables: Json): Json {
    const given = Object.entries(variables).filter(([, value]) => value !== null);
    return { ...this.defaults, ...Object.fromEntries(given) };
  }
}

function isGiven(variables: Json, name: string): boolean {
  return Object.hasOwn(variables, name) && variables[name] !== null;
}

type Field = readonly [field: string, value: unknown, keepsTypes: boolean];

/** Whether an answer is streamed is the caller's to say. */
function fieldsOf(content: PromptContent): readonly Field[] {
  const { stream: _, ...parameters } = content.parameters ?? {};
  const own = CONTENT_FIELDS.filter((field) => !ASIDE.has(field) && content[field] !== undefined);
  return [
    ...Object.entries(parameters).map(([field, value]): Field => [field, value, true]),
    ...own.map((field): Field => [field === 'string' ? TEXT_FIELD : field, content[field], !TEXTS.has(field)]),
  ];
}

function missingVariable({ name }: PromptUse, variable: string): GatewayError {
  return new GatewayError('missing_variable', `variables.${variable} is required by the prompt "${name}".`, {
    param: `variables.${variable}`,
  });
}
