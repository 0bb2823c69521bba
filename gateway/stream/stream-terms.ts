/** What a stream is given on its way, and who hears of it. */
import type { GatewayError } from '../errors.ts';

export interface StreamTerms {
  readonly delivery: 'live' | 'whole';
  readonly idleTimeoutMs: number;
  /** A caller who takes nothing for so long is cut off. */
  readonly writeIdleMs: number;
  readonly provider: string;
  /** Headers whose values an upstream's words about a failure must not give away. */
  readonly secrets: readonly string[];
}

/** Hears what goes to the caller. */
export interface StreamListener {
  push(out: Buffer | string): void;
  /** All of it went out, its end marker too. */
  end(): void;
  /** The caller left; true: the stream must run on all the same. */
  goesOn(): boolean;
}

export interface StreamOutcome {
  /** undefined: the stream was finished. */
  readonly error: GatewayError | undefined;
  readonly clientGone: boolean;
}
