/** What an account may do by rendered roles: the additive rules of RBAC. */
import { at, type Manifest, ofKind } from './manifest.ts';

export interface Right {
  readonly verb: string;
  readonly group?: string;
  readonly resource: string;
  /** Absent: asked of no single object, as lists and creations are. */
  readonly name?: string;
  readonly namespace: string;
}

export interface Rule {
  readonly apiGroups: readonly string[];
  readonly resources: readonly string[];
  readonly resourceNames?: readonly string[];
  readonly verbs: readonly string[];
}

function allows(rule: Rule, { verb, group = '', resource, name }: Right): boolean {
  if (!rule.verbs.includes(verb) || !rule.apiGroups.includes(group) || !rule.resources.includes(resource)) return false;
  return rule.resourceNames === undefined || (name !== undefined && rule.resourceNames.includes(name));
}

/** Rules that hold for an account in a namespace, by Roles and ClusterRoles bound to it. */
export function rulesOf(objects: readonly Manifest[], account: string, namespace: string): readonly Rule[] {
  const bindings = [...ofKind(objects, 'RoleBinding'), ...ofKind(objects, 'ClusterRoleBinding')];
  return bindings
    .filter(({ kind, metadata }) => kind === 'ClusterRoleBinding' || metadata.namespace === namespace)
    .filter((binding) => at<{ name: string }[]>(binding, 'subjects')?.some(({ name }) => name === account))
    .flatMap((binding) => {
      const role = at<{ kind: string; name: string }>(binding, 'roleRef');
      const found = objects.find(
        ({ kind, metadata }) =>
          kind === role?.kind && metadata.name === role.name && metadata.namespace === binding.metadata.namespace,
      );
      return at<Rule[]>(found, 'rules') ?? [];
    });
}

export function may(objects: readonly Manifest[], account: string, right: Right): boolean {
  return rulesOf(objects, account, right.namespace).some((rule) => allows(rule, right));
}
