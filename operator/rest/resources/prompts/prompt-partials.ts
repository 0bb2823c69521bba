/** `/prompts/partials`. */

import { z } from '#crds/config/words.ts';
import { promptPartialSpec } from '#crds/kinds/prompt-partial.ts';
import { contentText } from '#crds/prompts/content.ts';
import { assertScope } from '../../authorize.ts';
import { assertSpec, changedSpec, readBody } from '../../body.ts';
import { findObject, workspaceAsked } from '../../find-object.ts';
import { createObject, findChangeable, removeObject } from '../../operations.ts';
import { parameter } from '../../query.ts';
import type { Operation, ResourceRow } from '../../resource-row.ts';
import type { Spec, StoredObject } from '../../stored-object.ts';
import { PLACE } from '../wire.ts';
import { collectionId } from './collections.ts';
import { OF_PROMPTS, withoutAnswer } from './of-prompts.ts';
import { labelVersion, listVersions, makeDefault, readVersion } from './prompt-operations.ts';
import {
  draftVersion,
  firstVersion,
  type PromptVersions,
  type StoredVersion,
  versionsOfPrompt,
} from './prompt-versions.ts';

function summary(object: StoredObject): object {
  const { name = object.name } = object.spec;
  return {
    ...{ id: object.id, slug: object.name, name, collection_id: collectionId(object), status: 'active' },
    ...{ created_at: object.createdAt, last_updated_at: object.updatedAt, object: 'partial' },
  };
}

function detail(object: StoredObject, version: StoredVersion): object {
  const { object: _, ...head } = summary(object) as { readonly object: string };
  return {
    ...head,
    ...{ string: version.content['string'], version: version.version },
    ...{ version_description: version.description ?? null, prompt_partial_version_id: version.object.id },
  };
}

function told(
  object: StoredObject,
  { object: { id, createdAt }, ...version }: StoredVersion,
  all: PromptVersions,
): object {
  return {
    ...{ prompt_partial_id: object.id, prompt_partial_version_id: id, slug: object.name },
    ...{
      version: String(version.version),
      string: version.content['string'],
      description: version.description ?? null,
    },
    ...{ created_at: createdAt, object: 'partial' },
    prompt_version_status: all.publication.live === version.version ? 'active' : 'archived',
  };
}

const list: Operation = async (row, call) => {
  const { world, caller, query } = call;
  assertScope(caller, row.scopes('list'));
  const collection = parameter(query, 'collection_id');
  const all = await world.objects.list(row.kind, workspaceAsked(call));
  return all
    .filter((object) => collection === undefined || collectionId(object) === collection)
    .sort((a, b) => (`${a.createdAt} ${a.name}` < `${b.createdAt} ${b.name}` ? -1 : 1))
    .map(summary);
};

const read: Operation = async (row, call) => {
  const object = await findObject(row, call, 'read');
  const { versions, publication } = await versionsOfPrompt(object, call.world);
  const version = versions.find((one) => one.version === publication.live) ?? versions.at(-1);
  return version === undefined ? summary(object) : detail(object, version);
};

const create: Operation = async (row, call) => {
  const { object: _, ...answer } = (await createObject(row, call)) as { readonly object: string };
  return answer;
};

/** A text makes a draft; the name is the object's own. */
const replace: Operation = async (row, call) => {
  const object = await findChangeable(row, call, 'update');
  const { fields, besides } = readBody(call.body, row.update);
  const { name, string } = fields as { readonly name?: unknown; readonly string?: unknown };
  const changed = await call.world.objects.change(object, (current) => ({
    spec: name === undefined ? current.spec : changedSpec(current.spec, { name }),
    annotations: current.annotations,
  }));
  const { versions } = await versionsOfPrompt(changed, call.world);
  if (string === undefined) return { prompt_partial_version_id: versions.at(-1)?.object.id ?? null };
  const spec: Spec = { string };
  assertSpec('PromptPartial', spec);
  const text = contentText(promptPartialSpec.parse(spec));
  const version = await draftVersion(changed, text, besides['description'] as string | undefined, call.world);
  return { prompt_partial_version_id: version.object.id };
};

export const PROMPT_PARTIALS: ResourceRow = {
  ...OF_PROMPTS,
  path: '/prompts/partials',
  kind: 'PromptPartial',
  title: 'prompt partial',
  words: { created: 'partial', whole: 'partial' },
  create: { fields: ['name', 'string', 'version_description'], besides: PLACE, required: ['name', 'string'] },
  update: {
    fields: ['name', 'string'],
    besides: { description: z.string().min(1).max(4096), status: z.enum(['active']) },
  },
  merged: (fields, before = {}) => changedSpec(before, fields),
  created: async (object, { world }) => {
    const { object: version } = await firstVersion(object, world);
    return { slug: object.name, version_id: version.id };
  },
  wire: summary,
  actions: [listVersions(told), readVersion(told), labelVersion, makeDefault],
  operations: { list, read, create, replace, remove: withoutAnswer(removeObject) },
};
