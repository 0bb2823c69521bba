/** The object that a request is about. */
import { assertScope, workspaceOf } from './authorize.ts';
import { ControlError } from './control-error.ts';
import { isUuid } from './object-id.ts';
import { parameter } from './query.ts';
import type { Action, Call, ResourceRow } from './resource-row.ts';
import type { StoredObject } from './stored-object.ts';

const WORKSPACE = 'workspace_id';

/** The workspace that the query names; else the caller's own, or all. Throws `workspace_not_allowed`, `invalid_value`. */
export function workspaceAsked({ world, caller, query }: Call): string | undefined {
  const asked = parameter(query, WORKSPACE);
  return workspaceOf(caller, asked === undefined ? undefined : world.workspaceName(asked));
}

/** By its id, or its name. Throws `missing_scope`, `unknown_object`, or `invalid_value` where several have the name. */
export async function findObject(row: ResourceRow, call: Call, action: Action): Promise<StoredObject> {
  const { caller, params } = call;
  const { id = '' } = params;
  assertScope(caller, row.scopes(action));
  const found = (await candidates(row, call, id)).filter(({ spec }) => row.isOne?.(spec) ?? true);
  const [object, another] = found;
  if (object === undefined) throw unknown(row, id);
  if (another !== undefined) {
    const where = found.map(({ namespace }) => namespace).sort();
    const message = `${WORKSPACE} must say which ${row.title} "${id}" is meant: ${where.slice(0, 5).join(', ')} have one.`;
    throw new ControlError('invalid_value', message, { param: WORKSPACE });
  }
  assertScope(caller, row.scopes(action, object.spec));
  return object;
}

async function candidates(row: ResourceRow, call: Call, id: string): Promise<readonly StoredObject[]> {
  const { objects } = call.world;
  const workspace = workspaceAsked(call);
  if (!isUuid(id)) return id === '' || id.length > 253 ? [] : objects.list(row.kind, workspace, { name: id });
  const all = await objects.list(row.kind, workspace);
  const same = all.filter((object) => object.id === id.toLowerCase());
  return same.length > 0 ? same : all.filter(({ name }) => name === id);
}

function unknown(row: ResourceRow, id: string): ControlError {
  return new ControlError('unknown_object', `There is no ${row.title} "${id.slice(0, 253)}" in your workspace.`, {
    param: 'id',
  });
}

/** Where a new object lies. Throws `workspace_not_allowed`, `missing_field`, `invalid_value`. */
export function workspaceOfNew(
  row: ResourceRow,
  { world, caller }: Call,
  spec: object,
  asked: string | undefined,
): string {
  const { organisationNamespace } = world;
  const named = workspaceOf(caller, asked === undefined ? undefined : world.workspaceName(asked));
  if (!row.isOfOrganisation(spec as StoredObject['spec'])) {
    if (named !== undefined) return named;
    const message = `${WORKSPACE} is required: an organisation key has no workspace of its own.`;
    throw new ControlError('missing_field', message, { param: WORKSPACE });
  }
  if (asked === undefined || named === organisationNamespace) return organisationNamespace;
  const message = `${WORKSPACE} must be ${organisationNamespace}, where what is of the organisation lies, or absent.`;
  throw new ControlError('invalid_value', message, { param: WORKSPACE });
}
