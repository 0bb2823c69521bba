/**
 * Counts of one process that outlive it: memory's, written to a file twice a second. What is held and not settled is not
 * written: requests that died with the process used nothing that anybody could tell.
 */
import type { Log } from '#crds/command/log.ts';
import { type BudgetUse, type Count, type Journal, type MemoryHold, MemoryStore } from './memory-store.ts';
import { type KeptCount, moveAside, SqliteFile } from './sqlite-file.ts';
import type { BudgetRule, Decision, Demand, LimitStore, RateRule } from './store.ts';
import { WindowCount } from './window.ts';

export interface SqliteStoreOptions {
  /** Its directory must be there. */
  readonly path: string;
  readonly log: Pick<Log, 'event'>;
  /** Unix milliseconds. */
  readonly now?: () => number;
}

const NO_FAULTS: ReadonlyMap<string, number> = new Map();
const FLUSH_MS = 500;
/** Of a budget whose period is over: requests may still be running that began in it. */
const GRACE_MS = 3_600_000;

export class SqliteStore implements LimitStore {
  readonly mode = 'own';
  readonly #log: Pick<Log, 'event'>;
  readonly #journal: Journal = { changed: new Set(), open: new Set() };
  readonly #memory: MemoryStore;
  readonly #file: SqliteFile;
  readonly #timer: NodeJS.Timeout;
  #isFailing = false;
  #failures = 0;
  #isClosed = false;

  /** Throws where there can be no file at `path`. One that cannot be read is moved aside, and said so. */
  constructor({ path, log, now }: SqliteStoreOptions) {
    this.#log = log;
    this.#memory = new MemoryStore({ journal: this.#journal, ...(now === undefined ? {} : { now }) });
    this.#file = this.#open(path);
    this.#timer = setInterval(() => this.flush(), FLUSH_MS).unref();
  }

  reserve(demands: readonly Demand[]): Decision {
    return this.#memory.reserve(demands);
  }

  /** What each budget was used in its period, this process' former lives included. */
  usage(): Iterable<BudgetUse> {
    return this.#memory.usage();
  }

  state(): 'ok' | 'degraded' {
    return this.#isFailing ? 'degraded' : 'ok';
  }

  faults(): ReadonlyMap<string, number> {
    return this.#failures === 0 ? NO_FAULTS : new Map([['file', this.#failures]]);
  }

  /** Writes what changed; happens by itself every half second. */
  flush(): void {
    const { changed, open } = this.#journal;
    if (changed.size === 0) return;
    const now = this.#memory.now();
    const held = heldOf(open, changed);
    try {
      this.#file.write(
        [...changed].map((count) => keptCount(count, held.get(count), now)),
        now,
      );
      changed.clear();
      if (this.#isFailing) this.#log.event('info', 'usage is written again');
      this.#isFailing = false;
    } catch (error) {
      if (!this.#isFailing) {
        const { message } = error as Error;
        this.#log.event('error', 'usage cannot be written: a restart would forget it', { reason: message });
      }
      this.#isFailing = true;
      this.#failures++;
    }
  }

  async close(): Promise<void> {
    if (this.#isClosed) return;
    this.#isClosed = true;
    clearInterval(this.#timer);
    this.flush();
    this.#file.close();
  }

  #open(path: string): SqliteFile {
    try {
      return this.#load(path);
    } catch (error) {
      const reason = (error as Error).message;
      const aside = moveAside(path, this.#memory.now());
      this.#log.event('error', 'usage could not be read: it begins anew', { file: path, moved_to: aside, reason });
      return new SqliteFile(path);
    }
  }

  #load(path: string): SqliteFile {
    const file = new SqliteFile(path);
    try {
      const now = this.#memory.now();
      const kept = file.read(now).map(restored);
      for (const { key, rule, slots, used } of kept) {
        const count = this.#memory.restore(key, rule);
        if (count.kind === 'budget') count.used = used;
        else count.restore(slots, now);
      }
      return file;
    } catch (error) {
      file.close();
      throw error;
    }
  }
}

interface Restored {
  readonly key: string;
  /** Its value is that of the first who asks. */
  readonly rule: RateRule | BudgetRule;
  readonly slots: readonly number[];
  readonly used: bigint;
}

function restored({ key, window_ms: windowMs, ends_ms: endsMs, amount }: KeptCount): Restored {
  if (windowMs === null) {
    const rule = { kind: 'budget', limit: 0n, endsMs: endsMs ?? undefined, onUnavailable: 'allow' } as const;
    return { key, rule, slots: [], used: BigInt(amount) };
  }
  const slots: unknown = JSON.parse(amount);
  const isWhole = Array.isArray(slots) && slots.length % 2 === 0 && slots.every(Number.isSafeInteger);
  if (!isWhole) throw new Error(`the count ${key} is no list of times and amounts`);
  return { key, rule: { kind: 'rate', windowMs, value: 0 }, slots, used: 0n };
}

type HeldAmounts = readonly { readonly atMs: number; readonly amount: number }[];

/** What is not settled, of windows among `counts`. */
function heldOf(open: Iterable<MemoryHold>, counts: ReadonlySet<Count>): ReadonlyMap<Count, HeldAmounts> {
  const held = new Map<Count, { atMs: number; amount: number }[]>();
  for (const { demands, counts: own, atMs } of open) {
    for (const [at, count] of own.entries()) {
      const amount = demands[at]?.amount ?? 0;
      if (count.kind !== 'rate' || amount === 0 || !counts.has(count)) continue;
      const amounts = held.get(count);
      if (amounts === undefined) held.set(count, [{ atMs, amount }]);
      else amounts.push({ atMs, amount });
    }
  }
  return held;
}

function keptCount(count: Count, held: HeldAmounts | undefined, now: number): KeptCount {
  const { key } = count;
  if (count.kind === 'budget') {
    const { endsMs: ends_ms = null } = count.rule;
    const expires_ms = ends_ms === null ? null : ends_ms + GRACE_MS;
    return { key, window_ms: null, ends_ms, amount: String(count.used), expires_ms };
  }
  const { windowMs } = count.rule;
  const slots = held === undefined ? count.slots(now) : settledSlots(count, held, now);
  const expires_ms = (slots.at(-2) ?? now - windowMs) + windowMs;
  return { key, window_ms: windowMs, ends_ms: null, amount: JSON.stringify(slots), expires_ms };
}

function settledSlots(count: WindowCount, held: HeldAmounts, now: number): number[] {
  const settled = new WindowCount(count.key, count.rule, count);
  settled.restore(count.slots(now), now);
  for (const { atMs, amount } of held) settled.settle(amount, 0, atMs, now);
  return settled.slots(now);
}
