/** Server-side apply: what is stored, and what a manager wants -> what is stored next, and who owns what of it. */
import type { ApiObject } from '#crds/api/api-object.ts';
import { applyConflict } from './failure.ts';
import { compared, type FieldSet, fieldSetOf, removed, shownPath, withNamedParents } from './field-sets.ts';
import { type Fields, fieldsOf } from './fields.ts';
import {
  isSameWriter,
  type Managed,
  managersOf,
  ownable,
  ownedPart,
  ownedSchema,
  type Writer,
  withOwnedPart,
} from './managers.ts';
import { merged } from './merged.ts';
import type { ResourceRow } from './resource-row.ts';
import { timestamp } from './timestamp.ts';

export interface ApplyRequest {
  readonly row: ResourceRow;
  /** Where nothing is stored yet: apiVersion, kind and metadata of what will be. */
  readonly base: ApiObject;
  readonly live: ApiObject | undefined;
  readonly config: ApiObject;
  readonly writer: Writer;
  readonly isForced: boolean;
}

export interface Applied {
  readonly object: ApiObject;
  readonly managers: readonly Managed[];
}

/** Throws Failure 409 that names the managers who own what would change, unless it is forced. */
export function applied({ row, base, live, config, writer, isForced }: ApplyRequest): Applied {
  const schema = ownedSchema(row);
  const { subresource } = writer;
  const stored = ownedPart(row, live, subresource);
  const wanted = ownedPart(row, config, subresource);
  const known = managersOf(live);
  const own = { ...writer, time: timestamp(), set: ownable(fieldSetOf(wanted, schema)) };
  const last = known.find((entry) => isSameWriter(entry, writer))?.set ?? new Set<string>();
  const others = known.filter((entry) => !isSameWriter(entry, writer));
  const owned = [own, ...others].reduce((all: FieldSet, { set }) => all.union(set), new Set<string>());
  const dropped = withNamedParents(last, schema).difference(withNamedParents(owned, schema));
  const next = fieldsOf(removed(merged(stored, wanted, schema), schema, dropped));
  const managers = [own, ...takenOver(others, stored, next, { row, isForced })];
  return { object: withOwnedPart(row, live ?? base, next, subresource), managers };
}

function takenOver(
  others: readonly Managed[],
  stored: Fields,
  next: Fields,
  { row, isForced }: { readonly row: ResourceRow; readonly isForced: boolean },
): Managed[] {
  const change = compared(stored, next, ownedSchema(row));
  const touched = change.modified.union(change.added);
  const conflicts = others.map((entry) => ({ entry, fields: entry.set.intersection(touched) }));
  if (!isForced) refuse(conflicts.filter(({ fields }) => fields.size > 0));
  return conflicts.map(({ entry, fields }) => ({
    ...entry,
    set: entry.set.difference(fields).difference(change.removed),
  }));
}

interface Conflict {
  readonly entry: Managed;
  readonly fields: FieldSet;
}

function refuse(conflicts: readonly Conflict[]): void {
  const causes = conflicts.flatMap(({ entry, fields }) =>
    [...fields].sort().map((path) => ({
      reason: 'FieldManagerConflict',
      message: `conflict with ${shownManager(entry)}`,
      field: shownPath(path),
    })),
  );
  const [only] = causes;
  if (only === undefined) return;
  if (causes.length === 1) {
    throw applyConflict(`Apply failed with 1 conflict: ${only.message}: ${only.field}`, causes);
  }
  const blocks = Map.groupBy(causes, ({ message }) => message.replace('conflict', 'conflicts'));
  const told = [...blocks].map(
    ([message, named]) => `${message}:\n${named.map(({ field }) => `- ${field}`).join('\n')}`,
  );
  throw applyConflict(`Apply failed with ${causes.length} conflicts: ${told.join('\n')}`, causes);
}

function shownManager({ manager, subresource, operation, apiVersion }: Managed): string {
  const door = subresource === undefined ? '' : ` with subresource "${subresource}"`;
  return `"${manager}"${door}${operation === 'Apply' ? '' : ` using ${apiVersion}`}`;
}
