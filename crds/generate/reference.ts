/** The reference of all kinds, in Markdown: every field with its type, bounds, default and meaning. */
import type { Kind } from '../kinds/kind.ts';
import { isFreeObject, type JsonSchema, jsonSchemaOf } from './json-schema.ts';

interface Row {
  readonly field: string;
  readonly schema: JsonSchema;
  readonly required: boolean;
  readonly recursive: boolean;
}

function typeOf(schema: JsonSchema): string {
  if (schema.anyOf !== undefined) return schema.anyOf.map(typeOf).join(' or ');
  if (schema.type === 'array') return `list of ${typeOf(schema.items ?? {})}`;
  if (schema.enum !== undefined) return schema.enum.map((value) => `\`${value}\``).join(', ');
  if (schema.format === 'date-time') return 'date-time';
  if (schema.type === 'object' && schema.properties === undefined) {
    return isFreeObject(schema) ? 'object of any keys' : `object of ${valuesOf(schema)}`;
  }
  return schema.type ?? 'any';
}

function valuesOf({ additionalProperties: values }: JsonSchema): string {
  if (typeof values !== 'object' || values.type === 'string') return 'strings';
  return values.properties === undefined ? `(${typeOf(values)})` : 'objects';
}

function range(low: number | undefined, high: number | undefined, unit: string): string[] {
  if (low !== undefined && high !== undefined) return [`${low} to ${high}${unit}`];
  if (high !== undefined) return [`at most ${high}${unit}`];
  return low === undefined ? [] : [`at least ${low}${unit}`];
}

function boundsOf(schema: JsonSchema): string {
  const isDate = schema.format === 'date-time';
  const bounds = [
    ...range(schema.minimum, schema.maximum, ''),
    ...range(schema.minItems, schema.maxItems, ' items'),
    ...range(undefined, schema.maxProperties, ' keys'),
    ...(isDate ? [] : range(schema.minLength, schema.maxLength, ' characters')),
    ...(schema.pattern === undefined || isDate ? [] : [`\`${schema.pattern}\``]),
  ];
  const items = schema.items === undefined || schema.items.properties !== undefined ? '' : boundsOf(schema.items);
  return [...bounds, ...(items === '' ? [] : [`each ${items}`])].join('; ');
}

function childrenOf(schema: JsonSchema): readonly [prefix: string, child: JsonSchema][] {
  if (schema.anyOf !== undefined) return schema.anyOf.flatMap((option) => childrenOf(option));
  if (schema.type === 'array') return childrenOf(schema.items ?? {}).map(([prefix, child]) => [`[]${prefix}`, child]);
  if (schema.properties !== undefined) return [['', schema]];
  const values = schema.additionalProperties;
  return typeof values === 'object' ? childrenOf(values).map(([prefix, child]) => [`.*${prefix}`, child]) : [];
}

function rowsOf(schema: JsonSchema, path: string, recursiveField: string | undefined): Row[] {
  return Object.entries(schema.properties ?? {}).flatMap(([name, child]) => {
    const field = path === '' ? name : `${path}.${name}`;
    const recursive = field === recursiveField;
    const own = { field, schema: child, required: schema.required?.includes(name) ?? false, recursive };
    if (recursive) return [own];
    return [own, ...childrenOf(child).flatMap(([prefix, inner]) => rowsOf(inner, field + prefix, undefined))];
  });
}

function cell(value: string): string {
  return value.replaceAll('|', '\\|').replaceAll('\n', ' ');
}

function code(value: unknown): string {
  return value === undefined ? '' : `\`${JSON.stringify(value)}\``;
}

function line({ field, schema, required, recursive }: Row): string {
  const type = recursive ? 'list of the same object' : typeOf(schema);
  const fallback = schema.default ?? schema.absent;
  const name = `\`${field}\`${required ? ' (required)' : ''}`;
  return `| ${[name, type, boundsOf(schema), code(fallback), schema.description ?? ''].map(cell).join(' | ')} |`;
}

const TABLE_HEAD = ['| field | type | bounds | default | meaning |', '|---|---|---|---|---|'];

/** Lines of a table with a row for each field, nested ones too. */
export function fieldTable(shape: Kind['specShape'], recursiveField?: string): readonly string[] {
  return [...TABLE_HEAD, ...rowsOf(jsonSchemaOf(shape), '', recursiveField).map(line)];
}

function statusSection({ statusShape }: Kind): readonly string[] {
  if (statusShape === undefined) return [];
  return ['', 'Fields of `status`:', '', ...fieldTable(statusShape)];
}

function section(kind: Kind): string {
  const rules = kind.celRules.map(
    ({ message, fieldPath }) => `- ${fieldPath ? `\`${fieldPath.slice(1)}\` ` : ''}${message}`,
  );
  return [
    `## ${kind.kind}`,
    '',
    kind.description,
    '',
    `\`apiVersion: ${kind.group}/${kind.version}\`, \`kind: ${kind.kind}\`, namespaced, \`kubectl get ${kind.shortName}\`. Fields of \`spec\`:`,
    '',
    ...fieldTable(kind.specShape, kind.recursiveField),
    ...statusSection(kind),
    ...(rules.length === 0 ? [] : ['', 'What must hold besides:', '', ...rules]),
    '',
  ].join('\n');
}

/** Markdown of all kinds, in the order of the table. */
export function reference(kinds: readonly Kind[]): string {
  const introduction = [
    '# Reference of the custom resources',
    '',
    'Written by `npm run generate` from the schemas; do not edit. Unknown fields are refused everywhere.',
    'Every kind has `status.observedGeneration` and `status.conditions` (`Accepted`, `ResolvedRefs`, `Programmed`, `Ready`).',
    '',
  ].join('\n');
  return [introduction, ...kinds.map(section)].join('\n');
}
