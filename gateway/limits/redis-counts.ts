/**
 * Counts of all replicas, in a shared store. What requests of one turn of the event loop ask and settle goes there in one
 * call: each waits for one round trip, and nobody for a settlement. What must not be lost is sent until it is acknowledged,
 * and counts once however often it arrives.
 */
import { randomUUID } from 'node:crypto';
import type { RedisConnection, Reply } from './redis-connection.ts';
import { type Asked, partsOf, readUsed, readVerdicts, type Settlement, type Work, writeWork } from './redis-work.ts';
import type { BudgetRule, Decision, Demand, Hold, RateRule } from './store.ts';
import { wholeAmount } from './whole-amount.ts';

/** What was used beside the store. */
export interface Handed {
  readonly key: string;
  readonly rule: RateRule | BudgetRule;
  readonly amount: bigint;
}

export interface KnownBudget {
  readonly used: bigint;
  readonly rule: BudgetRule;
}

interface Waiting extends Asked {
  readonly decide: (decision: Decision) => void;
  readonly fail: (error: Error) => void;
}

interface Batch extends Work {
  /** 0: it settles nothing. */
  readonly number: number;
  readonly settlements: Settlement[];
  readonly requests: readonly Waiting[];
}

const MAX_REQUESTS = 64;
const MAX_UNDER_WAY = 2;
const MAX_SETTLEMENTS = 256;
const MAX_ACKNOWLEDGED = 50;
/** Of what is known again after a flush, in one call. */
const REMEMBERED_PER_CALL = 200;
const BATCHES_PER_BEAT = 100;
const BEATS_PER_LOOK = 100;
/** Of a budget, while somebody may still ask what was used in its period. */
const AFTER_END_MS = 3_600_000;

export class RedisCounts {
  readonly #connection: RedisConnection;
  readonly #keys: { readonly replicas: string; readonly held: string; readonly settled: string };
  readonly #prefix: string;
  readonly #replica = randomUUID();
  readonly #known = new Map<string, KnownBudget>();
  /** Ids of holds that are asked for, or held. */
  readonly #open = new Set<string>();
  /** Settlements that the store has not acknowledged, by number. */
  readonly #unacknowledged = new Map<number, readonly Settlement[]>();
  readonly #failed = new Set<number>();
  readonly #acknowledged: number[] = [];
  #requests: Waiting[] = [];
  #settlements: Settlement[] = [];
  #isScheduled = false;
  #underWay = 0;
  #lastId = 0;
  #registering: Promise<void> | undefined;
  #strays = 0;
  #beats = 0;
  #forgotten = 0;

