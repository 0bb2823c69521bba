/** Inheritance down the tree: `override_params` merge, every other setting is replaced or kept (`semantics.md` 3). */
import type { Config } from '#crds/config/schema.ts';
import { completeConcurrency } from '#crds/limits/concurrency.ts';
import { cacheRuleOf } from '../cache/cache-rule.ts';
import type { BreakerRule, RetryRule, Settings } from './plan.ts';

const DEFAULT_RETRY_CODES: ReadonlySet<number> = new Set([429, 500, 502, 503, 504, 529]);
const DEFAULT_STREAM_IDLE_TIMEOUT_MS = 60_000;

/** What the root of a config inherits. */
export const DEFAULT_SETTINGS: Settings = {
  overrideParams: undefined,
  retry: undefined,
  breaker: undefined,
  requestTimeoutMs: undefined,
  forwardHeaders: [],
  strict: true,
  streamDelivery: 'live',
  streamIdleTimeoutMs: DEFAULT_STREAM_IDLE_TIMEOUT_MS,
  customHost: undefined,
  concurrency: undefined,
  cache: undefined,
};

export function inheritSettings(parent: Settings, config: Config): Settings {
  const { strategy } = config;
  const breaker = config.cb_config ?? strategy?.cb_config;
  return {
    overrideParams: mergeOverrides(parent.overrideParams, config.override_params),
    retry: config.retry === undefined ? parent.retry : retryRule(config.retry),
    breaker: breaker === undefined ? parent.breaker : breakerRule(breaker),
    requestTimeoutMs: config.request_timeout ?? parent.requestTimeoutMs,
    forwardHeaders: config.forward_headers?.map((name) => name.toLowerCase()) ?? parent.forwardHeaders,
    strict: config.strict_vendor_compliance ?? parent.strict,
    streamDelivery: strategy?.stream_delivery ?? parent.streamDelivery,
    streamIdleTimeoutMs: strategy?.stream_idle_timeout ?? parent.streamIdleTimeoutMs,
    customHost: config.custom_host ?? parent.customHost,
    concurrency: strategy?.concurrency && completeConcurrency(strategy.concurrency),
    cache: config.cache === undefined ? parent.cache : cacheRuleOf(config.cache),
  };
}

/** Whether an answer comes as a stream is the caller's to say: another form than the one asked for helps nobody. */
function mergeOverrides(
  parent: Settings['overrideParams'],
  own: Config['override_params'],
): Settings['overrideParams'] {
  if (own === undefined) return parent;
  const { stream: _, ...merged } = { ...parent, ...own };
  return merged;
}

function retryRule(retry: NonNullable<Config['retry']>): RetryRule {
  return {
    attempts: retry.attempts,
    statusCodes: retry.on_status_codes === undefined ? DEFAULT_RETRY_CODES : new Set(retry.on_status_codes),
    useRetryAfter: retry.use_retry_after_headers ?? retry.use_retry_after_header ?? false,
  };
}

function breakerRule(breaker: NonNullable<Config['cb_config']>): BreakerRule {
  return {
    failureThreshold: breaker.failure_threshold,
    cooldownMs: breaker.cooldown_interval,
    statusCodes: breaker.failure_status_codes === undefined ? undefined : new Set(breaker.failure_status_codes),
  };
}
