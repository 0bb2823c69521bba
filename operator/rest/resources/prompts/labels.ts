/** `/labels`: the words that versions of prompts are called by. Three of them there are everywhere. */
import { labelProblem, UNIVERSAL_LABELS } from '#crds/prompts/reference.ts';
import { assertScope } from '../../authorize.ts';
import { changedSpec } from '../../body.ts';
import { ControlError } from '../../control-error.ts';
import type { ControlWorld } from '../../control-world.ts';
import { workspaceAsked } from '../../find-object.ts';
import { idOf, isUuid } from '../../object-id.ts';
import { createObject, readObject, removeObject, replaceObject } from '../../operations.ts';
import { pageOf, parameter } from '../../query.ts';
import type { Call, Operation, ResourceRow } from '../../resource-row.ts';
import type { StoredObject } from '../../stored-object.ts';
import { PLACE, placeFields } from '../wire.ts';
import { OF_PROMPTS, withoutAnswer } from './of-prompts.ts';
import type { PromptVersions, StoredVersion } from './prompt-versions.ts';

const FIELDS = ['name', 'description', 'color_code'];
const NEVER = new Date(0).toISOString();

async function storedLabels(
  namespace: string | undefined,
  { objects }: ControlWorld,
): Promise<readonly StoredObject[]> {
  const groups = await objects.list('PromptGroup', namespace);
  return groups.filter(({ spec }) => spec['type'] === 'label');
}

/** Its word. Throws `unknown_object` or `invalid_value`. */
export async function labelOf(id: unknown, namespace: string, world: ControlWorld): Promise<string> {
  if (typeof id !== 'string')
    throw new ControlError('invalid_value', 'label_id must be the id of a label.', { param: 'label_id' });
  const universal = UNIVERSAL_LABELS.find((name) => universalId(name) === id.toLowerCase() || name === id);
  if (universal !== undefined) return universal;
  const stored = await storedLabels(namespace, world);
  const found = stored.find((one) => one.id === id.toLowerCase() || one.spec['name'] === id);
  if (found !== undefined) return String(found.spec['name']);
  if (!isUuid(id) && labelProblem(id) === undefined) return id;
  throw new ControlError('unknown_object', `There is no label "${id.slice(0, 64)}" in your workspace.`, {
    param: 'label_id',
  });
}

/** Id of a label of each version; one that was never made has an id, too. */
export async function labelIdIn(
  namespace: string,
  { publication: { labels } }: PromptVersions,
  world: ControlWorld,
): Promise<(version: StoredVersion) => string | null> {
  const ids = new Map((await storedLabels(namespace, world)).map(({ id, spec }) => [String(spec['name']), id]));
  for (const name of UNIVERSAL_LABELS) ids.set(name, universalId(name));
  const names = Object.keys(labels).sort();
  return ({ version }) => {
    const label = names.find((name) => labels[name] === version);
    return label === undefined ? null : (ids.get(label) ?? idOf(`Label ${namespace}/${label}`));
  };
}

function universalId(name: string): string {
  return idOf(`Label ${name}`);
}

function universal({ organisationId }: ControlWorld): readonly object[] {
  return UNIVERSAL_LABELS.map((name) => ({
    ...{ id: universalId(name), name, description: null, color_code: null },
    ...{ organisation_id: organisationId, workspace_id: null, is_universal: true, status: 'active' },
    ...{ created_at: NEVER, last_updated_at: NEVER },
  }));
}

const list: Operation = async (row, call) => {
  const { world, caller, query } = call;
  assertScope(caller, row.scopes('list'));
  const stored = await storedLabels(workspaceAsked(call), world);
  const search = parameter(query, 'search')?.toLowerCase() ?? '';
  const all = [...universal(world), ...stored.map((object) => wire(object, call))].filter((label) =>
    String((label as { name: string }).name)
      .toLowerCase()
      .includes(search),
  );
  const { items, total } = pageOf(query, all);
  return { total, data: items };
};

const read: Operation = async (row, call) => {
  const { caller, params, world } = call;
  const id = params['id']?.toLowerCase();
  const found = universal(world).find((label) => (label as { id: string }).id === id);
  if (found === undefined) return readObject(row, call);
  assertScope(caller, row.scopes('read'));
  return found;
};

/** One word, one label. */
const create: Operation = async (row, call) => {
  const name = call.body?.['name'];
  const taken = [
    ...UNIVERSAL_LABELS,
    ...(await storedLabels(workspaceAsked(call), call.world)).map(({ spec }) => spec['name']),
  ];
  if (taken.includes(name))
    throw new ControlError('invalid_value', `name: there is a label "${String(name)}".`, { param: 'name' });
  const { id } = (await createObject(row, call)) as { readonly id: string };
  return { id };
};

function wire(object: StoredObject, { world }: Call): object {
  const { name, description = null, color_code = null } = object.spec;
  return {
    ...{ id: object.id, name, description, color_code, is_universal: false, status: 'active' },
    ...placeFields(object, world),
  };
}

export const LABELS: ResourceRow = {
  ...OF_PROMPTS,
  path: '/labels',
  kind: 'PromptGroup',
  title: 'label',
  isOne: ({ type }) => type === 'label',
  words: { created: 'label', whole: 'label' },
  create: { fields: FIELDS, besides: PLACE, required: ['name'] },
  update: { fields: FIELDS, besides: PLACE },
  merged: (fields, before = {}) => changedSpec({ ...before, type: 'label' }, fields),
  wire,
  actions: [],
  operations: { list, read, create, replace: withoutAnswer(replaceObject), remove: withoutAnswer(removeObject) },
};
