import { apiKeyKind } from './api-key.ts';
import { gatewayConfigKind } from './gateway-config.ts';
import { guardrailKind } from './guardrail.ts';
import { integrationKind } from './integration.ts';
import type { Kind } from './kind.ts';
import { promptKind } from './prompt.ts';
import { promptGroupKind } from './prompt-group.ts';
import { promptPartialKind } from './prompt-partial.ts';
import { promptVersionKind } from './prompt-version.ts';
import { rateLimitPolicyKind } from './rate-limit-policy.ts';
import { usageLimitPolicyKind } from './usage-limit-policy.ts';
import { workspaceKind } from './workspace.ts';

/** Every kind of this API. A new kind is one schema file and one row. */
export const KINDS: readonly Kind[] = [
  gatewayConfigKind,
  integrationKind,
  apiKeyKind,
  rateLimitPolicyKind,
  usageLimitPolicyKind,
  workspaceKind,
  guardrailKind,
  promptKind,
  promptPartialKind,
  promptVersionKind,
  promptGroupKind,
];

/** The row of a manifest's kind; undefined: not one of ours, or not this version. */
export function findKind(apiVersion: string, kind: string): Kind | undefined {
  return KINDS.find((row) => row.kind === kind && `${row.group}/${row.version}` === apiVersion);
}
