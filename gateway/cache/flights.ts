/**
 * One upstream call for equal requests that come while it runs. The first leads: it calls, and tells what comes. The others
 * follow: they wait for the whole answer, or take part in the stream from its start. Where a leader fails, the next one leads,
 * one at a time. There are no timers in here: whoever has waited long enough leaves.
 */
import type { CacheKey } from './cache-key.ts';
import type { Passenger } from './passenger.ts';
import { ReplayLog } from './replay-log.ts';

/** Whose fault it is that a call failed. */
export type FailureCause = 'upstream' | 'caller';

export interface FlightsOptions {
  /** Of one stream, for those who join it later; default 1 MiB. */
  readonly maxReplayBytes?: number;
  /** So many calls may fail one after the other before the failure is everybody's; default 3. */
  readonly maxLeaders?: number;
}

const MAX_REPLAY_BYTES = 1024 * 1024;
const MAX_LEADERS = 3;

export class Flights<Chunk, Answer, Failure> {
  readonly maxReplayBytes: number;
  readonly maxLeaders: number;
  readonly #flights = new Map<string, Flight<Chunk, Answer, Failure>>();

  constructor({ maxReplayBytes = MAX_REPLAY_BYTES, maxLeaders = MAX_LEADERS }: FlightsOptions = {}) {
    this.maxReplayBytes = maxReplayBytes;
    this.maxLeaders = maxLeaders;
  }

  /** Calls that run now, or are about to. */
  get size(): number {
    return this.#flights.size;
  }

  /**
   * `form`: what chunks of a stream this request could take, e.g. the dialect and whether usage is told; undefined: it wants a
   * whole answer. A request takes part in a running stream of the same form, else it waits for the whole answer.
   */
  board(
    key: CacheKey,
    form: string | undefined,
    passenger: Passenger<Chunk, Answer, Failure>,
  ): Lead<Chunk, Answer, Failure> | Seat<Chunk, Answer, Failure> {
    const running = this.#flights.get(key.digest);
    if (running !== undefined) return running.follow(form, passenger);
    const flight = new Flight<Chunk, Answer, Failure>(this, () => this.#flights.delete(key.digest));
    this.#flights.set(key.digest, flight);
    return flight.lead(form);
  }
}

/** A call, and those who wait for it. */
class Flight<Chunk, Answer, Failure> {
  readonly #terms: Required<FlightsOptions>;
  readonly #onOver: () => void;
  /** In the order in which they came. */
  readonly #seats = new Set<Seat<Chunk, Answer, Failure>>();
  #log: ReplayLog<Chunk>;
  #lead: Lead<Chunk, Answer, Failure> | undefined;
  #failures = 0;

  constructor(terms: Required<FlightsOptions>, onOver: () => void) {
    this.#terms = terms;
    this.#onOver = onOver;
    this.#log = new ReplayLog(terms.maxReplayBytes);
  }

  get followers(): number {
    return this.#seats.size;
  }

  lead(form: string | undefined): Lead<Chunk, Answer, Failure> {
    this.#log = new ReplayLog(this.#terms.maxReplayBytes);
    this.#lead = new Lead(this, form);
    return this.#lead;
  }

  follow(form: string | undefined, passenger: Passenger<Chunk, Answer, Failure>): Seat<Chunk, Answer, Failure> {
    const seat = new Seat(this, form, passenger);
    this.#seats.add(seat);
    return seat;
  }

