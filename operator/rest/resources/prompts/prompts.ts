/** `/prompts`. What is written here becomes versions; an object that is kept elsewhere can have drafts all the same. */
import { freeObject } from '#crds/config/values.ts';
import { z } from '#crds/config/words.ts';
import { promptSpec } from '#crds/kinds/prompt.ts';
import { CONTENT_FIELDS, contentText } from '#crds/prompts/content.ts';
import { assertSpec, changedSpec, readBody } from '../../body.ts';
import { ControlError } from '../../control-error.ts';
import { findObject } from '../../find-object.ts';
import { createObject, findChangeable, listObjects, removeObject } from '../../operations.ts';
import { parameter } from '../../query.ts';
import type { Operation, ResourceRow } from '../../resource-row.ts';
import type { Spec, StoredObject } from '../../stored-object.ts';
import { PLACE } from '../wire.ts';
import { collectionId } from './collections.ts';
import { labelIdIn } from './labels.ts';
import { OF_PROMPTS, withoutAnswer } from './of-prompts.ts';
import { labelVersion, listVersions, makeDefault, readVersion } from './prompt-operations.ts';
import {
  draftVersion,
  firstVersion,
  type PromptVersions,
  type StoredVersion,
  versionsOfPrompt,
} from './prompt-versions.ts';

const CONTENT = ['string', 'parameters', 'model', 'virtual_key', 'functions', 'tools', 'tool_choice', 'variables'];
const OF_OBJECT = ['name', 'collection_id'];
const METADATA = freeObject('Kept by nobody.');

/** A text that is a JSON list of messages is a chat; any other the prompt of a text completion. */
function withForm({ string, ...fields }: Spec, isRaw = false): Spec {
  if (string === undefined) return fields;
  const messages = isRaw ? undefined : messagesIn(string);
  return messages === undefined ? { ...fields, string, messages: null } : { ...fields, messages, string: null };
}

function messagesIn(text: unknown): unknown {
  if (typeof text !== 'string' || !text.trimStart().startsWith('[')) return undefined;
  try {
    const value: unknown = JSON.parse(text);
    return Array.isArray(value) && value.length > 0 && value.every((one) => typeof Object(one).role === 'string')
      ? value
      : undefined;
  } catch {
    return undefined;
  }
}

function merged(fields: Spec, before: Spec = {}): Spec {
  return changedSpec(before, withForm(fields));
}

/** As it came, whichever form it has. */
function stringOf({ messages, string }: Spec): unknown {
  return messages === undefined ? string : JSON.stringify(messages);
}

function summary(object: StoredObject): object {
  const { name = object.name, model = null } = object.spec;
  return {
    ...{ id: object.id, slug: object.name, name, collection_id: collectionId(object), model, status: 'active' },
    ...{ created_at: object.createdAt, last_updated_at: object.updatedAt, object: 'prompt' },
  };
}

function detail(
  object: StoredObject,
  version: StoredVersion,
  { publication }: PromptVersions,
  labelId: string | null,
): object {
  const { content } = version;
  const {
    parameters = {},
    virtual_key = null,
    provider,
    model = null,
    functions = [],
    tools = [],
    tool_choice = null,
    variables,
  } = content;
  const { object: _, ...head } = summary(object) as { readonly object: string };
  return {
    ...head,
    ...{ string: stringOf(content), parameters, prompt_version: version.version, prompt_version_id: version.object.id },
    prompt_version_status: publication.live === version.version ? 'active' : 'archived',
    ...{ prompt_version_description: version.description ?? null, prompt_version_label_id: labelId },
    ...{ virtual_key: virtual_key ?? provider ?? null, model, functions, tools, tool_choice, template_metadata: {} },
    is_raw_template: content['messages'] === undefined,
    ...(variables === undefined ? {} : { variables }),
  };
}

