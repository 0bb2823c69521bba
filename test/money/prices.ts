/** Price lists as tests want them. */
import type { PricingAdjustments, PricingConfig } from '#crds/limits/pricing.ts';
import type { IntegrationRecord } from '#crds/snapshot/contract.ts';
import { integrationPrices, listPrices } from '#gateway/money/price-book.ts';
import type { PriceList } from '#gateway/money/price-list.ts';
import type { Usage } from '#gateway/providers/provider.ts';
import { PROVIDERS } from '#gateway/providers/registry.ts';

type PayAsYouGo = PricingConfig['pay_as_you_go'];
type Multiplier = PricingAdjustments['multiplier'];

export function providerOf(name: string) {
  const provider = PROVIDERS.get(name);
  if (provider === undefined) throw new Error(`there is no provider ${name}`);
  return provider;
}

/** Of a provider's price page. */
export function listed(provider: string, model: string): PriceList | undefined {
  return listPrices(providerOf(provider))(model);
}

export function integration(
  models: readonly { slug: string; pricing_config?: PricingConfig }[],
  multiplier?: Multiplier,
): IntegrationRecord {
  return {
    namespace: 'team-a',
    name: 'main',
    shared_with: [],
    provider: 'openai',
    configurations: {},
    credential_fields: [],
    allow_all_models: true,
    models: models.map((model) => ({ enabled: true, ...model })),
    ...(multiplier === undefined ? {} : { pricing_adjustments: { multiplier } }),
  };
}

export function config(payAsYouGo: PayAsYouGo, version?: string): PricingConfig {
  return {
    type: 'static',
    currency: 'USD',
    pay_as_you_go: payAsYouGo,
    ...(version === undefined ? {} : { version }),
  };
}

/** Prices of a model whose Integration says so. */
export function own(payAsYouGo: PayAsYouGo, multiplier?: Multiplier): PriceList {
  const record = integration([{ slug: 'm', pricing_config: config(payAsYouGo) }], multiplier);
  return known(integrationPrices(providerOf('openai'), record)('m'));
}

export function known(list: PriceList | undefined): PriceList {
  if (list === undefined) throw new Error('there is no price');
  return list;
}

/** `details` are parts of the two sums. */
export function usage(
  prompt: number,
  completion: number,
  promptDetails?: Usage['prompt_tokens_details'],
  completionDetails?: Usage['completion_tokens_details'],
): Usage {
  return {
    prompt_tokens: prompt,
    completion_tokens: completion,
    total_tokens: prompt + completion,
    ...(promptDetails === undefined ? {} : { prompt_tokens_details: promptDetails }),
    ...(completionDetails === undefined ? {} : { completion_tokens_details: completionDetails }),
  };
}
