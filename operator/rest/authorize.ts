/** What a caller may do, and where. */
import { namespaceName } from '#crds/object.ts';
import type { KeyRecord } from '#crds/snapshot/contract.ts';
import type { ControlCaller } from './caller.ts';
import { ControlError } from './control-error.ts';

type KeyType = KeyRecord['type'];

/** A key gives no type above its own. */
const RANK: Readonly<Record<KeyType, number>> = {
  'workspace-user': 0,
  'workspace-service': 1,
  'organisation-service': 2,
};

export function isOfOrganisation({ type }: ControlCaller): boolean {
  return type === 'organisation-service';
}

/** Throws `missing_scope`. Any one of them is enough. */
export function assertScope(caller: ControlCaller, scopes: readonly string[]): void {
  if (scopes.some((scope) => caller.holds(scope))) return;
  throw new ControlError('missing_scope', `The key ${caller.name} lacks the scope ${scopes.join(' or ')}.`);
}

/** The workspace that a caller means, or its own; undefined: all of them. Throws `workspace_not_allowed` or `invalid_value`. */
export function workspaceOf(caller: ControlCaller, asked: string | undefined): string | undefined {
  if (asked === undefined) return isOfOrganisation(caller) ? undefined : caller.namespace;
  const param = 'workspace_id';
  if (!namespaceName.safeParse(asked).success)
    throw new ControlError('invalid_value', 'workspace_id must be the name of a workspace, or its id.', { param });
  if (asked === caller.namespace || isOfOrganisation(caller)) return asked;
  const message = `The key ${caller.name} acts in its own workspace ${caller.namespace} only.`;
  throw new ControlError('workspace_not_allowed', message, { param });
}

/** Throws `workspace_not_allowed`: what lies in the organisation namespace is about every workspace. */
export function assertMayTouchAll(caller: ControlCaller): void {
  if (isOfOrganisation(caller)) return;
  throw new ControlError('workspace_not_allowed', 'What is about every workspace is for organisation keys to change.');
}

/** Throws `rights_exceeded` where a key of this type and these scopes could do what the caller cannot. */
export function assertMayGive(caller: ControlCaller, type: KeyType, scopes: readonly string[]): void {
  if (RANK[type] > RANK[caller.type]) {
    const message = `The key ${caller.name} is a ${caller.type} key, which has no say over ${type} keys.`;
    throw new ControlError('rights_exceeded', message, { param: 'type' });
  }
  const lacking = scopes.find((scope) => !caller.holds(scope));
  if (lacking === undefined) return;
  const message = `The key ${caller.name} lacks the scope ${lacking.slice(0, 128)} itself, and cannot give it.`;
  throw new ControlError('rights_exceeded', message, { param: 'scopes' });
}
