/** What can be said of a manifest by itself: is it of our language, and which providers may it name? */

import type { Config } from '#crds/config/schema.ts';
import { unknownKey } from '#crds/config/words.ts';
import type { ApiKeySpec } from '#crds/kinds/api-key.ts';
import type { GuardrailSpec } from '#crds/kinds/guardrail.ts';
import type { IntegrationSpec } from '#crds/kinds/integration.ts';
import { findKind, KINDS } from '#crds/kinds/kinds.ts';
import type { PromptSpec } from '#crds/kinds/prompt.ts';
import type { PromptGroupSpec } from '#crds/kinds/prompt-group.ts';
import type { PromptPartialSpec } from '#crds/kinds/prompt-partial.ts';
import type { PromptVersionSpec } from '#crds/kinds/prompt-version.ts';
import type { RateLimitPolicySpec } from '#crds/kinds/rate-limit-policy.ts';
import type { UsageLimitPolicySpec } from '#crds/kinds/usage-limit-policy.ts';
import type { WorkspaceSpec } from '#crds/kinds/workspace.ts';
import { API_GROUP, API_VERSION, metadataSchema } from '#crds/object.ts';
import { problemsOf } from '#crds/problems.ts';
import type { Manifest } from '../world.ts';
import { guardrailVerdict } from './guardrail.ts';
import { promptNameVerdict } from './prompt-name.ts';
import { type Catalog, providerVerdict } from './providers.ts';
import { type Sharing, sharingOf } from './sharing.ts';
import type { Verdict } from './status.ts';

interface Parsed extends Sharing {
  readonly manifest: Manifest;
}
export interface GatewayConfigObject extends Parsed {
  readonly kind: 'GatewayConfig';
  readonly spec: Config;
}
export interface IntegrationObject extends Parsed {
  readonly kind: 'Integration';
  readonly spec: IntegrationSpec;
}
export interface ApiKeyObject extends Parsed {
  readonly kind: 'ApiKey';
  readonly spec: ApiKeySpec;
}
export interface RateLimitPolicyObject extends Parsed {
  readonly kind: 'RateLimitPolicy';
  readonly spec: RateLimitPolicySpec;
}
export interface UsageLimitPolicyObject extends Parsed {
  readonly kind: 'UsageLimitPolicy';
  readonly spec: UsageLimitPolicySpec;
}
export interface WorkspaceObject extends Parsed {
  readonly kind: 'Workspace';
  readonly spec: WorkspaceSpec;
}
export interface GuardrailObject extends Parsed {
  readonly kind: 'Guardrail';
  readonly spec: GuardrailSpec;
}
export interface PromptObject extends Parsed {
  readonly kind: 'Prompt';
  readonly spec: PromptSpec;
}
export interface PromptPartialObject extends Parsed {
  readonly kind: 'PromptPartial';
  readonly spec: PromptPartialSpec;
}
export interface PromptVersionObject extends Parsed {
  readonly kind: 'PromptVersion';
  readonly spec: PromptVersionSpec;
}
export interface PromptGroupObject extends Parsed {
  readonly kind: 'PromptGroup';
  readonly spec: PromptGroupSpec;
}
export type AcceptedObject =
  | GatewayConfigObject
  | IntegrationObject
  | ApiKeyObject
  | RateLimitPolicyObject
  | UsageLimitPolicyObject
  | WorkspaceObject
  | GuardrailObject
  | PromptObject
  | PromptPartialObject
  | PromptVersionObject
  | PromptGroupObject;

export type Checked = { readonly object: AcceptedObject } | { readonly refused: Verdict };

export interface CheckContext {
  readonly catalog: Catalog;
  readonly organisationNamespace: string;
}

type SpecOutcome = { readonly kind: string; readonly spec: unknown } | { readonly refused: Verdict };

/** Problems of one object that are named at once; the rest is counted. */
const MAX_PROBLEMS = 5;
const ENVELOPE_KEYS = ['apiVersion', 'kind', 'metadata', 'spec', 'status'];
const parsedSpecs = new WeakMap<Manifest['raw'], SpecOutcome>();
const checkedManifests = new WeakMap<Manifest, CheckContext & { readonly checked: Checked }>();

