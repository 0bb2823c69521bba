/**
 * JSON Schema -> structural schema of apiextensions.k8s.io/v1: no references, no alternatives with types, closed by being
 * listed (unknown fields are pruned or refused by the API server), every string, list and map bounded.
 */
import { isFreeObject, type JsonSchema } from './json-schema.ts';

export type Structural = Readonly<Record<string, unknown>>;

export interface StructuralOptions {
  /** Field whose items have the shape of the whole again. */
  readonly recursiveField?: string | undefined;
  /** Levels written out, the root included; what lies deeper is kept unchecked. */
  readonly levels: number;
  /** `x-kubernetes-validations` for the object of a level; the root is 1. */
  readonly validations: (level: number) => readonly Structural[];
}

const FREE = 'x-kubernetes-preserve-unknown-fields';
const SCALARS = [
  'description',
  'default',
  'enum',
  'minimum',
  'maximum',
  'minLength',
  'maxLength',
  'pattern',
  'minItems',
  'maxItems',
  'maxProperties',
] as const;

/** A schema cannot be a CRD's: a defect of the language, found when generating. */
export class NotStructural extends Error {
  override readonly name = 'NotStructural';
}

type Convert = (schema: JsonSchema, path: string) => Structural;

function scalars(schema: JsonSchema): Structural {
  return Object.fromEntries(SCALARS.filter((key) => schema[key] !== undefined).map((key) => [key, schema[key]]));
}

function bounded(value: number | undefined, path: string, bound: string): void {
  if (value === undefined) throw new NotStructural(`${path} needs ${bound}`);
}

function stringSchema(schema: JsonSchema, path: string): Structural {
  const isDate = schema.format === 'date-time';
  if (schema.enum === undefined) bounded(schema.maxLength, path, 'maxLength');
  if (schema.pattern !== undefined && !isDate && /\(\?[=!<]/.test(schema.pattern)) {
    throw new NotStructural(`${path}: the API server's RE2 knows no lookaround`);
  }
  const { pattern, ...rest } = scalars(schema);
  if (isDate) return { type: 'string', format: 'date-time', ...rest };
  return { type: 'string', ...rest, ...(pattern === undefined ? {} : { pattern }) };
}

function integerSchema(schema: JsonSchema): Structural {
  return { type: 'integer', format: 'int64', ...scalars(schema) };
}

function objectSchema(schema: JsonSchema, path: string, convert: Convert): Structural {
  const common = { type: 'object', ...scalars(schema) };
  if (isFreeObject(schema)) return { ...common, [FREE]: true };
  if (schema.properties === undefined) {
    const values = schema.additionalProperties;
    bounded(schema.maxProperties, path, 'maxProperties');
    return { ...common, additionalProperties: typeof values === 'object' ? convert(values, `${path}.*`) : {} };
  }
  const properties = Object.entries(schema.properties).map(([name, child]) => [
    name,
    convert(child, `${path}.${name}`),
  ]);
  const required = schema.required?.length ? { required: schema.required } : {};
  return { ...common, ...required, properties: Object.fromEntries(properties) };
}

function arraySchema(schema: JsonSchema, path: string, convert: Convert): Structural {
  bounded(schema.maxItems, path, 'maxItems');
  return { type: 'array', ...scalars(schema), items: convert(schema.items ?? {}, `${path}[]`) };
}

const BY_TYPE: Readonly<Record<string, (schema: JsonSchema, path: string, convert: Convert) => Structural>> = {
  string: stringSchema,
  integer: integerSchema,
  number: (schema) => ({ type: 'number', ...scalars(schema) }),
  boolean: (schema) => ({ type: 'boolean', ...scalars(schema) }),
  object: objectSchema,
  array: arraySchema,
};

function convertPlain(schema: JsonSchema, path: string, convert: Convert): Structural {
  if (schema.anyOf !== undefined) return { ...scalars(schema), [FREE]: true };
  const rewrite = BY_TYPE[schema.type ?? ''];
  if (rewrite === undefined)
    throw new NotStructural(`${path}: no structural form for ${JSON.stringify(schema).slice(0, 200)}`);
  return rewrite(schema, path, convert);
}

/** Items of the recursive field below the last level that is written out. */
const UNCHECKED: Structural = { type: 'object', [FREE]: true };

/** Structural schema of a spec. Throws NotStructural, naming the field. */
export function structuralSchema(schema: JsonSchema, options: StructuralOptions): Structural {
  const atLevel = (node: JsonSchema, path: string, level: number): Structural => {
    const convert: Convert = (child, childPath) => {
      if (childPath !== `${path}.${options.recursiveField}`) return convertPlain(child, childPath, convert);
      const items = level < options.levels ? atLevel(child.items ?? {}, `${childPath}[]`, level + 1) : UNCHECKED;
      bounded(child.maxItems, childPath, 'maxItems');
      return { type: 'array', ...scalars(child), items };
    };
    const validations = options.validations(level);
    return {
      ...convertPlain(node, path, convert),
      ...(validations.length === 0 ? {} : { 'x-kubernetes-validations': validations }),
    };
  };
  return atLevel(schema, 'spec', 1);
}
