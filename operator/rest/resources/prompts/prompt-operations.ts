/** What prompts and partials can do alike: versions, what is published of them, and labels. */
import { z } from '#crds/config/words.ts';
import { ANNOTATIONS } from '#crds/object.ts';
import {
  readLabelChoices,
  type VersionChoice,
  writeChoice,
  writeLabelChoices,
} from '../../../compile/prompt-publication.ts';
import { readBody } from '../../body.ts';
import { ControlError } from '../../control-error.ts';
import { findObject } from '../../find-object.ts';
import { findChangeable } from '../../operations.ts';
import type { ActionRow, Call } from '../../resource-row.ts';
import type { StoredObject } from '../../stored-object.ts';
import { labelIdIn, labelOf } from './labels.ts';
import { findVersion, type PromptVersions, type StoredVersion, versionsOfPrompt } from './prompt-versions.ts';

/** One version as it is told. A version is told with one label, though it can have several. */
export type VersionWire = (
  prompt: StoredObject,
  version: StoredVersion,
  all: PromptVersions,
  labelId: string | null,
) => object;

/** Newest first. */
export function listVersions(wire: VersionWire): ActionRow {
  return {
    method: 'GET',
    path: '/:id/versions',
    action: 'list',
    async run(row, call) {
      const prompt = await findObject(row, call, 'list');
      const all = await versionsOfPrompt(prompt, call.world);
      const labelId = await labelIdIn(prompt.namespace, all, call.world);
      return all.versions.toReversed().map((version) => wire(prompt, version, all, labelId(version)));
    },
  };
}

export function readVersion(wire: VersionWire): ActionRow {
  return {
    method: 'GET',
    path: '/:id/versions/:version',
    action: 'read',
    async run(row, call) {
      const prompt = await findObject(row, call, 'read');
      const all = await versionsOfPrompt(prompt, call.world);
      const version = findVersion(all, call.params['version'] ?? '');
      const labelId = await labelIdIn(prompt.namespace, all, call.world);
      return wire(prompt, version, all, labelId(version));
    },
  };
}

/** Puts a label on a version, and takes it from whichever had it; null takes all of its labels. */
export const labelVersion: ActionRow = {
  method: 'PUT',
  path: '/:id/versions/:version',
  action: 'update',
  async run(row, call) {
    const prompt = await findChangeable(row, call, 'update');
    const { fields } = readBody(call.body, { fields: ['label_id'], besides: {} });
    const all = await versionsOfPrompt(prompt, call.world);
    const { version } = findVersion(all, call.params['version'] ?? '');
    const id = fields['label_id'];
    if (id === undefined && call.body?.['label_id'] === undefined)
      throw new ControlError('missing_field', 'label_id is required.', { param: 'label_id' });
    const label = id === null ? undefined : await labelOf(id, prompt.namespace, call.world);
    const { labels } = all.publication;
    const choices: [string, VersionChoice][] =
      label === undefined
        ? Object.keys(labels).flatMap((name) => (labels[name] === version ? [[name, over(0, all)]] : []))
        : [[label, over(version, all)]];
    await note(prompt, call, (annotations) => {
      const before = readLabelChoices(annotations[ANNOTATIONS.versionLabels] ?? '');
      return { [ANNOTATIONS.versionLabels]: writeLabelChoices(new Map([...before, ...choices])) };
    });
    return {};
  },
};

/** Publishes a version, for as long as no later edit of the object does. */
export const makeDefault: ActionRow = {
  method: 'PUT',
  path: '/:id/makeDefault',
  action: 'update',
  async run(row, call) {
    const prompt = await findChangeable(row, call, 'update');
    const { besides } = readBody(call.body, { fields: [], besides: { version: z.int().min(1).max(999_999_999) } });
    const asked = besides['version'];
    if (typeof asked !== 'number')
      throw new ControlError('missing_field', 'version is required.', { param: 'version' });
    const all = await versionsOfPrompt(prompt, call.world);
    const { version } = findVersion(all, asked);
    const choice = writeChoice({ version, over: all.byEdit });
    await note(prompt, call, () => ({ [ANNOTATIONS.publishedVersion]: choice }));
    return {};
  },
};

/** It holds until an edit says something later. */
function over(version: number, { versions }: PromptVersions): VersionChoice {
  return { version, over: versions.at(-1)?.version ?? 0 };
}

async function note(
  prompt: StoredObject,
  { world }: Call,
  more: (annotations: StoredObject['annotations']) => StoredObject['annotations'],
): Promise<void> {
  await world.objects.change(prompt, ({ spec, annotations }) => ({
    spec,
    annotations: { ...annotations, ...more(annotations) },
  }));
}
