/** How much a model takes and gives. */
import { rowOf } from '../providers/model-page.ts';
import { PROVIDERS } from '../providers/registry.ts';

/** The most tokens of one answer of a model as it is sent upstream, where the request names no maximum; undefined: not known. */
export function maxOutputTokens(provider: string, model: string): number | undefined {
  const known = PROVIDERS.get(provider);
  if (known?.maxOutputTokens !== undefined) return known.maxOutputTokens(model);
  return known?.models === undefined ? undefined : rowOf(known.models, model)?.maxOutputTokens;
}

/** Tokens of prompt and answer together; undefined: not known. */
export function contextTokens(provider: string, model: string): number | undefined {
  const page = PROVIDERS.get(provider)?.models;
  return page === undefined ? undefined : rowOf(page, model)?.contextTokens;
}
