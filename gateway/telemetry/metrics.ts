/**
 * What Prometheus is told. Labels hold only words of ours and of the providers: nothing that a caller writes can add a
 * series, and every label is bounded besides.
 */
import { collectDefaultMetrics, Registry } from 'prom-client';
import type { CacheUse } from '../cache/cache-use.ts';
import type { CheckResult } from '../checks/run-checks.ts';
import type { Attempt, Exchange } from '../exchange.ts';
import type { Bill } from '../money/bill.ts';
import type { Usage } from '../providers/provider.ts';
import { type LabelValues, labelValue, preamble } from './metric-families.ts';
import { type Families, type LabelTable, makeFamilies, makeLabels } from './metric-table.ts';
import { operationName } from './spans.ts';

export interface BreakerReading {
  /** The target's breaker key: config namespace/name and path. */
  readonly key: string;
  readonly state: 'closed' | 'half_open' | 'open';
}

/** What is read only when metrics are asked for. */
export interface MetricSources {
  breakers(): Iterable<BreakerReading>;
  /** The snapshot in use; undefined before the first. `loadedAtMs` is Unix milliseconds. */
  config(): { readonly generation: number; readonly loadedAtMs: number } | undefined;
  /** Snapshots that this gateway refused since it started. */
  refused(): number;
  /** Log lines lost to a reader that does not keep up. */
  droppedLogLines(): number;
}

export interface Metrics {
  /** A request came in. */
  begin(): void;
  /** A request is over; exactly once per `begin`. */
  settle(exchange: Exchange): void;
  /** A check of a guardrail has run. */
  check(result: CheckResult): void;
  /** A word of feedback; values are -10 to 10. */
  feedback(source: string, value: number): void;
  /** Everything, in the Prometheus text format; `contentType` is its media type. */
  text(): Promise<string>;
  readonly contentType: string;
  /** For metrics of other parts, registered as prom-client does. */
  readonly registry: Registry;
}

const MAX_BREAKERS = 1000;
const MS_PER_SECOND = 1000;
const CLIENT_CLOSED = 499;
const BREAKER_VALUES = { closed: 0, half_open: 1, open: 2 } as const;
const NO_VALUE = 'none';

/** Ids of statuses 100-599 by number, so that no status is made a string per request. */
class StatusIds {
  readonly #ids = new Int32Array(600).fill(-1);
  readonly #values: LabelValues;
  readonly #spell: (status: number) => string;

  constructor(values: LabelValues, spell: (status: number) => string) {
    this.#values = values;
    this.#spell = spell;
  }

  idOf(status: number): number {
    const known = this.#ids[status];
    if (known !== undefined && known >= 0) return known;
    const isStatus = Number.isInteger(status) && status >= 100 && status < this.#ids.length;
    const id = this.#values.idOf(isStatus ? this.#spell(status) : NO_VALUE);
    if (isStatus) this.#ids[status] = id;
    return id;
  }
}

class Recorder {
  inFlight = 0;
  readonly #of: LabelTable;
  readonly #families: Families;
  readonly #statuses: StatusIds;
  readonly #classes: StatusIds;

  constructor(labels: LabelTable, families: Families) {
    this.#of = labels;
    this.#families = families;
    this.#statuses = new StatusIds(labels.status, String);
    this.#classes = new StatusIds(labels.statusClass, (status) => `${Math.floor(status / 100)}xx`);
  }

  settle(exchange: Exchange, now: number): void {
    this.inFlight--;
    const of = this.#of;
    const { attempts, status, errorCode } = exchange;
    const endpoint = of.endpoint.idOf(exchange.endpoint?.type ?? 'unknown');
    const provider = of.provider.idOf(attempts.at(-1)?.provider ?? NO_VALUE);
    const model = of.model.idOf(exchange.answeredModel ?? 'unknown');
    const seconds = (now - exchange.startedAt) / MS_PER_SECOND;
    const code = of.code.idOf(errorCode ?? NO_VALUE);
    this.#families.requests.add(1, endpoint, this.#statuses.idOf(status), provider, code);
    this.#families.duration.observe(seconds, endpoint, this.#classes.idOf(status), provider);
    this.#settleAttempts(exchange, model, now);
    if (exchange.refusal !== undefined)
      this.#families.rejections.add(1, of.limitKind.idOf(exchange.refusal.kind), code);
    if (exchange.usage !== undefined) this.#countTokens(exchange.usage, provider, model);
    if (exchange.cache !== undefined) this.#countCache(exchange.cache, endpoint, model);
    if (exchange.bill !== undefined && exchange.cache?.recalled === undefined)
      this.#countCost(exchange.bill, provider, model);
    if (exchange.firstByteAt !== undefined && status < 300) this.#timeFirstByte(exchange, endpoint, provider);
    if (exchange.stream) this.#settleStream(exchange, provider, model, now);
  }

  check({ id, verdict, error, execution_time: ms }: CheckResult): void {
    const { checks, checkDuration } = this.#families;
    const check = this.#of.check.idOf(id);
    const word = error !== null ? 'error' : verdict ? 'pass' : 'fail';
    checks.add(1, check, this.#of.verdict.idOf(word));
    checkDuration.observe(ms / MS_PER_SECOND, check);
  }

  feedback(source: string, value: number): void {
    const of = this.#of;
    this.#families.feedback.add(1, of.feedbackSource.idOf(source), of.feedbackValue.idOf(String(value)));
  }

  #settleAttempts(exchange: Exchange, model: number, now: number): void {
    const { attempts, endpoint } = exchange;
    const operation = this.#of.operation.idOf(endpoint === undefined ? NO_VALUE : operationName(endpoint.operation));
    const unknown = this.#of.model.idOf('unknown');
    for (let at = 0; at < attempts.length; at++) {
      const attempt = attempts[at];
      if (attempt === undefined) continue;
      this.#settleAttempt(attempt, operation, at === attempts.length - 1 ? model : unknown, now);
    }
  }

