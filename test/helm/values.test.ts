/** The values' schema, what is written by hand beside it, and what the chart says of itself. */
import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { chartValues } from '#crds/chart/values.ts';
import { type JsonSchema, jsonSchemaOf } from '#crds/generate/json-schema.ts';
import { MAX_SHARDS } from '#crds/snapshot/index-document.ts';
import { CHART, REPOSITORY } from './helm.ts';
import { CASES } from './matrix.ts';

const text = (path: string) => readFileSync(`${CHART}/${path}`, 'utf8');
const schema = jsonSchemaOf(chartValues);

/** Every field with its path and schema, lists' items included. */
function fields(node: JsonSchema, path = ''): [string, JsonSchema][] {
  const own = Object.entries(node.properties ?? {}).flatMap(([name, child]) => {
    const field = path === '' ? name : `${path}.${name}`;
    return [[field, child] as [string, JsonSchema], ...fields(child, field)];
  });
  return node.items === undefined ? own : [...own, ...fields(node.items, `${path}[]`)];
}

const FIELDS = fields(schema);
/** Not told of in values.yaml: read by nothing. */
const FOR_PARENTS = ['global', 'enabled'];

describe('values.yaml', () => {
  it('says the defaults of the schema, all of them', () => {
    expect(parse(text('values.yaml'))).toEqual(chartValues.parse({}));
  });

  it('keeps the order of the schema, so that one is found beside the other', () => {
    const order = Object.keys(schema.properties ?? {}).filter((name) => !FOR_PARENTS.includes(name));
    expect(Object.keys(parse(text('values.yaml')))).toEqual(order);
  });

  it('explains by comments what its names do not', () => {
    expect(text('values.yaml').match(/^\s*# /gm)?.length).toBeGreaterThan(50);
  });
});

describe('the schema of the values', () => {
  it('is the one that helm reads', () => {
    expect(JSON.parse(text('values.schema.json'))).toEqual(JSON.parse(JSON.stringify(schema)));
  });

  it('has fields to look at', () => expect(FIELDS.length).toBeGreaterThan(80));

  it.each(FIELDS.filter(([path]) => !path.includes('[]')))('%s is described', (_path, { description }) => {
    expect(description).toMatch(/^[A-Z"].*\.$/s);
  });

  it.each(FIELDS.filter(([, { type }]) => type === 'object'))('%s takes no unknown key, or any', (_path, node) => {
    const isMap = node.properties === undefined;
    expect(isMap ? typeof node.additionalProperties : node.additionalProperties).toBe(isMap ? 'object' : false);
  });

  it.each(FIELDS.filter(([, { type }]) => type === 'string'))('%s is no endless text', (_path, node) => {
    expect(node.maxLength ?? node.enum?.length).toBeGreaterThan(0);
  });

  it.each(FIELDS.filter(([, { type }]) => type === 'array'))('%s is no endless list', (_path, { maxItems }) => {
    expect(maxItems).toBeGreaterThan(0);
  });

  it.each(FIELDS.filter(([, { type }]) => type === 'integer'))('%s is bounded', (_path, node) => {
    expect(node.enum ?? [node.minimum, node.maximum]).not.toContain(undefined);
  });

  it('asks for no lookaround, which helm does not know', () => {
    expect(text('values.schema.json')).not.toMatch(/\(\?[=!<]/);
  });

  it.each(CASES)('takes the values of %s', (_title, { values = {} }) => {
    // A null takes the default away: helm leaves the value out before it asks the schema.
    const given = Object.fromEntries(Object.entries(values).filter(([, value]) => value !== null));
    expect(chartValues.safeParse(given)).toMatchObject({ success: true });
  });

  it.each([
    [1, true],
    [2, true],
    [3, false],
    [MAX_SHARDS, true],
    [2 * MAX_SHARDS, false],
  ])('%i shards: %s', (maxShards, isRight) => {
    expect(chartValues.safeParse({ snapshot: { maxShards } }).success).toBe(isRight);
  });
});

describe('Chart.yaml', () => {
  const chart = parse(text('Chart.yaml'));
  const { version } = JSON.parse(readFileSync(`${REPOSITORY}/package.json`, 'utf8'));

  it('has the version of the package, which is the tag of the image', () => {
    expect(chart).toMatchObject({ name: 'model-gateway', version, appVersion: version });
  });

  it('takes pre-releases of a cluster, as clouds call their versions', () => {
    expect(chart.kubeVersion).toMatch(/-0$/);
  });
});
