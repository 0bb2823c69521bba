/** The one thing that a rate limit promises. */

export interface Admission {
  /** It was admitted between these, milliseconds. */
  readonly fromMs: number;
  readonly toMs: number;
  readonly amount: number;
}

/** The most that was surely admitted within any span of `windowMs`. */
export function mostInAnyWindow(admissions: readonly Admission[], windowMs: number): number {
  const byEnd = admissions.toSorted((one, other) => one.toMs - other.toMs);
  let most = 0;
  for (const { fromMs } of admissions) {
    // A span that begins here has in it whatever began later and was over before its end.
    let sum = 0;
    for (const one of byEnd) {
      if (one.toMs >= fromMs + windowMs) break;
      if (one.fromMs >= fromMs) sum += one.amount;
    }
    most = Math.max(most, sum);
  }
  return most;
}
