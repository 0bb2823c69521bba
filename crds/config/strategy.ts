import { targetConcurrency } from '../limits/concurrency.ts';
import { breakerSchema } from './breaker.ts';
import { freeObject, MAX_ITEMS, milliseconds, pattern, statusCodes, text } from './values.ts';
import { z } from './words.ts';

const conditionSchema = z.strictObject({
  query: freeObject(
    'Keys metadata.<key>, params.<key>, url.pathname; operators $eq $ne $gt $gte $lt $lte $in $nin $regex; logic $and $or.',
  ),
  then: text(128, 'The `name` of the target to take.'),
});

const stickySchema = z
  .strictObject({
    enabled: z.boolean().meta({ description: 'Switches it on.', absent: true }).optional(),
    hash_fields: z
      .array(
        pattern(
          256,
          /^(metadata|params|headers)\..+$/,
          'metadata.<key>, params.<key> or headers.<name>',
          'metadata.<key>, params.<key> or headers.<name>.',
        ),
      )
      .min(1)
      .max(16)
      .describe('What makes two requests belong together.'),
    ttl: z
      .int()
      .min(1)
      .max(7_776_000)
      .describe('Seconds for which they stay on one target. Absent: for good.')
      .optional(),
  })
  .describe('Keeps requests that belong together on one target, on every replica the same. Only in loadbalance mode.');

/** Semantics 4; `sticky`, `cb_config`, `concurrency`, `stream_delivery` and `stream_idle_timeout` are additions of this gateway. */
export const strategySchema = z
  .strictObject({
    mode: z
      .enum(['single', 'loadbalance', 'fallback', 'conditional'])
      .describe('single: the first target; loadbalance: by weight; fallback: in order; conditional: by query.'),
    conditions: z
      .array(conditionSchema)
      .min(1)
      .max(MAX_ITEMS)
      .describe('Conditional mode: the first whose query holds decides.')
      .optional(),
    default: text(128, 'Conditional mode: the `name` of the target to take where no condition holds.').optional(),
    on_status_codes: statusCodes(
      'Fallback mode: only these statuses move on to the next target, instead of 401, 403, 404, 408, 409, 425, 429, 500 and above.',
    ).optional(),
    sticky: stickySchema.optional(),
    cb_config: breakerSchema.optional(),
    concurrency: targetConcurrency.optional(),
    stream_delivery: z
      .enum(['live', 'whole'])
      .meta({
        description: 'whole: a stream is held until the provider finished it, so that a fault in its middle moves on.',
        absent: 'live',
      })
      .optional(),
    stream_idle_timeout: milliseconds(
      'Milliseconds without a byte after which a running stream ends.',
      60000,
    ).optional(),
  })
  .describe('How a target is chosen.');
