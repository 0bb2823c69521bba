/** `/collections`: where prompts are shown. One is everywhere, and is what a prompt lies in that names none. */
import { z } from '#crds/config/words.ts';
import { assertScope } from '../../authorize.ts';
import { changedSpec } from '../../body.ts';
import type { ControlWorld } from '../../control-world.ts';
import { findObject, workspaceAsked } from '../../find-object.ts';
import { idOf } from '../../object-id.ts';
import { createObject, removeObject, replaceObject } from '../../operations.ts';
import { pageOf, parameter } from '../../query.ts';
import type { Call, Operation, ResourceRow } from '../../resource-row.ts';
import type { StoredObject } from '../../stored-object.ts';
import { PLACE } from '../wire.ts';
import { OF_PROMPTS, withoutAnswer } from './of-prompts.ts';

const DEFAULT = 'default';
const NEVER = new Date(0).toISOString();

interface Collection {
  readonly id: string;
  readonly slug: string;
  readonly name: string;
  readonly parent: string | undefined;
  readonly namespace: string;
  readonly createdAt: string;
  readonly updatedAt: string;
}

/** Id of the collection that a prompt lies in. */
export function collectionId(prompt: StoredObject): string {
  const asked = prompt.spec['collection_id'];
  return typeof asked === 'string' && asked !== DEFAULT ? asked : defaultId(prompt.namespace);
}

function defaultId(namespace: string): string {
  return idOf(`Collection ${namespace}/${DEFAULT}`);
}

async function collections(namespace: string, { objects }: ControlWorld): Promise<readonly Collection[]> {
  const stored = (await objects.list('PromptGroup', namespace)).filter(({ spec }) => spec['type'] === 'collection');
  return [
    {
      id: defaultId(namespace),
      slug: DEFAULT,
      name: DEFAULT,
      parent: undefined,
      namespace,
      createdAt: NEVER,
      updatedAt: NEVER,
    },
    ...stored.map(({ id, name: slug, spec, createdAt, updatedAt }) => ({
      ...{ id, slug, namespace, createdAt, updatedAt },
      name: String(spec['name']),
      parent: spec['parent_collection_id'] as string | undefined,
    })),
  ];
}

/** By id or slug. */
function isCalled({ id, slug }: Collection, word: string | undefined): boolean {
  return id === word || slug === word;
}

function wire(collection: Collection): object {
  const { id, slug, name, parent = null, namespace, createdAt, updatedAt } = collection;
  return {
    ...{ id, name, workspace_id: namespace, slug, parent_collection_id: parent, is_default: slug === DEFAULT },
    ...{ status: 'active', created_at: createdAt, last_updated_at: updatedAt },
  };
}

function details(collection: Collection, all: readonly Collection[], prompts: readonly StoredObject[]): object {
  const children = all.filter(({ parent }) => isCalled(collection, parent));
  const within = prompts.filter((prompt) => isCalled(collection, collectionId(prompt)));
  return {
    child_collections_count: children.length,
    prompts_count: within.length,
    child_collections_last_updated_at: latest(children),
    prompts_last_updated_at: latest(within),
  };
}

function latest(objects: readonly { readonly updatedAt: string }[]): string | null {
  return (
    objects
      .map(({ updatedAt }) => updatedAt)
      .sort()
      .at(-1) ?? null
  );
}

const list: Operation = async (row, call) => {
  const { world, caller, query } = call;
  assertScope(caller, row.scopes('list'));
  const namespace = workspaceAsked(call) ?? world.organisationNamespace;
  const [all, prompts] = await Promise.all([collections(namespace, world), world.objects.list('Prompt', namespace)]);
  const search = parameter(query, 'search')?.toLowerCase() ?? '';
  const { items, total } = pageOf(
    query,
    all.filter(({ name }) => name.toLowerCase().includes(search)),
  );
  const data = items.map((one) => ({ ...wire(one), collection_details: details(one, all, prompts) }));
  return { total, data };
};

const read: Operation = async (row, call) => {
  const { world, caller, params } = call;
  const namespace = workspaceAsked(call) ?? world.organisationNamespace;
  const [all, prompts] = await Promise.all([collections(namespace, world), world.objects.list('Prompt', namespace)]);
  const found = all.find((one) => isCalled(one, params['id']));
  if (found === undefined) return findObject(row, call, 'read');
  assertScope(caller, row.scopes('read'));
  const children = all.filter(({ parent }) => isCalled(found, parent));
  const shown = children.map((one) => ({
    ...{ id: one.id, name: one.name, last_updated_at: one.updatedAt },
    collection_details: details(one, all, prompts),
  }));
  return { ...wire(found), child_collections: shown };
};

const create: Operation = async (row, call) => {
  const { id } = (await createObject(row, call)) as { readonly id: string };
  const objects = await call.world.objects.list('PromptGroup', workspaceAsked(call));
  return { id, slug: objects.find((one) => one.id === id)?.name ?? '' };
};

function stored(object: StoredObject, _call: Call): object {
  const { id, name: slug, namespace, createdAt, updatedAt, spec } = object;
  const parent = spec['parent_collection_id'] as string | undefined;
  return wire({ id, slug, namespace, createdAt, updatedAt, parent, name: String(spec['name']) });
}

export const COLLECTIONS: ResourceRow = {
  ...OF_PROMPTS,
  path: '/collections',
  kind: 'PromptGroup',
  title: 'collection',
  isOne: ({ type }) => type === 'collection',
  words: { created: 'collection', whole: 'collection' },
  create: {
    fields: ['name', 'parent_collection_id'],
    besides: { workspace_id: PLACE.workspace_id },
    required: ['name'],
  },
  update: { fields: ['name'], besides: { workspace_id: z.string() }, required: ['name'] },
  merged: (fields, before = {}) => changedSpec({ ...before, type: 'collection' }, fields),
  wire: stored,
  actions: [],
  operations: { list, read, create, replace: withoutAnswer(replaceObject), remove: withoutAnswer(removeObject) },
};
