/** What can be done with every resource alike. */
import { assertMayTouchAll, assertScope } from './authorize.ts';
import { assertSpec, readBody } from './body.ts';
import { assertRemovable } from './changed-fields.ts';
import { ControlError } from './control-error.ts';
import { findObject, workspaceAsked, workspaceOfNew } from './find-object.ts';
import { randomWord, slugOf } from './new-name.ts';
import { pageOf, wordOf } from './query.ts';
import type { Action, Call, ResourceRow } from './resource-row.ts';
import type { Spec, StoredObject } from './stored-object.ts';

const SUFFIX_CHARACTERS = 6;
const TRIES = 5;

/** Oldest first, so that a page stays what it is while others are added. `isAsked`: what else is asked of them. */
export async function listObjects(
  row: ResourceRow,
  call: Call,
  isAsked: (object: StoredObject) => boolean = () => true,
): Promise<object> {
  const { world, caller, query } = call;
  assertScope(caller, row.scopes('list'));
  const wanted = Object.entries(row.filters).flatMap(([name, { words, absent, of }]) => {
    const word = wordOf(query, name, words) ?? absent;
    return word === undefined ? [] : [(spec: Spec) => of(spec) === word];
  });
  const all = await world.objects.list(row.kind, workspaceAsked(call));
  const matching = all
    .filter(
      (object) => (row.isOne?.(object.spec) ?? true) && isAsked(object) && wanted.every((holds) => holds(object.spec)),
    )
    .filter(({ spec }) => row.scopes('list', spec).some((scope) => caller.holds(scope)))
    .sort(inOrder);
  const { items, total } = pageOf(query, matching);
  return { object: 'list', total, data: items.map((object) => row.wire(object, call)) };
}

export async function readObject(row: ResourceRow, call: Call): Promise<object> {
  const { query } = call;
  const object = await findObject(row, call, 'read');
  const { status } = row.filters;
  const word = status && wordOf(query, 'status', status.words);
  if (word !== undefined && status?.of(object.spec) !== word)
    throw new ControlError('unknown_object', `The ${row.title} "${object.name}" is not ${word}.`, { param: 'status' });
  return wholeObject(row, object, call);
}

export async function createObject(row: ResourceRow, call: Call): Promise<object> {
  const { world, caller, body } = call;
  const given = row.given(call.params);
  assertScope(caller, row.scopes('create', given));
  const { fields, besides } = readBody(body, row.create);
  const spec = { ...row.merged(fields, undefined), ...given };
  const asked = besides['workspace_id'] as string | undefined;
  assertSpec(row.kind, spec, row.create.renamed);
  row.assertMay?.(caller, spec, undefined);
  const namespace = workspaceOfNew(row, call, spec, asked);
  if (row.isAboutAll && namespace === world.organisationNamespace) assertMayTouchAll(caller);
  const object = await createNamed(row, call, namespace, spec);
  return { id: object.id, ...(await row.created?.(object, call)), object: row.words.created };
}

export async function replaceObject(row: ResourceRow, call: Call): Promise<object> {
  const { world, caller, body } = call;
  const object = await findChangeable(row, call, 'update');
  const { fields, besides } = readBody(body, row.update);
  const annotations = row.annotations?.(besides, object) ?? {};
  const changed = await world.objects.change(object, (current) => {
    const spec = row.merged(fields, current.spec);
    assertSpec(row.kind, spec, row.update.renamed);
    row.assertMay?.(caller, spec, current.spec);
    return { spec, annotations: { ...current.annotations, ...annotations } };
  });
  return wholeObject(row, changed, call);
}

/** A policy is archived: what was counted by it stays to be read. */
export async function removeObject(row: ResourceRow, call: Call): Promise<object> {
  const { objects } = call.world;
  const object = await findChangeable(row, call, 'delete');
  row.assertMay?.(call.caller, object.spec, object.spec);
  if (row.removal === 'delete') {
    await objects.remove(object);
    return {};
  }
  const archived = await objects.change(object, (current) => {
    assertRemovable(current);
    return { spec: { ...current.spec, status: 'archived' }, annotations: current.annotations };
  });
  return wholeObject(row, archived, call);
}

/** One that is about to be changed. Throws as `findObject`, and `workspace_not_allowed`. */
export async function findChangeable(row: ResourceRow, call: Call, action: Action): Promise<StoredObject> {
  const object = await findObject(row, call, action);
  if (row.isAboutAll && object.namespace === call.world.organisationNamespace) assertMayTouchAll(call.caller);
  return object;
}

/** With what the operator says of it. */
function wholeObject(row: ResourceRow, object: StoredObject, call: Call): object {
  const { conditions = [] } = object.status as { readonly conditions?: readonly Record<string, unknown>[] };
  const said = conditions.map(({ type, status, reason, message }) => ({ type, status, reason, message }));
  return { ...row.wire(object, call), object: row.words.whole, status_conditions: said };
}

async function createNamed(row: ResourceRow, { world }: Call, namespace: string, spec: Spec): Promise<StoredObject> {
  const { kind } = row;
  const { name: title } = spec;
  const slug = slugOf(typeof title === 'string' ? title : '', row.title.replaceAll(' ', '-'));
  for (let tries = 0; tries < TRIES; tries += 1) {
    const name = tries === 0 && title !== undefined ? slug : `${slug}-${randomWord(SUFFIX_CHARACTERS)}`;
    const object = await world.objects.create({ kind, namespace, name, spec });
    if (object !== undefined) return object;
  }
  throw new ControlError('conflict', `There is no name left for "${slug}".`, { param: 'name' });
}

function inOrder(a: StoredObject, b: StoredObject): number {
  const [left, right] = [a, b].map(({ createdAt, namespace, name }) => `${createdAt} ${namespace}/${name}`);
  return (left ?? '') < (right ?? '') ? -1 : 1;
}
