import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { z } from '#crds/config/words.ts';
import { customResourceDefinition } from '#crds/generate/crd.ts';
import { errorsReference } from '#crds/generate/errors-reference.ts';
import { jsonSchemaOf } from '#crds/generate/json-schema.ts';
import { outputs, staleFiles, writeFiles } from '#crds/generate/outputs.ts';
import { pricesReference } from '#crds/generate/prices-reference.ts';
import { reference } from '#crds/generate/reference.ts';
import { NotStructural, structuralSchema } from '#crds/generate/structural.ts';
import { KINDS } from '#crds/kinds/kinds.ts';
import { CHECKS } from '#gateway/checks/checks.ts';
import { ERRORS } from '#gateway/errors.ts';
import { PROVIDERS } from '#gateway/providers/registry.ts';

type Node = Record<string, unknown>;
const FREE = 'x-kubernetes-preserve-unknown-fields';

const rows = Object.entries(ERRORS).map(([code, [status, type, fix]]) => ({ code, status, type, fix }));
const prices = [...PROVIDERS.values()].flatMap(({ name, models }) =>
  models === undefined ? [] : [{ name, ...models }],
);
const files = outputs(KINDS, rows, prices, CHECKS);

function isNode(value: unknown): value is Node {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** Every schema node of a CRD with its path; properties are descended into by name. */
function nodes(schema: Node, path: string): [string, Node][] {
  const below: [string, unknown][] = [
    ...Object.entries(isNode(schema.properties) ? schema.properties : {}).map(
      ([name, child]) => [`${path}.${name}`, child] as [string, unknown],
    ),
    [`${path}[]`, schema.items],
    [`${path}.*`, schema.additionalProperties],
  ];
  return [[path, schema], ...below.flatMap(([name, child]) => (isNode(child) ? nodes(child, name) : []))];
}

function at(schema: unknown, path: string): Node {
  const found = path
    .split('/')
    .reduce<unknown>((node, step) => (isNode(node) || Array.isArray(node) ? (node as Node)[step] : undefined), schema);
  expect(isNode(found), path).toBe(true);
  return found as Node;
}

/** As the API server reads it. */
function crdOf(plural: string): Node {
  return parse(files.get(`${plural}.yaml`) ?? '');
}

const schemaOf = (plural: string) => at(crdOf(plural), 'spec/versions/0/schema/openAPIV3Schema');

describe.each(KINDS)('CRD of $kind', ({ kind, plural, singular, shortName, celRules }) => {
  const all = nodes(schemaOf(plural), '');

  test('names, scope, version, status subresource', () => {
    const crd = crdOf(plural);
    expect(at(crd, 'metadata').name).toBe(`${plural}.modelgateway.dev`);
    expect(at(crd, 'spec/names')).toEqual({
      kind,
      listKind: `${kind}List`,
      plural,
      singular,
      shortNames: [shortName],
      categories: ['modelgateway'],
    });
    expect(at(crd, 'spec').scope).toBe('Namespaced');
    expect(at(crd, 'spec/versions/0')).toMatchObject({
      name: 'v1alpha1',
      served: true,
      storage: true,
      subresources: { status: {} },
    });
  });

  test('no keyword that a structural schema forbids', () => {
    const forbidden = [
      '$ref',
      '$schema',
      '$defs',
      'oneOf',
      'anyOf',
      'allOf',
      'not',
      'const',
      'exclusiveMinimum',
      'exclusiveMaximum',
      'propertyNames',
      'absent',
    ];
    for (const [path, node] of all) {
      for (const keyword of forbidden) expect(Object.hasOwn(node, keyword), `${path} ${keyword}`).toBe(false);
      expect(node.additionalProperties, path).not.toBe(false);
      expect(typeof node.type === 'string' || node[FREE] === true, path).toBe(true);
      expect(isNode(node.properties) && node.additionalProperties !== undefined, path).toBe(false);
    }
  });

  test('every string, list and map is bounded', () => {
    for (const [path, node] of all.filter(([name]) => name.startsWith('.spec') || name.startsWith('.status'))) {
      if (node.type === 'string' && node.enum === undefined && node.format === undefined)
        expect(node.maxLength, path).toBeTypeOf('number');
      if (node.type === 'array') expect(node.maxItems, path).toBeTypeOf('number');
      if (isNode(node.additionalProperties)) expect(node.maxProperties, path).toBeTypeOf('number');
    }
  });

  test('patterns are RE2: no lookaround, no backreference', () => {
    for (const [path, node] of all)
      if (typeof node.pattern === 'string') expect(node.pattern, path).not.toMatch(/\(\?[=!<]|\\\d/);
  });

  test('integers are integers', () => {
    for (const [path, node] of all) if (node.type === 'integer') expect(node.format, path).toBe('int64');
  });

  test('every field of the spec says what it means', () => {
    const fields = all.filter(([path]) => path.startsWith('.spec.') && /\.\w+$/.test(path));
    expect(fields.length).toBeGreaterThan(4);
    for (const [path, node] of fields) expect(node.description, path).toBeTypeOf('string');
  });

  test('conditions are declared as a list by type', () => {
    const conditions = at(schemaOf(plural), 'properties/status/properties/conditions');
    expect(conditions).toMatchObject({ 'x-kubernetes-list-type': 'map', 'x-kubernetes-list-map-keys': ['type'] });
    expect(at(conditions, 'items').required).toEqual(['type', 'status', 'lastTransitionTime', 'reason', 'message']);
  });

  test('columns end with the conditions and the age', () => {
    const columns = at(crdOf(plural), 'spec/versions/0').additionalPrinterColumns as Node[];
    const names = columns.filter(({ priority }) => priority === undefined).map(({ name }) => name);
    expect(names.slice(-4)).toEqual(['Accepted', 'Programmed', 'Ready', 'Age']);
  });

  test('rules stand in the CRD', () => {
    const spec = at(schemaOf(plural), 'properties/spec');
    const validations = (spec['x-kubernetes-validations'] ?? []) as Node[];
    expect(validations).toEqual(celRules.map(({ levels: _levels, ...validation }) => validation));
  });
});

describe('targets in the CRD', () => {
  const spec = at(schemaOf('gatewayconfigs'), 'properties/spec');
  const second = at(spec, 'properties/targets/items');
  const third = at(second, 'properties/targets/items');

  test('three levels are written out, what is deeper is kept', () => {
    for (const level of [spec, second, third]) expect(Object.keys(at(level, 'properties'))).toContain('retry');
    expect(at(third, 'properties/targets/items')).toEqual({ type: 'object', [FREE]: true });
    expect(at(third, 'properties/targets').maxItems).toBe(100);
  });

  test('dear rules stand at the root only', () => {
    const messages = (level: Node) => (level['x-kubernetes-validations'] as Node[]).map(({ message }) => message);
    expect(messages(spec)).toContain('must be the name of a target beside this strategy');
    expect(messages(second)).not.toContain('must be the name of a target beside this strategy');
    expect(messages(third)).toContain('needs strategy beside it, e.g. strategy: {mode: fallback}');
  });

  test('bounds of the seed', () => {
    expect(at(third, 'properties/retry/properties/attempts')).toMatchObject({
      type: 'integer',
      minimum: 0,
      maximum: 5,
    });
    expect(at(spec, 'properties/cache/properties/max_age')).toMatchObject({ minimum: 1, maximum: 7_776_000 });
    expect(at(spec, 'properties/cb_config')).toMatchObject({ required: ['failure_threshold', 'cooldown_interval'] });
    expect(at(spec, 'properties/strategy/properties/mode').enum).toEqual([
      'single',
      'loadbalance',
      'fallback',
      'conditional',
    ]);
    expect(at(spec, 'properties/override_params')).toMatchObject({ type: 'object', [FREE]: true });
    expect(at(spec, 'properties/input_guardrails/items')[FREE]).toBe(true);
  });

  test('rules name no field that CEL cannot see', () => {
    for (const { rule } of KINDS.flatMap(({ celRules }) => celRules)) expect(rule).not.toContain('guardrails');
  });
});

describe('structuralSchema', () => {
  const convert = (schema: z.ZodType) => structuralSchema(jsonSchemaOf(schema), { levels: 1, validations: () => [] });

  test.each<[string, z.ZodType, RegExp]>([
    ['a string without end', z.strictObject({ a: z.string() }), /^spec\.a needs maxLength/],
    ['a list without end', z.strictObject({ a: z.array(z.int()) }), /^spec\.a needs maxItems/],
    ['a map without end', z.strictObject({ a: z.record(z.string(), z.boolean()) }), /^spec\.a needs maxProperties/],
    ['a string in a list', z.strictObject({ a: z.array(z.string()).max(1) }), /^spec\.a\[\] needs maxLength/],
    [
      'lookahead',
      z.strictObject({
        a: z
          .string()
          .max(5)
          .regex(/^(?!x)/),
      }),
      /^spec\.a: the API server's RE2/,
    ],
    ['anything at all', z.strictObject({ a: z.unknown() }), /^spec\.a: no structural form/],
  ])('refuses %s', (_title, schema, message) => {
    expect(() => convert(schema)).toThrow(NotStructural);
    expect(() => convert(schema)).toThrow(message);
  });

  test('keeps what a CRD knows', () => {
    const schema = z.strictObject({
      count: z.int().min(1).max(9).default(3).describe('How many.'),
      labels: z.record(z.string(), z.string().max(5)).meta({ maxProperties: 4 }).optional(),
      at: z.iso.datetime({ offset: true }).max(64).optional(),
    });
    expect(convert(schema)).toEqual({
      type: 'object',
      properties: {
        count: { type: 'integer', format: 'int64', minimum: 1, maximum: 9, default: 3, description: 'How many.' },
        labels: { type: 'object', maxProperties: 4, additionalProperties: { type: 'string', maxLength: 5 } },
        at: { type: 'string', format: 'date-time', maxLength: 64 },
      },
    });
  });
});

describe('reference', () => {
  const text = reference(KINDS);

  test('every kind and every field of its spec has a row', () => {
    for (const kind of KINDS) {
      expect(text).toContain(`## ${kind.kind}\n`);
      for (const field of Object.keys(jsonSchemaOf(kind.specShape).properties ?? {}))
        expect(text).toContain(`| \`${field}\``);
    }
  });

  test.each([
    '| `retry.attempts` (required) | integer | 0 to 5 |  | Tries after the first. |',
    '| `cache.max_age` | integer | 1 to 7776000 | `604800` | Seconds for which an answer may be given again. |',
    '| `targets` | list of the same object | 1 to 100 items |',
    '| `strategy.stream_delivery` | `live`, `whole` |  | `"live"` |',
    '| `before_request_hooks[].checks[].parameters` (required) | object of any keys |',
    '| `input_guardrails` | list of string or object |',
    '| `defaults.allow_config_override` | boolean |  | `true` |',
    '| `variables` | object of objects | at most 256 keys |',
    '| `variables.*.required` | boolean |  | `false` |',
    '| `expires_at` | date-time |',
    '| `secret_mappings[].value_format` | `string`, `json` |  | `"string"` |',
  ])('%s', (row) => expect(text).toContain(row));

  test('every row has five cells', () => {
    for (const row of text.split('\n').filter((line) => line.startsWith('| '))) {
      expect(row.replaceAll('\\|', '').split('|'), row).toHaveLength(7);
    }
  });
});

test('errors.md has every code once, by status', () => {
  const text = errorsReference(rows);
  const found = [...text.matchAll(/^\| `(\w+)` \| (\d+) \|/gm)].map(([, code, status]) => [code, Number(status)]);
  expect(found.map(([code]) => code).sort()).toEqual(Object.keys(ERRORS).sort());
  expect(found.map(([, status]) => status)).toEqual(found.map(([, status]) => status).sort());
});

describe('prices.md', () => {
  const text = pricesReference(prices);

  test.each([
    '## openai',
    '2026-10-13, https://developers.openai.com/api/docs/pricing',
    '| gpt-4o | 2.5 | 1.25 |  | 10 |  |  | 128000 | 16384 |',
    '| ... above 272000 | 4 | 0.4 | 5 | 15 |  |  |  |  |',
    '`gpt-5.6` is `gpt-5.6-sol`.',
    '| claude-sonnet-4-6 | 3 | 0.3 | 3.75 | 6 | 15 | 1000000 | 128000 |',
    '| every name | 10 | 1 | 20 |  | 256 |',
  ])('says %s', (line) => expect(text.split('\n').some((each) => each.startsWith(line))).toBe(true));

  test('names every model once', () => {
    for (const { rows: models } of prices)
      for (const model of models.keys()) expect(text.split(`\n| ${model} |`), model).toHaveLength(2);
  });

  test('every row has as many cells as its table has titles', () => {
    for (const table of text.split('## ').slice(1)) {
      const lines = table.split('\n').filter((line) => line.startsWith('|'));
      expect(new Set(lines.map((line) => line.split('|').length)).size).toBe(1);
    }
  });
});

describe('generated files', () => {
  test('are current', () => {
    expect(staleFiles(fileURLToPath(new URL('../../crds/generated/', import.meta.url)), files)).toEqual([]);
  });

  test('what is missing, changed or left over is named', () => {
    const directory = mkdtempSync(join(tmpdir(), 'generated-'));
    try {
      expect(staleFiles(directory, files)).toEqual([...files.keys()].sort());
      writeFiles(directory, files);
      expect(staleFiles(directory, files)).toEqual([]);
      writeFileSync(join(directory, 'apikeys.yaml'), readFileSync(join(directory, 'apikeys.yaml'), 'utf8').trimEnd());
      writeFileSync(join(directory, 'oldkinds.yaml'), '');
      expect(staleFiles(directory, files)).toEqual(['apikeys.yaml', 'oldkinds.yaml']);
    } finally {
      rmSync(directory, { recursive: true });
    }
  });

  test('YAML says what the object says', () => {
    for (const kind of KINDS)
      expect(crdOf(kind.plural)).toEqual(JSON.parse(JSON.stringify(customResourceDefinition(kind))));
  });
});