  push(chunk: Chunk, bytes: number): void {
    this.#log.add(chunk, bytes);
    for (const seat of this.#seats) if (seat.isPartOf(this.#log)) seat.passenger.onChunks();
  }

  /** The running stream, for those who can still have it from its start. */
  logOf(form: string | undefined): ReplayLog<Chunk> | undefined {
    return form !== undefined && form === this.#lead?.form && this.#log.from === 0 ? this.#log : undefined;
  }

  land(answer: Answer): void {
    for (const seat of this.#end()) seat.passenger.onLanded(answer);
  }

  scatter(failure: Failure): void {
    for (const { hasBegun, passenger } of this.#end()) {
      if (hasBegun) passenger.onFailed(failure);
      else passenger.onAlone();
    }
  }

  /** Who has a part of the stream cannot begin again; of the others the first leads. */
  fail(failure: Failure, cause: FailureCause): void {
    if (cause === 'upstream') this.#failures += 1;
    const isLast = this.#failures >= this.#terms.maxLeaders;
    const broken = [...this.#seats].filter(({ hasBegun }) => isLast || hasBegun);
    for (const seat of broken) this.#seats.delete(seat);
    const [next] = this.#seats;
    if (next === undefined) this.#end();
    else this.#seats.delete(next);
    const lead = next === undefined ? undefined : this.lead(next.form);
    for (const seat of broken) seat.passenger.onFailed(failure);
    if (lead !== undefined) next?.passenger.onLead(lead);
  }

  leave(seat: Seat<Chunk, Answer, Failure>): void {
    if (this.#seats.delete(seat) && this.#seats.size === 0) this.#lead?.noteDeserted();
  }

  /** The caller of the leader went and nobody is left: nothing will be told any more. */
  desert(): void {
    this.#end();
  }

  #end(): Seat<Chunk, Answer, Failure>[] {
    const seats = [...this.#seats];
    this.#seats.clear();
    this.#lead = undefined;
    this.#onOver();
    return seats;
  }
}

/** Of the one who calls. Exactly one of `land`, `fail` and `scatter` ends it; what comes after that is not heard. */
export class Lead<Chunk, Answer, Failure> {
  readonly role = 'lead';
  readonly form: string | undefined;
  /** Called once, where the leader's caller has left and then the last follower has: the call can be broken off. */
  onDeserted: (() => void) | undefined;
  #flight: Flight<Chunk, Answer, Failure> | undefined;
  #hasLeft = false;

  constructor(flight: Flight<Chunk, Answer, Failure>, form: string | undefined) {
    this.#flight = flight;
    this.form = form;
  }

  /** The next part of a stream. `bytes`: what it takes in memory. */
  push(chunk: Chunk, bytes: number): void {
    this.#flight?.push(chunk, bytes);
  }

  /** The answer is complete, and everybody's who asked the same. */
  land(answer: Answer): void {
    this.#over()?.land(answer);
  }

  /** The next one calls. `caller`: the fault was this caller's own, e.g. its credential or its time limit, and tells the others nothing. */
  fail(failure: Failure, cause: FailureCause): void {
    this.#over()?.fail(failure, cause);
  }

  /**
   * The answer must not be shared (denied, `no-store`, too large): each follower calls for itself. `failure` is for those who
   * have a part of it already.
   */
  scatter(failure: Failure): void {
    this.#over()?.scatter(failure);
  }

  /** The leader's caller left. True: somebody follows, so the call must go on. False: it is over, break it off. */
  leave(): boolean {
    if (this.#flight === undefined) return false;
    this.#hasLeft = true;
    if (this.#flight.followers > 0) return true;
    this.#over()?.desert();
    return false;
  }

  /** For the flight itself. */
  noteDeserted(): void {
    if (!this.#hasLeft) return;
    this.#over()?.desert();
    this.onDeserted?.();
  }

  #over(): Flight<Chunk, Answer, Failure> | undefined {
    const flight = this.#flight;
    this.#flight = undefined;
    return flight;
  }
}

/** Of one who follows. */
export class Seat<Chunk, Answer, Failure> {
  readonly role = 'seat';
  readonly form: string | undefined;
  readonly passenger: Passenger<Chunk, Answer, Failure>;
  readonly #flight: Flight<Chunk, Answer, Failure>;
  /** The stream that it has a part of. */
  #log: ReplayLog<Chunk> | undefined;
  #taken = 0;

  constructor(
    flight: Flight<Chunk, Answer, Failure>,
    form: string | undefined,
    passenger: Passenger<Chunk, Answer, Failure>,
  ) {
    this.#flight = flight;
    this.form = form;
    this.passenger = passenger;
  }

  /** It has taken a part of a stream, and cannot take another. */
  get hasBegun(): boolean {
    return this.#log !== undefined;
  }

  /** For the flight itself. */
  isPartOf(log: ReplayLog<Chunk>): boolean {
    return (this.#log ?? this.#flight.logOf(this.form)) === log;
  }

  /**
   * What was said since the last call, from the start at the first; to be called once after boarding, then when told, and once
   * more after `onLanded` and `onFailed`. Empty where the running call is of another form. undefined: it read too slowly and
   * a part is gone, so that it must leave.
   */
  take(): Chunk[] | undefined {
    const log = this.#log ?? this.#flight.logOf(this.form);
    if (log === undefined || log.end === 0) return [];
    const chunks = log.since(this.#taken);
    this.#log = log;
    this.#taken = log.end;
    return chunks;
  }

  /** Its caller went, or it has waited long enough. Nothing is told any more. */
  leave(): void {
    this.#flight.leave(this);
  }
}