  #settleAttempt(attempt: Attempt, operation: number, model: number, now: number): void {
    const { attempts, retries, attemptDuration } = this.#families;
    const of = this.#of;
    const provider = of.provider.idOf(attempt.provider);
    const { status, errorCode } = attempt;
    const outcome = status === undefined ? of.status.idOf(errorCode ?? NO_VALUE) : this.#statuses.idOf(status);
    const seconds = ((attempt.endedAt ?? now) - attempt.startedAt) / MS_PER_SECOND;
    attempts.add(1, provider, outcome);
    if (attempt.retry > 0) retries.add(1, provider);
    attemptDuration.observe(seconds, operation, provider, model, of.code.idOf(errorCode ?? NO_VALUE));
  }

  #countTokens(usage: Usage, provider: number, model: number): void {
    const { prompt_tokens_details: prompt, completion_tokens_details: completion } = usage;
    this.#addTokens(usage.prompt_tokens, provider, model, 'input');
    this.#addTokens(usage.completion_tokens, provider, model, 'output');
    this.#addTokens(prompt?.cached_tokens, provider, model, 'cached');
    this.#addTokens(prompt?.cache_creation_tokens, provider, model, 'cache_creation');
    this.#addTokens(completion?.reasoning_tokens, provider, model, 'reasoning');
  }

  #countCache({ status, recalled }: CacheUse, endpoint: number, model: number): void {
    const { cacheRequests, cacheSaved } = this.#families;
    cacheRequests.add(1, endpoint, this.#of.cacheStatus.idOf(status));
    if (recalled?.cost !== undefined) cacheSaved.add(recalled.cost, this.#of.provider.idOf(recalled.provider), model);
  }

  #countCost({ cost }: Bill, provider: number, model: number): void {
    if (cost === undefined) this.#families.costUnknown.add(1, provider, model);
    else this.#families.cost.add(cost, provider, model);
  }

  /** Counts are the upstream's word: what is no positive number would break the counter for good. */
  #addTokens(amount: number | undefined, provider: number, model: number, type: string): void {
    if (typeof amount !== 'number' || !(amount > 0) || amount === Number.POSITIVE_INFINITY) return;
    this.#families.tokens.add(amount, provider, model, this.#of.tokenType.idOf(type));
  }

  #timeFirstByte(exchange: Exchange, endpoint: number, provider: number): void {
    const seconds = ((exchange.firstByteAt ?? 0) - exchange.startedAt) / MS_PER_SECOND;
    const stream = this.#of.stream.idOf(exchange.stream ? 'true' : 'false');
    this.#families.firstByte.observe(seconds, endpoint, provider, stream);
  }

  #settleStream(exchange: Exchange, provider: number, model: number, now: number): void {
    const { streamFailures, tokenPace } = this.#families;
    if (exchange.streamFailed) {
      const reason = exchange.status === CLIENT_CLOSED ? 'client_closed' : (exchange.errorCode ?? 'upstream_cut');
      streamFailures.add(1, provider, this.#of.code.idOf(reason));
      return;
    }
    const tokens = exchange.usage?.completion_tokens ?? 0;
    if (exchange.firstByteAt === undefined || !(tokens > 1)) return;
    tokenPace.observe((now - exchange.firstByteAt) / MS_PER_SECOND / (tokens - 1), provider, model);
  }
}

function single(name: string, type: 'counter' | 'gauge', help: string, value: number): string {
  return `${preamble(`modelgateway_${name}`, type, help)}modelgateway_${name} ${value}\n`;
}

function breakerText(breakers: Iterable<BreakerReading>): string {
  let text = preamble('modelgateway_breaker_state', 'gauge', '0 closed, 1 half open (probing), 2 open.');
  let count = 0;
  for (const { key, state } of breakers) {
    if (count++ >= MAX_BREAKERS) break;
    text += `modelgateway_breaker_state{target="${labelValue(key)}"} ${BREAKER_VALUES[state]}\n`;
  }
  return text;
}

function sourcesText(sources: MetricSources, inFlight: number): string {
  const config = sources.config();
  let text = single('requests_in_flight', 'gauge', 'Requests that came in and are not over.', inFlight);
  text += breakerText(sources.breakers());
  text += single('config_refused_total', 'counter', 'Snapshots that this gateway refused.', sources.refused());
  text += single('log_lines_dropped_total', 'counter', 'Log lines lost to a slow reader.', sources.droppedLogLines());
  if (config === undefined) return text;
  const ageSeconds = Math.max(0, (Date.now() - config.loadedAtMs) / MS_PER_SECOND);
  text += single('config_generation', 'gauge', 'Generation of the snapshot in use.', config.generation);
  return text + single('config_age_seconds', 'gauge', 'Time since the snapshot in use was loaded.', ageSeconds);
}

/** Metrics of one gateway, with those of its process. */
export function createMetrics(sources: MetricSources): Metrics {
  const registry = new Registry();
  collectDefaultMetrics({ register: registry, eventLoopMonitoringPrecision: 20 });
  const labels = makeLabels();
  const families = makeFamilies(labels);
  const recorder = new Recorder(labels, families);
  return {
    registry,
    contentType: registry.contentType,
    begin() {
      recorder.inFlight++;
    },
    settle(exchange) {
      recorder.settle(exchange, performance.now());
    },
    check: (result) => recorder.check(result),
    feedback: (source, value) => recorder.feedback(source, value),
    async text() {
      const own = Object.values(families).map((family) => family.text());
      return `${own.join('')}${sourcesText(sources, recorder.inFlight)}${await registry.metrics()}`;
    },
  };
}
