/** A request that waits for another one's call. */
import type { GatewayError } from '../errors.ts';
import type { GatewayReply } from '../reply.ts';
import type { Deadlines } from '../upstream/deadlines.ts';
import { Deadline } from '../upstream/deadlines.ts';
import type { Lead, Seat } from './flights.ts';
import type { Passenger } from './passenger.ts';
import type { Landed } from './recalled-answer.ts';
import { SharedStream } from './shared-stream.ts';

/** A part of a stream as it went out. */
export type Chunk = Buffer | string;
/** `error` is set. */
export type Failure = GatewayReply & { readonly error: GatewayError };
export type CacheLead = Lead<Chunk, Landed, Failure>;
export type CacheSeat = Seat<Chunk, Landed, Failure>;

/** What waiting came to. */
export type Waited =
  | { readonly kind: 'landed'; readonly landed: Landed }
  | { readonly kind: 'shared'; readonly shared: SharedStream }
  | { readonly kind: 'failed'; readonly failure: Failure }
  | { readonly kind: 'lead'; readonly lead: CacheLead }
  /** It has waited long enough, or there is nothing to share: it calls for itself. */
  | { readonly kind: 'alone' }
  | { readonly kind: 'gone' };

const ALONE: Waited = { kind: 'alone' };

export class Companion implements Passenger<Chunk, Landed, Failure> {
  readonly #settled = Promise.withResolvers<Waited>();
  #seat: CacheSeat | undefined;
  #shared: SharedStream | undefined;

  /** Until the answer is there, or the stream has begun; `untilMs` in `performance.now()` milliseconds. */
  async wait(seat: CacheSeat, deadlines: Deadlines, untilMs: number): Promise<Waited> {
    this.#seat = seat;
    this.onChunks();
    const deadline = new Deadline(untilMs, this.#onLate);
    deadlines.add(deadline);
    const waited = await this.#settled.promise;
    deadlines.delete(deadline);
    return waited;
  }

  /** Its caller left. */
  readonly leave = (): void => {
    this.#seat?.leave();
    this.#settled.resolve({ kind: 'gone' });
  };

  onChunks(): void {
    const chunks = this.#seat?.take();
    if (chunks?.length === 0) return;
    if (this.#shared === undefined) {
      const shared = new SharedStream(() => this.#seat?.leave());
      this.#shared = shared;
      this.#settled.resolve({ kind: 'shared', shared });
    }
    this.#shared.push(chunks);
  }

  onLanded(landed: Landed): void {
    if (this.#shared === undefined) this.#settled.resolve({ kind: 'landed', landed });
    else {
      this.onChunks();
      this.#shared.end({ landed });
    }
  }

  onFailed(failure: Failure): void {
    if (this.#shared === undefined) this.#settled.resolve({ kind: 'failed', failure });
    else {
      this.onChunks();
      this.#shared.end(failure);
    }
  }

  onLead(lead: CacheLead): void {
    this.#settled.resolve({ kind: 'lead', lead });
  }

  onAlone(): void {
    this.#settled.resolve(ALONE);
  }

  readonly #onLate = (): void => {
    if (this.#shared !== undefined) return;
    this.#seat?.leave();
    this.#settled.resolve(ALONE);
  };
}
