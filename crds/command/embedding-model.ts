/** Who says what texts mean, as a flag names it. */
import type { FlagOutcome } from './flag-kinds.ts';

/** An Integration of the organisation namespace, and a model of it. */
export interface EmbeddingModel {
  readonly slug: string;
  readonly model: string;
}

const FORM = /^@([a-z0-9](?:[a-z0-9.-]{0,251}[a-z0-9])?)\/([^\s]{1,253})$/;

export function embeddingModel(given: string): FlagOutcome<EmbeddingModel> {
  const [, slug, model] = FORM.exec(given) ?? [];
  if (slug !== undefined && model !== undefined) return { value: { slug, model } };
  return { problem: `must be @slug/model such as @openai/text-embedding-3-small, not "${given}"` };
}
