import type { Snapshot } from '#crds/snapshot/contract.ts';

/** A snapshot of nothing but its settings. */
export const NO_RECORDS: Omit<Snapshot, 'settings'> = {
  configs: [],
  integrations: [],
  credentials: [],
  keys: [],
  rate_limits: [],
  usage_limits: [],
  workspaces: [],
  guardrails: [],
  prompts: [],
  prompt_versions: [],
  refused: [],
};
