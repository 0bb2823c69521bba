/**
 * The metrics that requests write, and their labels. Names are those of `semantics.md` 13; where they have none,
 * OpenTelemetry's GenAI names: `gen_ai_client_operation_duration_seconds` is per attempt, what it would say per request is
 * `modelgateway_*` already.
 */
import { CounterFamily, HistogramFamily, type Labels, LabelValues, MoneyFamily } from './metric-families.ts';

const DURATION_BOUNDS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 20, 40, 80, 160, 320];
const TOKEN_PACE_BOUNDS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.15, 0.2, 0.3, 0.5, 1, 2.5];

const CHECK_BOUNDS = [0.00001, 0.0001, 0.001, 0.01, 0.1, 0.25, 0.5, 1, 2.5, 5, 15, 60];

/** The labels, each with the most values that it may have. */
export function makeLabels() {
  return {
    endpoint: new LabelValues(32),
    status: new LabelValues(256),
    statusClass: new LabelValues(16),
    provider: new LabelValues(128),
    code: new LabelValues(128),
    model: new LabelValues(200),
    operation: new LabelValues(16),
    tokenType: new LabelValues(8),
    stream: new LabelValues(3),
    limitKind: new LabelValues(8),
    cacheStatus: new LabelValues(8),
    check: new LabelValues(128),
    verdict: new LabelValues(4),
    feedbackSource: new LabelValues(3),
    feedbackValue: new LabelValues(24),
  };
}

/** Fresh metrics over `of`; the order of labels is the order of ids in `add` and `observe`. */
export function makeFamilies(of: LabelTable) {
  const { endpoint, status, provider, code, model, operation, stream } = of;
  const attemptLabels = {
    gen_ai_operation_name: operation,
    gen_ai_provider_name: provider,
    gen_ai_response_model: model,
    error_type: code,
  };
  const paceLabels = { gen_ai_provider_name: provider, gen_ai_response_model: model };
  const counter = (name: string, help: string, labels: Labels) =>
    new CounterFamily(`modelgateway_${name}`, help, labels);
  const histogram = (name: string, help: string, bounds: readonly number[], labels: Labels) =>
    new HistogramFamily(name, help, bounds, labels);
  return {
    requests: counter('requests_total', 'Requests answered, by the status told to the caller and our error code.', {
      endpoint,
      status,
      provider,
      code,
    }),
    duration: histogram(
      'modelgateway_request_duration_seconds',
      'From the first header of a request to its last byte.',
      DURATION_BOUNDS,
      { endpoint, status: of.statusClass, provider },
    ),
    firstByte: histogram(
      'modelgateway_first_byte_seconds',
      'From the first header of a request to the first body byte of its answer, where the answer is 2xx.',
      DURATION_BOUNDS,
      { endpoint, provider, stream },
    ),
    attempts: counter('attempts_total', 'Calls of upstreams, by the status or, without one, the error.', {
      provider,
      status,
    }),
    retries: counter('retries_total', 'Calls of upstreams that repeat one at the same target.', { provider }),
    tokens: counter(
      'tokens_total',
      'Tokens as providers count them; cached and reasoning ones are part of the others.',
      {
        provider,
        model,
        type: of.tokenType,
      },
    ),
    cost: new MoneyFamily('modelgateway_cost_usd_total', 'What requests cost, in US dollars.', { provider, model }),
    costUnknown: counter('cost_unknown_total', 'Requests that used a model without a known price.', {
      provider,
      model,
    }),
    cacheRequests: counter('cache_requests_total', 'Requests of which answers are kept, by what came of that.', {
      endpoint,
      status: of.cacheStatus,
    }),
    cacheSaved: new MoneyFamily(
      'modelgateway_cache_saved_usd_total',
      'What answers from the cache had cost when they were called for, in US dollars.',
      { provider, model },
    ),
    streamFailures: counter('stream_failures_total', 'Streams that ended without their end marker.', {
      provider,
      reason: code,
    }),
    rejections: counter(
      'ratelimit_rejections_total',
      'Requests refused by a limit, by the kind of its object and our error code.',
      {
        kind: of.limitKind,
        reason: code,
      },
    ),
    checks: counter('guardrail_checks_total', 'Checks of guardrails, by their verdict; error: they came to none.', {
      check: of.check,
      verdict: of.verdict,
    }),
    checkDuration: histogram(
      'modelgateway_guardrail_check_duration_seconds',
      'One run of a check of a guardrail.',
      CHECK_BOUNDS,
      { check: of.check },
    ),
    feedback: counter('feedback_total', 'Words of feedback, by who gave them and their value.', {
      source: of.feedbackSource,
      value: of.feedbackValue,
    }),
    attemptDuration: histogram(
      'gen_ai_client_operation_duration_seconds',
      'One call of an upstream, from its start to its last byte.',
      DURATION_BOUNDS,
      attemptLabels,
    ),
    tokenPace: histogram(
      'gen_ai_server_time_per_output_token_seconds',
      'Time per output token after the first, of finished streams.',
      TOKEN_PACE_BOUNDS,
      paceLabels,
    ),
  };
}

export type LabelTable = ReturnType<typeof makeLabels>;
export type Families = ReturnType<typeof makeFamilies>;
