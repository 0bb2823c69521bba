/** What the operator may know of the gateway: names, so that a bad manifest is refused before anything is published. */
import type { z } from '#crds/config/words.ts';
import { CHECKS } from './checks/checks.ts';
import { PROVIDERS } from './providers/registry.ts';
import { SIMULATOR } from './providers/simulator/provider.ts';

export interface CatalogProvider {
  readonly name: string;
  /** Whether a target needs a credential (`api_key`, a virtual key, an Integration). */
  readonly needsCredential: boolean;
  /** Whether it can be called without `custom_host`. */
  readonly hasBaseUrl: boolean;
  readonly operations: readonly string[];
}

export interface CatalogCheck {
  /** The canonical spelling, e.g. `default.regexMatch`; `<vendor>.classify` stands for any vendor. */
  readonly id: string;
  readonly does: string;
  readonly sides: 'request' | 'response' | 'both';
  readonly parameters: z.ZodType;
  readonly example: Readonly<Record<string, unknown>>;
}

export const CATALOG: {
  readonly providers: ReadonlyMap<string, CatalogProvider>;
  readonly checks: readonly CatalogCheck[];
} = {
  checks: CHECKS,
  providers: new Map(
    [...PROVIDERS.values()].map(({ name, needsCredential, baseUrl, operations }) => [
      name,
      {
        name,
        needsCredential,
        hasBaseUrl: baseUrl !== undefined || name === SIMULATOR,
        operations: Object.keys(operations),
      },
    ]),
  ),
};

export { checkProblems, treeCheckProblems } from './guardrails/check-problems.ts';
