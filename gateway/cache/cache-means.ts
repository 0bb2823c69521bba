/** What all requests of a gateway share to recall and remember answers. */
import type { AnswerCache } from './answer-cache.ts';
import type { Chunk, Failure } from './companion.ts';
import type { Embedder } from './embedder.ts';
import type { Flights } from './flights.ts';
import type { Landed } from './recalled-answer.ts';

/** Since the process began. */
export interface CacheFaults {
  store: number;
  embedding: number;
}

export interface CacheMeans {
  readonly answers: AnswerCache;
  /** All replicas give what one of them has kept. */
  readonly isShared: boolean;
  readonly flights: Flights<Chunk, Landed, Failure>;
  /** undefined: nobody says what means the same. */
  readonly embedder: Embedder | undefined;
  readonly faults: Readonly<CacheFaults>;
}
