/** Counts of one combination of a limit's `group_by` values. */
import { createHash } from 'node:crypto';
import { budgetKey, rateKey } from '#crds/limits/counter-key.ts';
import { periodAt } from '#crds/limits/period.ts';
import { WINDOW_MS } from '#crds/limits/rate-limit.ts';
import type { RateLimitRecord, UsageLimitRecord } from '#crds/snapshot/contract.ts';
import type { Counter } from './store.ts';

export type LimitRecord = RateLimitRecord | UsageLimitRecord;

/** Longer values of callers count under their digest. */
const MAX_VALUE_CHARS = 256;
/** Groups of a limit in each of two generations: the older is dropped when the younger is full. */
const GENERATION = 8_192;

export function isRate(record: LimitRecord): record is RateLimitRecord {
  return 'unit' in record;
}

export class Group {
  private readonly record: LimitRecord;
  private readonly values: readonly string[];
  private counter: Counter | undefined;
  private endsMs = Number.NEGATIVE_INFINITY;

  constructor(record: LimitRecord, values: readonly string[]) {
    this.record = record;
    this.values = values.map(bounded);
  }

  /** The counter of the period that holds `nowMs`, Unix milliseconds. */
  counterAt(nowMs: number): Counter {
    if (this.counter !== undefined && nowMs < this.endsMs) return this.counter;
    const { record, values } = this;
    if (isRate(record)) {
      this.endsMs = Number.POSITIVE_INFINITY;
      this.counter = rateCounter(record, values);
    } else {
      const { startMs, endMs } = periodAt(record.reset, nowMs);
      this.endsMs = endMs ?? Number.POSITIVE_INFINITY;
      this.counter = budgetCounter(record, startMs, endMs, values);
    }
    return this.counter;
  }
}

/** The groups in use, bounded: what is dropped finds its counts again in the store, by its key. */
export class Groups {
  private readonly record: LimitRecord;
  private young = new Map<string, Group>();
  private old = new Map<string, Group>();

  constructor(record: LimitRecord) {
    this.record = record;
  }

  of(values: readonly string[]): Group {
    const name = nameOf(values);
    const known = this.young.get(name);
    if (known !== undefined) return known;
    const group = this.old.get(name) ?? new Group(this.record, values);
    this.young.set(name, group);
    if (this.young.size >= GENERATION) {
      this.old = this.young;
      this.young = new Map();
    }
    return group;
  }

  get size(): number {
    return this.young.size + this.old.size;
  }
}

/** Lengths keep ["ab", "c"] and ["a", "bc"] apart. */
function nameOf(values: readonly string[]): string {
  const [first = ''] = values;
  if (values.length < 2) return bounded(first);
  let name = '';
  for (const value of values) {
    const short = bounded(value);
    name += `${short.length}:${short}`;
  }
  return name;
}

function bounded(value: string): string {
  if (value.length <= MAX_VALUE_CHARS) return value;
  return `sha256:${createHash('sha256').update(value).digest('hex')}`;
}

function rateCounter(record: RateLimitRecord, values: readonly string[]): Counter {
  const rule = { kind: 'rate', windowMs: WINDOW_MS[record.unit], value: record.value } as const;
  return { key: rateKey(record, values), rule, state: undefined };
}

function budgetCounter(
  record: UsageLimitRecord,
  startMs: number,
  endsMs: number | undefined,
  values: readonly string[],
): Counter {
  const limit = record.type === 'cost' ? picoDollars(record.credit_limit) : BigInt(Math.floor(record.credit_limit));
  const rule = { kind: 'budget', limit, endsMs, onUnavailable: record.on_unavailable } as const;
  return { key: budgetKey(record, startMs, values), rule, state: undefined };
}

/** US dollars, below 1e21 -> units of 1e-12 of them; what is smaller is cut off. */
export function picoDollars(dollars: number): bigint {
  return BigInt(dollars.toFixed(12).replace('.', ''));
}