/**
 * Refuses with the first class of problem found; the message names every field of that class. A manifest never changes, so
 * that what was said of it stands, and is the same object again.
 */
export function check(manifest: Manifest, context: CheckContext): Checked {
  const { catalog, organisationNamespace } = context;
  const known = checkedManifests.get(manifest);
  if (known?.catalog === catalog && known.organisationNamespace === organisationNamespace) return known.checked;
  const checked = checkAnew(manifest, context);
  checkedManifests.set(manifest, { catalog, organisationNamespace, checked });
  return checked;
}

function checkAnew(manifest: Manifest, context: CheckContext): Checked {
  const outcome = specOf(manifest);
  if ('refused' in outcome) return outcome;
  const sharing = sharingOf(manifest, outcome.spec, context.organisationNamespace);
  if ('refused' in sharing) return sharing;
  const object = { kind: outcome.kind, spec: outcome.spec, manifest, ...sharing } as AcceptedObject;
  const refused =
    providerVerdict(object, context.catalog) ??
    rightsVerdict(object, context.organisationNamespace) ??
    guardrailVerdict(object) ??
    promptNameVerdict(object);
  return refused === undefined ? { object } : { refused };
}

/** Parsing is the dear part, and two manifests may share a document. */
function specOf(manifest: Manifest): SpecOutcome {
  const known = parsedSpecs.get(manifest.raw);
  if (known !== undefined) return known;
  const outcome = parseSpec(manifest);
  parsedSpecs.set(manifest.raw, outcome);
  return outcome;
}

function parseSpec({ raw, kind }: Manifest): SpecOutcome {
  const row = findKind(String(raw.apiVersion), kind);
  if (row === undefined) return { refused: unknownKind(String(raw.apiVersion), kind) };
  const strangers = Object.keys(raw).filter((key) => !ENVELOPE_KEYS.includes(key));
  if (strangers.length > 0) return invalid(strangers.map((key) => unknownKey(key, ENVELOPE_KEYS)));
  const metadata = metadataSchema.safeParse(raw.metadata);
  if (!metadata.success) return invalid(texts(problemsOf(metadata.error, 'metadata')));
  const spec = row.specSchema.safeParse(raw.spec);
  return spec.success ? { kind, spec: spec.data } : invalid(texts(problemsOf(spec.error, 'spec')));
}

function texts(problems: readonly { path: string; message: string }[]): string[] {
  return problems.map(({ path, message }) => `${path}: ${message}`);
}

function invalid(problems: readonly string[]): { refused: Verdict } {
  const more = problems.length > MAX_PROBLEMS ? `; and ${problems.length - MAX_PROBLEMS} more` : '';
  return { refused: { reason: 'InvalidSpec', message: problems.slice(0, MAX_PROBLEMS).join('; ') + more } };
}

function unknownKind(apiVersion: string, kind: string): Verdict {
  const known = KINDS.map((row) => row.kind);
  if (!known.includes(kind)) {
    return { reason: 'UnknownKind', message: `kind: ${API_GROUP} has no kind "${kind}"; it has ${known.join(', ')}` };
  }
  const right = `${API_GROUP}/${API_VERSION}`;
  return { reason: 'UnsupportedVersion', message: `apiVersion: must be ${right} for a ${kind}, not ${apiVersion}` };
}

/** An organisation key is not limited to its workspace, so no workspace can make one for itself; nor can it lift its own limits. */
function rightsVerdict(object: AcceptedObject, organisationNamespace: string): Verdict | undefined {
  if (object.manifest.namespace === organisationNamespace) return undefined;
  const what = ofOrganisationOnly(object);
  if (what === undefined) return undefined;
  return { reason: 'NotPermitted', message: `${what} belong in the organisation namespace ${organisationNamespace}` };
}

function ofOrganisationOnly(object: AcceptedObject): string | undefined {
  if (object.kind === 'Workspace') return 'metadata.namespace: Workspaces';
  return object.kind === 'ApiKey' && object.spec.type === 'organisation-service'
    ? 'spec.type: organisation-service keys'
    : undefined;
}
