/** What a version of a prompt holds: everything that a rendered request is made of, and nothing else. */
import { formatPath } from '../problems.ts';
import { canonicalJson } from '../snapshot/records.ts';
import { parseTemplate, partialsOf, TemplateProblem } from './template.ts';

export interface PromptVariable {
  readonly required?: boolean;
  readonly default?: unknown;
}

export interface PromptContent {
  readonly model?: string | undefined;
  /** Name of an Integration; wins over `provider`. */
  readonly virtual_key?: string | undefined;
  /** The same, perhaps with an `@` before it. */
  readonly provider?: string | undefined;
  /** Of a chat; else `string`. */
  readonly messages?: readonly Readonly<Record<string, unknown>>[] | undefined;
  readonly string?: string | undefined;
  readonly parameters?: Readonly<Record<string, unknown>> | undefined;
  readonly functions?: readonly Readonly<Record<string, unknown>>[] | undefined;
  readonly tools?: readonly Readonly<Record<string, unknown>>[] | undefined;
  readonly tool_choice?: unknown;
  readonly variables?: Readonly<Record<string, PromptVariable>> | undefined;
}

export const CONTENT_FIELDS = [
  'model',
  'virtual_key',
  'provider',
  'messages',
  'string',
  'parameters',
  'functions',
  'tools',
  'tool_choice',
  'variables',
] as const satisfies readonly (keyof PromptContent)[];

/** Whose strings are templates. */
export const TEMPLATE_FIELDS = ['messages', 'string', 'parameters', 'functions', 'tools', 'tool_choice'] as const;

/** What a version keeps of a spec: its keys stay in the order that they came in, which models can tell. */
export function contentText(spec: Readonly<Record<string, unknown>>): string {
  const given = CONTENT_FIELDS.flatMap((field) => (spec[field] === undefined ? [] : [[field, spec[field]]]));
  return JSON.stringify(Object.fromEntries(given));
}

/** Equal for contents that differ in the order of keys alone. */
export function canonicalContent(text: string): string {
  return canonicalJson(JSON.parse(text));
}

/** Of a text that `contentText` wrote. */
export function readContent(text: string): PromptContent {
  return JSON.parse(text) as PromptContent;
}

interface Placed {
  readonly path: readonly PropertyKey[];
  readonly text: string;
}

/** Every string that is a template, and where it is. */
function* stringsOf(value: unknown, path: readonly PropertyKey[]): Generator<Placed> {
  if (typeof value === 'string') yield { path, text: value };
  else if (Array.isArray(value)) for (const [at, item] of value.entries()) yield* stringsOf(item, [...path, at]);
  else if (typeof value === 'object' && value !== null)
    for (const [key, child] of Object.entries(value)) yield* stringsOf(child, [...path, key]);
}

/** Mistakes of templates, each with the path of its string. */
export function templateProblems(content: PromptContent): readonly { path: readonly PropertyKey[]; message: string }[] {
  return templatesIn(content).flatMap(({ path, text }) => {
    try {
      parseTemplate(text);
      return [];
    } catch (error) {
      if (error instanceof TemplateProblem) return [{ path, message: error.message }];
      throw error;
    }
  });
}

/** Partials that a content names, each with the first place where it does. */
export function partialsIn(content: PromptContent): ReadonlyMap<string, string> {
  const named = new Map<string, string>();
  for (const { path, text } of templatesIn(content)) {
    if (!text.includes('{{')) continue;
    for (const reference of partialsOf(parseTemplate(text)))
      if (!named.has(reference)) named.set(reference, formatPath('spec', path));
  }
  return named;
}

function templatesIn(content: PromptContent): readonly Placed[] {
  return TEMPLATE_FIELDS.flatMap((field) => [...stringsOf(content[field], [field])]);
}