/** Of the published version; of the newest where none is. */
const read: Operation = async (row, call) => {
  const object = await findObject(row, call, 'read');
  const all = await versionsOfPrompt(object, call.world);
  const version = all.versions.find((one) => one.version === all.publication.live) ?? all.versions.at(-1);
  if (version === undefined) return summary(object);
  const labelId = await labelIdIn(object.namespace, all, call.world);
  return detail(object, version, all, labelId(version));
};

const create: Operation = async (row, call) => {
  const { id, slug, version_id } = (await createObject(row, call)) as Record<string, unknown>;
  return { id, slug, version_id, object: 'prompt' };
};

const list: Operation = async (row, call) => {
  const search = parameter(call.query, 'search')?.toLowerCase() ?? '';
  const collection = parameter(call.query, 'collection_id');
  const isAsked = (object: StoredObject) =>
    `${object.name} ${object.spec['name'] ?? ''}`.toLowerCase().includes(search) &&
    (collection === undefined || collectionId(object) === collection);
  const { total, data } = (await listObjects(row, call, isAsked)) as { readonly total: number; readonly data: object };
  return { data, total };
};

/** Content makes a draft; name and collection are the object's own. */
const replace: Operation = async (row, call) => {
  const object = await findChangeable(row, call, 'update');
  const { fields, besides } = readBody(call.body, row.update);
  const changed = await call.world.objects.change(object, (current) => ({
    spec: changedSpec(current.spec, pick(fields, OF_OBJECT)),
    annotations: current.annotations,
  }));
  const content = pick(fields, CONTENT);
  const { versions } = await versionsOfPrompt(changed, call.world);
  const newest = versions.at(-1);
  if (Object.keys(content).length === 0) return answerOf(changed, newest);
  const base = besides['patch'] === true ? (newest?.content ?? {}) : {};
  const spec = changedSpec(base, withForm(content, besides['is_raw_template'] === 1));
  if (spec['messages'] === undefined && spec['string'] === undefined)
    throw new ControlError('missing_field', 'string is required, or patch: true.', { param: 'string' });
  assertSpec('Prompt', spec);
  const description = fields['version_description'] as string | undefined;
  const text = contentText(promptSpec.parse(spec));
  return answerOf(changed, await draftVersion(changed, text, description, call.world));
};

function answerOf({ id, name }: StoredObject, version: StoredVersion | undefined): object {
  return { id, slug: name, prompt_version_id: version?.object.id ?? null };
}

function pick(fields: Spec, names: readonly string[]): Spec {
  return Object.fromEntries(Object.entries(fields).filter(([name]) => names.includes(name)));
}

function templateOf({ content }: StoredVersion): object {
  const { messages: _messages, string: _string, ...rest } = pick(content, CONTENT_FIELDS);
  return { string: stringOf(content), ...rest };
}

export const PROMPTS: ResourceRow = {
  ...OF_PROMPTS,
  path: '/prompts',
  kind: 'Prompt',
  title: 'prompt',
  words: { created: 'prompt', whole: 'prompt' },
  create: {
    fields: [...OF_OBJECT, ...CONTENT, 'version_description'],
    besides: { ...PLACE, template_metadata: METADATA },
    required: ['name', 'string'],
  },
  update: {
    fields: [...OF_OBJECT, ...CONTENT, 'version_description'],
    besides: { patch: z.boolean(), is_raw_template: z.union([z.literal(0), z.literal(1)]), prompt_metadata: METADATA },
  },
  merged,
  created: async (object, { world }) => {
    const { object: version } = await firstVersion(object, world);
    return { slug: object.name, version_id: version.id };
  },
  wire: summary,
  actions: [
    listVersions((object, version, all, labelId) => ({
      ...{ id: version.object.id, prompt_id: object.id, prompt_template: templateOf(version) },
      ...{ prompt_version: version.version, prompt_description: version.description ?? null },
      label_id: labelId,
      ...{ created_at: version.object.createdAt, object: 'prompt' },
      status: all.publication.live === version.version ? 'active' : 'archived',
    })),
    readVersion(detail),
    labelVersion,
    makeDefault,
  ],
  operations: { list, read, create, replace, remove: withoutAnswer(removeObject) },
};
