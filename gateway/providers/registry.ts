/** Every provider that the gateway knows, by the name that configs use. */
import { anthropic } from './anthropic/provider.ts';
import { OPENAI_KIN } from './openai/kin.ts';
import type { Provider } from './provider.ts';
import { simulator } from './simulator/provider.ts';

export const PROVIDERS: ReadonlyMap<string, Provider> = new Map(
  [anthropic, ...OPENAI_KIN, simulator].map((provider) => [provider.name, provider]),
);

/** The provider of that name, or undefined. */
export function findProvider(name: string): Provider | undefined {
  return PROVIDERS.get(name);
}
