/** Prices and what they are multiplied with, as an Integration may set them. US dollars. */
import { text } from '../config/values.ts';
import { z } from '../config/words.ts';

const MAX_TIERS = 8;
const DECIMAL = /^\d{1,9}(\.\d{1,18})?$/;

/**
 * Kinds of units that have a price of their own. `request_text_token` and its like are finer than the unit that they are
 * named after: where they are not given, that one holds.
 */
export const PRICE_UNITS = [
  'request_token',
  'request_text_token',
  'request_image_token',
  'request_audio_token',
  'response_token',
  'response_text_token',
  'response_image_token',
  'response_audio_token',
  'cache_read_input_token',
  'cache_read_text_input_token',
  'cache_read_image_input_token',
  'cache_read_audio_input_token',
  'cache_write_input_token',
  'cache_write_text_input_token',
  'cache_write_image_input_token',
  'reasoning_token',
  'prediction_accepted_token',
  'prediction_rejected_token',
  'image',
  'request',
] as const;
export type PriceUnit = (typeof PRICE_UNITS)[number];

/** A decimal, exact where it is written as text. */
const decimal = (description: string) =>
  z
    .union([
      z.number().min(0).max(1e9),
      z.string().max(32).regex(DECIMAL, { error: 'must be a decimal such as "0.00000015"' }),
    ])
    .describe(description);

const price = z.strictObject({ price: decimal('US dollars for one.') }).describe('Price of one.');

const unitPrices = Object.fromEntries(PRICE_UNITS.map((unit) => [unit, price.optional()])) as Record<
  PriceUnit,
  z.ZodOptional<typeof price>
>;

/** Prices from a number of prompt tokens on; what is not given here is as it is without a tier. */
const tier = z.strictObject({
  above_tokens: z.int().min(1).max(1e9).describe('Prompts of more tokens than this pay the prices of the tier.'),
  ...unitPrices,
});

export const pricingConfig = z
  .strictObject({
    type: z.enum(['static']).describe('How prices are found.').default('static'),
    pay_as_you_go: z
      .strictObject({
        ...unitPrices,
        tiers: z.array(tier).max(MAX_TIERS).describe('Prices of long prompts.').optional(),
      })
      .describe(
        'Prices in US dollars. Cached tokens without a price pay the one of request_token, reasoning, audio and predicted ones that of request_token or response_token; what else has none costs nothing.',
      ),
    currency: z.enum(['USD']).describe('Always US dollars.').default('USD'),
    version: text(64, 'What the ledger calls these prices by.').optional(),
  })
  .describe(
    'Prices of this model; they replace those of the table. What a request cost, and by which prices, stands in its line of the log: cost_usd, price_version, or cost_unknown.',
  );

const multiplier = decimal('What the price is multiplied with.').optional();

const unitMultipliers = Object.fromEntries(
  PRICE_UNITS.filter((unit) => unit !== 'image').map((unit) => [unit, multiplier]),
) as Record<Exclude<PriceUnit, 'image'>, typeof multiplier>;

export const pricingAdjustments = z
  .strictObject({
    multiplier: z
      .strictObject({
        default: multiplier,
        ...unitMultipliers,
        image: z.strictObject({ default: multiplier }).describe('Of images that are priced by the piece.').optional(),
      })
      .describe('By kind of unit; `default` for those that are not named.'),
  })
  .describe('Multiplies every price of this Integration, of the table and of pricing_config alike.');

export type PricingConfig = z.infer<typeof pricingConfig>;
export type PricingAdjustments = z.infer<typeof pricingAdjustments>;
