import type { ResourceRow } from '../resource-row.ts';
import { API_KEYS } from './api-keys.ts';
import { COLLECTIONS } from './prompts/collections.ts';
import { LABELS } from './prompts/labels.ts';
import { PROMPT_PARTIALS } from './prompts/prompt-partials.ts';
import { PROMPTS } from './prompts/prompts.ts';
import { RATE_LIMIT_POLICIES } from './rate-limit-policies.ts';
import { USAGE_LIMIT_POLICIES } from './usage-limit-policies.ts';

/** Every resource of the control plane. A new one is a row, whose paths lie below those that gateways hand on. */
export const RESOURCES: readonly ResourceRow[] = [
  RATE_LIMIT_POLICIES,
  USAGE_LIMIT_POLICIES,
  API_KEYS,
  PROMPTS,
  PROMPT_PARTIALS,
  LABELS,
  COLLECTIONS,
];
