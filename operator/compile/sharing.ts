/** Who else may use an object, and whether it is the default of its workspace: the annotations of ours. */
import { nearest } from '#crds/config/spelling.ts';
import { ANNOTATIONS, API_GROUP, namespaceName } from '#crds/object.ts';
import type { Manifest } from '../world.ts';
import type { Verdict } from './status.ts';

export interface Sharing {
  readonly sharedWith: '*' | string[];
  readonly isDefault: boolean;
  readonly warnings: readonly Verdict[];
}

type Shared = Sharing['sharedWith'];

/** Of a group of a budget, by its id. */
const GROUP_RESET = new RegExp(`^${RegExp.escape(ANNOTATIONS.resetUsage)}\\.[0-9a-f]{16}$`);
const SHAREABLE: ReadonlySet<string> = new Set([
  'GatewayConfig',
  'Integration',
  'Guardrail',
  'Prompt',
  'PromptPartial',
]);

/** `spec` is the parsed spec: kinds that have `allow_all_workspaces` and `allowed_workspaces` may use those instead. */
export function sharingOf(
  manifest: Manifest,
  spec: unknown,
  organisationNamespace: string,
): Sharing | { refused: Verdict } {
  const annotations = annotationsOf(manifest);
  const isDefault = readDefault(manifest.kind, annotations[ANNOTATIONS.isDefault]);
  if (typeof isDefault !== 'boolean') return { refused: isDefault };
  const annotated = readWorkspaces(annotations[ANNOTATIONS.allowedWorkspaces]);
  if ('reason' in Object(annotated)) return { refused: annotated as Verdict };
  const sharedWith = union(annotated as Shared, workspacesOf(spec));
  if (sharedWith !== '*' && sharedWith.length === 0) return { sharedWith, isDefault, warnings: strangers(annotations) };
  const refused = shareVerdict(
    manifest,
    organisationNamespace,
    annotations[ANNOTATIONS.allowedWorkspaces] !== undefined,
  );
  return refused === undefined ? { sharedWith, isDefault, warnings: strangers(annotations) } : { refused };
}

function annotationsOf(manifest: Manifest): Readonly<Record<string, string>> {
  const { annotations } = (manifest.raw.metadata ?? {}) as { annotations?: Record<string, string> };
  return annotations ?? {};
}

function readDefault(kind: string, text: string | undefined): boolean | Verdict {
  const name = `metadata.annotations["${ANNOTATIONS.isDefault}"]`;
  if (text === undefined || text === 'false') return false;
  if (text !== 'true') return { reason: 'InvalidAnnotation', message: `${name}: must be "true" or "false"` };
  if (kind === 'GatewayConfig') return true;
  return { reason: 'InvalidAnnotation', message: `${name}: only a GatewayConfig can be a default` };
}

function readWorkspaces(text: string | undefined): Shared | Verdict {
  if (text === undefined) return [];
  if (text.trim() === '*') return '*';
  const names = text.split(',').map((name) => name.trim());
  const wrong = names.find((name) => name === '' || !namespaceName.safeParse(name).success);
  if (wrong === undefined) return names;
  const path = `metadata.annotations["${ANNOTATIONS.allowedWorkspaces}"]`;
  return {
    reason: 'InvalidAnnotation',
    message: `${path}: must be "*" or namespaces with commas between them; "${wrong}" is none`,
  };
}

function workspacesOf(spec: unknown): Shared {
  const { allow_all_workspaces: all, allowed_workspaces: some } = spec as {
    allow_all_workspaces?: boolean;
    allowed_workspaces?: string[];
  };
  return all === true ? '*' : (some ?? []);
}

function union(a: Shared, b: Shared): Shared {
  return a === '*' || b === '*' ? '*' : [...new Set([...a, ...b])].sort();
}

function shareVerdict(manifest: Manifest, organisationNamespace: string, byAnnotation: boolean): Verdict | undefined {
  const path = byAnnotation ? `metadata.annotations["${ANNOTATIONS.allowedWorkspaces}"]` : 'spec.allowed_workspaces';
  if (!SHAREABLE.has(manifest.kind)) {
    return { reason: 'NotShareable', message: `${path}: objects of kind ${manifest.kind} cannot be shared` };
  }
  if (manifest.namespace === organisationNamespace) return undefined;
  const message = `${path}: only objects of the organisation namespace ${organisationNamespace} can be shared`;
  return { reason: 'NotShareable', message };
}

function strangers(annotations: Readonly<Record<string, string>>): readonly Verdict[] {
  const known: readonly string[] = Object.values(ANNOTATIONS);
  return Object.keys(annotations)
    .filter((name) => name.startsWith(`${API_GROUP}/`) && !known.includes(name) && !GROUP_RESET.test(name))
    .map((name) => {
      const meant = nearest(name, known);
      const hint = meant === undefined ? '' : `: did you mean "${meant}"?`;
      return { reason: 'UnknownAnnotation', message: `metadata.annotations["${name}"]: has no effect${hint}` };
    });
}
