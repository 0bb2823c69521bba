/** Which answers are kept. */

export interface Candidate {
  /** Status told to the caller. */
  readonly status: number;
  /**
   * All of the answer is there: its end was seen, whatever its finish reason (`length` too: that is all the caller had asked
   * for). False for a stream that broke off or whose reader left.
   */
  readonly complete: boolean;
  /** A guardrail said no, whether or not the answer went out all the same. */
  readonly denied: boolean;
  /** The caller asked for it: `cache-control: no-store`. */
  readonly noStore: boolean;
  /** Of the body. */
  readonly bytes: number;
}

export type WhyNotStored = 'no_store' | 'denied' | 'failed' | 'incomplete' | 'empty' | 'too_large';

const VERDICT_STATUS = 246;

/** In order: the first that applies is told. */
const REASONS: readonly (readonly [WhyNotStored, (candidate: Candidate, maxBytes: number) => boolean])[] = [
  ['no_store', ({ noStore }) => noStore],
  ['denied', ({ denied, status }) => denied || status === VERDICT_STATUS || status === 446],
  ['failed', ({ status }) => status < 200 || status > 299],
  ['incomplete', ({ complete }) => !complete],
  ['empty', ({ bytes }) => bytes === 0],
  ['too_large', ({ bytes }, maxBytes) => bytes > maxBytes],
];

/** undefined: it is kept. */
export function whyNotStored(candidate: Candidate, maxBytes: number): WhyNotStored | undefined {
  return REASONS.find(([, applies]) => applies(candidate, maxBytes))?.[0];
}
