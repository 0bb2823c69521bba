import type { Lead } from './flights.ts';

/** What a follower is told. After any of these but `onChunks` it is out, and must tell nothing any more. */
export interface Passenger<Chunk, Answer, Failure> {
  /** There is something to `take`. */
  onChunks(): void;
  /** The whole answer; for one who takes part in the stream: its end. */
  onLanded(answer: Answer): void;
  /** The stream broke off after this follower had taken a part of it, or as many leaders failed as may. */
  onFailed(failure: Failure): void;
  /** It is this one's turn to call: the lead is already its own. */
  onLead(lead: Lead<Chunk, Answer, Failure>): void;
  /** There is nothing to share: each must call for itself, without a flight. */
  onAlone(): void;
}
