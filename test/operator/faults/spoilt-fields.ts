/** A right spec -> the same with one field wrong, once for each field that the schema of its kind has. */
import { customResourceDefinition } from '#crds/generate/crd.ts';
import { KINDS } from '#crds/kinds/kinds.ts';

export interface SpoiltField {
  /** E.g. `strategy.sticky.ttl`, `targets[0].weight`. */
  readonly path: string;
  readonly spec: object;
}

interface Schema {
  readonly type?: string;
  readonly enum?: readonly unknown[];
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly items?: Schema;
}

type Path = readonly (string | number)[];

const WRONG: Readonly<Record<string, unknown>> = {
  string: 7,
  integer: 'seven',
  number: 'seven',
  boolean: 'maybe',
  array: {},
  object: [7],
};
/** The spec's own recursion is followed no further than its first level. */
const RECURSIVE = 'targets';

/** Top-level fields of the config object. */
export function configKeys(): readonly string[] {
  return Object.keys(specSchemaOf('GatewayConfig').properties ?? {});
}

export function spoiltFields(kind: string, right: object): readonly SpoiltField[] {
  return [...pathsOf(specSchemaOf(kind), [])].map(({ path, schema }) => ({
    path: textOf(path),
    spec: withValue(right, path, wrongFor(schema)) as object,
  }));
}

function specSchemaOf(kind: string): Schema {
  const found = KINDS.find((one) => one.kind === kind);
  if (found === undefined) throw new Error(`there is no kind ${kind}`);
  const { versions } = customResourceDefinition(found)['spec'] as {
    versions: readonly { schema: { openAPIV3Schema: { properties: { spec: Schema } } } }[];
  };
  const [version] = versions;
  if (version === undefined) throw new Error(`${kind} has no version`);
  return version.schema.openAPIV3Schema.properties.spec;
}

function* pathsOf(schema: Schema, path: Path): Generator<{ readonly path: Path; readonly schema: Schema }> {
  if (path.length > 0) yield { path, schema };
  for (const [name, property] of Object.entries(schema.properties ?? {})) {
    const isDeeper = name === RECURSIVE && path.includes(RECURSIVE);
    if (!isDeeper) yield* pathsOf(property, [...path, name]);
  }
  if (schema.items !== undefined) yield* pathsOf(schema.items, [...path, 0]);
}

function wrongFor({ type = '', enum: values }: Schema): unknown {
  return values === undefined ? (WRONG[type] ?? true) : 'nonsense';
}

/** What lies between is made where it is missing. */
function withValue(into: unknown, [step, ...rest]: Path, value: unknown): unknown {
  if (step === undefined) return value;
  if (typeof step === 'number') {
    const list = Array.isArray(into) ? into : [];
    return [...list.slice(0, step), withValue(list[step], rest, value), ...list.slice(step + 1)];
  }
  const object = typeof into === 'object' && into !== null ? into : {};
  return { ...object, [step]: withValue((object as Record<string, unknown>)[step], rest, value) };
}

function textOf(path: Path): string {
  return path.map((step, index) => (typeof step === 'number' ? `[${step}]` : index === 0 ? step : `.${step}`)).join('');
}