  /** `prefix`: what tells this installation from others that use the same store. */
  constructor(connection: RedisConnection, prefix: string) {
    this.#connection = connection;
    // One hash tag: in a cluster a request's counts must be on one node, so all are.
    this.#prefix = `{${prefix}}:`;
    this.#keys = {
      replicas: `${this.#prefix}replicas`,
      held: `${this.#prefix}held:${this.#replica}`,
      settled: `${this.#prefix}settled:${this.#replica}`,
    };
  }

  /** Budgets that this replica asked for, and what all have used of them as last heard. */
  get known(): ReadonlyMap<string, KnownBudget> {
    return this.#known;
  }

  /** How often the store did not know this replica any more: it was flushed, or this replica away for long. */
  get forgotten(): number {
    return this.#forgotten;
  }

  /** Settlements that the store has not acknowledged. */
  get waiting(): number {
    return this.#unacknowledged.size + this.#settlements.length;
  }

  /** Rejects where the store did not answer, or with an error; whether it took anything is then unknown, and does not matter. */
  reserve(demands: readonly Demand[]): Promise<Decision> {
    const { promise, resolve: decide, reject: fail } = Promise.withResolvers<Decision>();
    const id = `${++this.#lastId}`;
    this.#open.add(id);
    this.#requests.push({ id, demands, decide, fail });
    this.#schedule();
    return promise;
  }

  /** Counted once, also where the store is away for now. */
  handIn(entries: readonly Handed[]): void {
    if (entries.length === 0) return;
    const rows = entries.map((entry) => ({ counter: entry, atMs: 0, demanded: 0, used: entry.amount }));
    this.#settle({ hold: '', rows });
  }

  /** Tells the store that this replica lives, sends again what it did not acknowledge, and gives back what nobody will settle. */
  async beat(): Promise<void> {
    const { replicas, held, settled } = this.#keys;
    if (this.#beats === 0) await this.#connection.load(replicas);
    const others = [`${this.#prefix}held:`, `${this.#prefix}settled:`];
    const reply = await this.#connection.run('beat', [replicas, held, settled], [this.#replica, ...others]);
    const [holds = 0, isNew] = reply as readonly number[];
    if (isNew === 1) {
      if (this.#beats > 0) this.#forgotten++;
      await this.#remember();
    }
    if (++this.#beats % BEATS_PER_LOOK === 0) this.#dropEnded();
    this.#sendAgain();
    // Those of calls whose answer was lost; twice, as some may be under way.
    this.#strays = holds > this.#open.size + this.#settling.size ? this.#strays + 1 : 0;
    if (this.#strays > 1) await this.#cancelStrays();
  }

  reconnect(): void {
    this.#connection.reconnect();
  }

  /** What was sent is not waited for. */
  async close(): Promise<void> {
    const { replicas, held, settled } = this.#keys;
    await this.#connection.run('leave', [replicas, held, settled], [this.#replica]).catch(() => undefined);
    this.#connection.close();
  }

  /** Holds whose settlement is not acknowledged. */
  get #settling(): ReadonlySet<string> {
    const waiting = [...this.#unacknowledged.values(), this.#settlements];
    return new Set(waiting.flatMap((settlements) => settlements.map(({ hold }) => hold)));
  }

  #settle(settlement: Settlement): void {
    this.#settlements.push(settlement);
    this.#schedule();
  }

  /** After all sockets that have something were read: what came together goes together. */
  #schedule(): void {
    if (this.#isScheduled) return;
    this.#isScheduled = true;
    setImmediate(() => {
      this.#isScheduled = false;
      this.#sendAll();
    });
  }

  /** While calls are under way, others gather: the busier the store, the more of them go in one. */
  #sendAll(): void {
    while (this.#requests.length + this.#settlements.length > 0) {
      if (this.#underWay >= MAX_UNDER_WAY && this.#requests.length < MAX_REQUESTS) return;
      this.#sendNext();
    }
  }

  #sendNext(): void {
    const requests = this.#requests.splice(0, MAX_REQUESTS);
    const settlements = this.#settlements.splice(0, MAX_SETTLEMENTS);
    const number = settlements.length === 0 ? 0 : ++this.#lastId;
    if (number > 0) this.#unacknowledged.set(number, settlements);
    this.#send({ number, settlements, requests });
  }

  #send(batch: Batch): void {
    this.#underWay++;
    this.#deliver(batch, true)
      .catch((error: Error) => {
        if (batch.number > 0) this.#failed.add(batch.number);
        for (const { id, fail } of batch.requests) {
          this.#open.delete(id);
          fail(error);
        }
      })
      .finally(() => {
        this.#underWay--;
        this.#sendAll();
      });
  }

  async #deliver(batch: Batch, mayRegister: boolean): Promise<void> {
    const acknowledged = this.#acknowledged.splice(0, MAX_ACKNOWLEDGED);
    const { replicas, held, settled } = this.#keys;
    const text = writeWork(batch, this.#prefix);
    const values = [this.#replica, batch.number, acknowledged.length, ...acknowledged, ...text.values];
    let answer: readonly Reply[];
    try {
      answer = (await this.#connection.run(
        'work',
        [replicas, held, settled, ...text.keys],
        values,
      )) as readonly Reply[];
    } catch (error) {
      this.#acknowledged.push(...acknowledged);
      throw error;
    }
    if (answer[0] === 'unknown') {
      this.#acknowledged.push(...acknowledged);
      if (!mayRegister) throw new Error('flushed');
      await this.#register();
      return this.#deliver(batch, false);
    }
    this.#acknowledge(batch.number);
    for (const [{ key, rule }, used] of readUsed(text, answer))
      if (rule.kind === 'budget') this.#learn(key, rule, used);
    const atMs = answer[1] as number;
    const verdicts = readVerdicts(batch, text, answer);
    for (const [at, { id, demands, decide }] of batch.requests.entries()) {
      const { refused = -1, waitMs = 0, readings = [] } = verdicts[at] ?? {};
      if (refused < 0) decide({ ok: true, readings, hold: this.#holdOf(id, demands, atMs) });
      else {
        this.#open.delete(id);
        decide({ ok: false, readings, refused, retryMs: waitMs < 0 ? undefined : waitMs });
      }
    }
  }

  #acknowledge(number: number): void {
    if (number === 0) return;
    this.#unacknowledged.delete(number);
    this.#acknowledged.push(number);
  }

  /** The store was flushed, or has taken this replica for dead. */
  #register(): Promise<void> {
    this.#registering ??= this.beat().finally(() => {
      this.#registering = undefined;
    });
    return this.#registering;
  }

  #holdOf(id: string, demands: readonly Demand[], atMs: number): Hold {
    return {
      settle: (amounts) => {
        if (!this.#open.delete(id)) return;
        const rows = [];
        for (let at = 0; at < demands.length; at++) {
          const { counter, amount: demanded } = demands[at] as Demand;
          const used = wholeAmount(amounts[at], demanded);
          // A window knows already what was demanded, and has nothing else to learn.
          if (used === demanded && counter.rule.kind === 'rate') continue;
          rows.push({ counter, atMs, demanded, used: BigInt(used) });
        }
        this.#settle({ hold: id, rows });
      },
    };
  }

  #sendAgain(): void {
    let left = BATCHES_PER_BEAT;
    for (const number of this.#failed) {
      if (left-- === 0) return;
      this.#failed.delete(number);
      const settlements = this.#unacknowledged.get(number);
      if (settlements !== undefined) this.#send({ number, settlements: [...settlements], requests: [] });
    }
  }

  async #cancelStrays(): Promise<void> {
    this.#strays = 0;
    const last = this.#lastId;
    const ids = await this.#connection.fields(this.#keys.held);
    const settling = this.#settling;
    const strays = ids.filter((id) => Number(id) <= last && !this.#open.has(id) && !settling.has(id));
    if (strays.length > 0) await this.#connection.run('cancel', [this.#keys.held], strays);
  }

  #learn(key: string, rule: BudgetRule, used: bigint): void {
    const before = this.#known.get(key);
    // Answers may overtake each other.
    if (before === undefined || before.used < used) this.#known.set(key, { used, rule });
  }

  #dropEnded(): void {
    const ended = Date.now() - AFTER_END_MS;
    for (const [key, { rule }] of this.#known)
      if (rule.endsMs !== undefined && rule.endsMs < ended) this.#known.delete(key);
  }

  async #remember(): Promise<void> {
    const known = [...this.#known];
    for (let from = 0; from < known.length; from += REMEMBERED_PER_CALL) {
      const some = known.slice(from, from + REMEMBERED_PER_CALL);
      const values = some.flatMap(([, { used, rule }]) => [...partsOf(used), rule.endsMs ?? '']);
      const keys = some.map(([key]) => this.#prefix + key);
      await this.#connection.run('remember', keys, values);
    }
  }
}
