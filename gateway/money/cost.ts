/** What a usage costs. */
import type { CompletionDetails, PromptDetails, Usage } from '../providers/provider.ts';
import { halfUp, PER_BILL_UNIT } from './exact.ts';
import { COUNTED, type PriceList, type PriceTier, type Rates, WORST_COUNTED } from './price-list.ts';

const MOST = BigInt(Number.MAX_SAFE_INTEGER);
const NO_DETAILS: PromptDetails & CompletionDetails = {};

/** How much there is of what is counted, in the order of `COUNTED`. Filled anew for each reckoning, which is one step. */
const counts = new Float64Array(COUNTED.length);
const worstCounts = new Float64Array(WORST_COUNTED.length);

/**
 * Whole units of 1e-12 US dollars, rounded half up once. The tokens of a prompt decide on its tier; parts that the provider
 * names are charged as it says, the rest of the sum as plain text. `images` are those that are priced by the piece. More than
 * 2^53 (9,007 US dollars) is billed as that.
 */
export function costOf(prices: PriceList, usage: Usage, images = 0): number {
  counts[0] = 1;
  counts[1] = images;
  countPrompt(usage);
  countCompletion(usage);
  const { rates } = tierFor(prices, usage.prompt_tokens);
  return inNumbers(counts, rates) ?? billed(halfUp(exactly(counts, rates), PER_BILL_UNIT));
}

/** The most that so many tokens can cost, whatever kinds they turn out to be of; rounded up. */
export function worstCost(prices: PriceList, promptTokens: number, outputTokens: number): number {
  worstCounts[0] = 1;
  worstCounts[1] = promptTokens;
  worstCounts[2] = outputTokens;
  const { worst } = tierFor(prices, promptTokens);
  return inNumbers(worstCounts, worst) ?? billed((exactly(worstCounts, worst) + PER_BILL_UNIT - 1n) / PER_BILL_UNIT);
}

function tierFor({ tiers }: PriceList, promptTokens: number): PriceTier {
  let found = tiers[0];
  for (let index = 1; index < tiers.length; index += 1) {
    const tier = tiers[index];
    if (tier === undefined || promptTokens <= tier.aboveTokens) break;
    found = tier;
  }
  return found;
}

function countPrompt({ prompt_tokens, prompt_tokens_details: parts = NO_DETAILS }: Usage): void {
  const { cached_tokens: read = 0, cache_creation_tokens: written = 0, cache_creation_1h_tokens: kept = 0 } = parts;
  const { cached_audio_tokens: readAudio = 0, cached_image_tokens: readImages = 0 } = parts;
  const audio = rest((parts.audio_tokens ?? 0) - readAudio);
  const images = rest((parts.image_tokens ?? 0) - readImages);
  counts[2] = rest(prompt_tokens - read - written - audio - images);
  counts[3] = images;
  counts[4] = audio;
  counts[5] = rest(read - readAudio - readImages);
  counts[6] = readImages;
  counts[7] = readAudio;
  counts[8] = rest(written - kept);
  counts[9] = kept;
}

function countCompletion({ completion_tokens, completion_tokens_details: parts = NO_DETAILS }: Usage): void {
  const { reasoning_tokens: reasoning = 0, audio_tokens: audio = 0, image_tokens: images = 0 } = parts;
  const { accepted_prediction_tokens: accepted = 0, rejected_prediction_tokens: rejected = 0 } = parts;
  counts[10] = rest(completion_tokens - reasoning - audio - images - accepted - rejected);
  counts[11] = images;
  counts[12] = audio;
  counts[13] = reasoning;
  counts[14] = accepted;
  counts[15] = rejected;
}

/** Parts that say more than their sum leave nothing of it. */
function rest(tokens: number): number {
  return tokens > 0 ? tokens : 0;
}

/** Products and sums of whole numbers are exact as long as they are below 2^53; undefined where they might not be. */
function inNumbers(of: Float64Array, { whole }: Rates): number | undefined {
  if (whole === undefined) return undefined;
  let sum = 0;
  for (let index = 0; index < of.length; index += 1) sum += (of[index] ?? 0) * (whole[index] ?? 0);
  return sum <= Number.MAX_SAFE_INTEGER ? sum : undefined;
}

/** In units of 1e-36 US dollars. */
function exactly(of: Float64Array, { exact }: Rates): bigint {
  let sum = 0n;
  for (const [index, rate] of exact.entries()) sum += BigInt(of[index] ?? 0) * rate;
  return sum;
}

function billed(amount: bigint): number {
  return amount > MOST ? Number.MAX_SAFE_INTEGER : Number(amount);
}
