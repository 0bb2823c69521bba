/** The config object: of GatewayConfig, of `x-gateway-config`, of every target. One schema for all three. */
import { addressingFields, CREDENTIAL_FIELDS, type CredentialField, credentialFields } from './addressing.ts';
import { breakerSchema } from './breaker.ts';
import { cacheSchema } from './cache.ts';
import { inputGuardrails, outputGuardrails } from './guardrails.ts';
import { afterRequestHooks, beforeRequestHooks } from './hooks.ts';
import { retrySchema } from './retry.ts';
import { problemsOfTree } from './rules.ts';
import { strategySchema } from './strategy.ts';
import { freeObject, milliseconds, pattern, statusCodes, text } from './values.ts';
import { z } from './words.ts';

export { CREDENTIAL_FIELDS, type CredentialField };

/** Targets at one level. */
export const MAX_TARGETS = 100;
/** Levels of a config tree; the root is 1. */
export const MAX_LEVELS = 8;

const headerName = pattern(256, /^[A-Za-z0-9!#$%&'*+.^_`|~-]+$/, 'the name of a header', 'Name of a header.');

const fields = {
  strategy: strategySchema.optional(),
  name: text(128, 'Name among its siblings, for `then` and `default` of a conditional strategy.').optional(),
  strict_vendor_compliance: z
    .boolean()
    .meta({ description: 'false: thinking output of models may be shown, and hook results.', absent: true })
    .optional(),
  provider: pattern(
    254,
    /^@?[A-Za-z0-9][A-Za-z0-9._-]*$/,
    'the name of a provider, or "@" and the name of an Integration',
    'Name of a provider, or "@" and the name of an Integration.',
  ).optional(),
  virtual_key: text(253, 'Name of an Integration; older spelling of provider: "@name".').optional(),
  ...credentialFields,
  ...addressingFields,
  override_params: freeObject(
    'Fields that replace those of the request body: model, temperature, max_tokens, ...',
  ).optional(),
  prompt_id: text(253, 'Name of a stored prompt.').optional(),
  request_timeout: milliseconds(
    'Milliseconds until the first byte of an answer must be there, per attempt.',
  ).optional(),
  cache: cacheSchema.optional(),
  retry: retrySchema.optional(),
  cb_config: breakerSchema.optional(),
  weight: z
    .number()
    .min(0)
    .max(1_000_000)
    .meta({ description: 'Share among its siblings in loadbalance mode; 0: never.', absent: 1 })
    .optional(),
  on_status_codes: statusCodes(
    'Statuses that move a fallback on to the next target; the same as in strategy.',
  ).optional(),
  passthrough: z
    .boolean()
    .describe('true: the request says who answers. Not together with targets, strategy, override_params or guardrails.')
    .optional(),
  forward_headers: z
    .array(headerName)
    .max(MAX_TARGETS)
    .describe('Request headers that go on to the provider.')
    .optional(),
  before_request_hooks: beforeRequestHooks.optional(),
  after_request_hooks: afterRequestHooks.optional(),
  input_guardrails: inputGuardrails.optional(),
  output_guardrails: outputGuardrails.optional(),
};

type Fields = z.infer<z.ZodObject<typeof fields, z.core.$strict>>;
export interface Config extends Fields {
  targets?: Config[] | undefined;
}

/** A schema per level instead of one that calls itself: the depth is bounded before anything is walked. */
function level(number: number): z.ZodType<Config> {
  const target = number < MAX_LEVELS ? level(number + 1) : z.never();
  const targets =
    number < MAX_LEVELS
      ? z.array(target).min(1).max(MAX_TARGETS).describe('What the strategy chooses from: config objects again.')
      : z.never({ error: `must not be here: a config has at most ${MAX_LEVELS} levels` });
  return z.strictObject({ ...fields, targets: targets.optional() });
}

/** Structure and bounds alone: holds also for a config whose credentials were taken out. */
export const configShape: z.ZodType<Config> = level(1);

/** The config object as users write it: structure, bounds and every rule. All problems are reported at once. */
export const configSchema: z.ZodType<Config> = z.unknown().transform((value, context) => {
  const parsed = configShape.safeParse(value);
  const problems = parsed.success ? [] : parsed.error.issues;
  for (const issue of problems) context.issues.push({ ...issue, input: value } as z.core.$ZodRawIssue);
  for (const { path, message } of problemsOfTree(value, MAX_LEVELS)) {
    context.issues.push({ code: 'custom', path, message, input: value });
  }
  return parsed.success ? parsed.data : z.NEVER;
});
