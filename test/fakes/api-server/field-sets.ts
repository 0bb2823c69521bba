/**
 * Which fields there are: sets of paths, and the notation FieldsV1 of metadata.managedFields. A path's steps are `f:<name>`,
 * `k:<keys as JSON>` for an item of a list that is a map, and `v:<value as JSON>` for an item of a list that is a set.
 */
import { isDeepStrictEqual } from 'node:util';
import { type Fields, fieldsOf, isFields } from './fields.ts';
import { fieldSchema, propertiesOf, type Schema } from './schema.ts';

export type FieldSet = ReadonlySet<string>;

/** Of a field or an item. */
export interface Child {
  readonly step: string;
  readonly value: unknown;
  readonly schema: Schema;
  /** A field that the schema names; not a key of a map, not an item. */
  readonly isNamed: boolean;
}

const FREE: Schema = { 'x-kubernetes-preserve-unknown-fields': true };
const SEPARATOR = '\u0001';

export function pathOf(parent: string, step: string): string {
  return parent === '' ? step : `${parent}${SEPARATOR}${step}`;
}

function stepsOf(path: string): string[] {
  return path.split(SEPARATOR);
}

/** What a value is made of, part by part; undefined: it is one whole. */
export function childrenOf(value: unknown, schema: Schema): readonly Child[] | undefined {
  if (isFields(value)) return schema['x-kubernetes-map-type'] === 'atomic' ? undefined : fieldChildren(value, schema);
  if (!Array.isArray(value)) return undefined;
  const kind = schema['x-kubernetes-list-type'];
  if (kind !== 'map' && kind !== 'set') return undefined;
  const items = fieldsOf(schema['items']);
  return value.map((item) => ({ step: itemStep(item, schema), value: item, schema: items, isNamed: false }));
}

function fieldChildren(value: Fields, schema: Schema): Child[] {
  return Object.entries(value).map(([name, child]) => ({
    step: `f:${name}`,
    value: child,
    schema: fieldSchema(schema, name) ?? FREE,
    isNamed: Object.hasOwn(propertiesOf(schema), name),
  }));
}

function itemStep(item: unknown, schema: Schema): string {
  const keys = schema['x-kubernetes-list-map-keys'];
  if (!Array.isArray(keys)) return `v:${JSON.stringify(item)}`;
  return `k:${JSON.stringify(Object.fromEntries(keys.map((key) => [key, fieldsOf(item)[key]])))}`;
}

/** Every field that somebody who applies `value` owns. */
export function fieldSetOf(value: unknown, schema: Schema): FieldSet {
  const found = new Set<string>();
  collect(value, schema, '', found);
  return found;
}

function collect(value: unknown, schema: Schema, path: string, found: Set<string>): void {
  const children = childrenOf(value, schema);
  if (children === undefined || (children.length === 0 && !Array.isArray(value))) {
    if (path !== '') found.add(path);
    return;
  }
  for (const child of children) {
    const childPath = pathOf(path, child.step);
    collect(child.value, child.schema, childPath, found);
    if (!child.isNamed) found.add(childPath);
  }
}

/** With the named fields that hold what is in the set. */
export function withNamedParents(set: FieldSet, schema: Schema): FieldSet {
  const all = new Set(set);
  for (const path of set) {
    let [at, parent]: [Schema, string] = [schema, ''];
    for (const step of stepsOf(path)) {
      parent = pathOf(parent, step);
      const name = step.slice(2);
      if (step.startsWith('f:') && Object.hasOwn(propertiesOf(at), name)) all.add(parent);
      at = step.startsWith('f:') ? (fieldSchema(at, name) ?? FREE) : fieldsOf(at['items']);
    }
  }
  return all;
}

export interface Comparison {
  readonly added: Set<string>;
  readonly modified: Set<string>;
  readonly removed: Set<string>;
}

/** What became of the fields. */
export function compared(before: unknown, after: unknown, schema: Schema): Comparison {
  const comparison = { added: new Set<string>(), modified: new Set<string>(), removed: new Set<string>() };
  compare(before, after, schema, '', comparison);
  return comparison;
}

function compare(before: unknown, after: unknown, schema: Schema, path: string, found: Comparison): void {
  const [old, young] = [childrenOf(before, schema), childrenOf(after, schema)];
  const isBranch = (old ?? young ?? []).length + (young ?? []).length > 0;
  const isSplit = (before === undefined || old !== undefined) && (after === undefined || young !== undefined);
  if (isBranch && isSplit) compareChildren(old ?? [], young ?? [], path, found);
  else if (before !== undefined && after !== undefined && !isDeepStrictEqual(before, after)) found.modified.add(path);
  if (path === '') return;
  if (before === undefined) found.added.add(path);
  if (after === undefined) found.removed.add(path);
}

function compareChildren(old: readonly Child[], young: readonly Child[], path: string, found: Comparison): void {
  const before = new Map(old.map((child) => [child.step, child]));
  const after = new Map(young.map((child) => [child.step, child]));
  for (const [step, child] of new Map([...before, ...after])) {
    compare(before.get(step)?.value, after.get(step)?.value, child.schema, pathOf(path, step), found);
  }
}

/** Without the fields in the set, and all that is in them. */
export function removed(value: unknown, schema: Schema, set: FieldSet, path = ''): unknown {
  const children = childrenOf(value, schema);
  if (children === undefined) return value;
  const kept = children
    .filter(({ step }) => !set.has(pathOf(path, step)))
    .map((child) => ({ ...child, value: removed(child.value, child.schema, set, pathOf(path, child.step)) }));
  if (Array.isArray(value)) return kept.map((child) => child.value);
  return Object.fromEntries(kept.map(({ step, value: field }) => [step.slice(2), field]));
}

/** As managedFields has it. */
export function fieldsV1Of(set: FieldSet): Fields {
  const root: Record<string, unknown> = {};
  for (const path of [...set].sort()) {
    let at = root;
    for (const step of stepsOf(path)) {
      at[step] ??= {};
      at = at[step] as Record<string, unknown>;
    }
    at['.'] = {};
  }
  return withoutLoneDots(root);
}

/** `{".": {}}` says no more than `{}`. */
function withoutLoneDots(node: Fields): Fields {
  const steps = Object.keys(node);
  if (steps.length === 1 && steps[0] === '.') return {};
  return Object.fromEntries(
    Object.entries(node).map(([step, child]) => [step, step === '.' ? {} : withoutLoneDots(fieldsOf(child))]),
  );
}

export function fieldSetFromV1(fieldsV1: unknown): FieldSet {
  const found = new Set<string>();
  read(fieldsOf(fieldsV1), '', found);
  return found;
}

function read(node: Fields, path: string, found: Set<string>): void {
  for (const [step, child] of Object.entries(node)) {
    if (step === '.') continue;
    const inner = fieldsOf(child);
    const childPath = pathOf(path, step);
    if (Object.keys(inner).length === 0 || Object.hasOwn(inner, '.')) found.add(childPath);
    read(inner, childPath, found);
  }
}

/** As a conflict names it: `.status.conditions[type="Ready"].reason`. */
export function shownPath(path: string): string {
  return stepsOf(path).map(shownStep).join('');
}

function shownStep(step: string): string {
  const text = step.slice(2);
  if (step.startsWith('f:')) return `.${text}`;
  if (step.startsWith('v:')) return `[=${text}]`;
  const keys = Object.entries(fieldsOf(JSON.parse(text))).map(([key, value]) => `${key}=${JSON.stringify(value)}`);
  return `[${keys.join(',')}]`;
}
