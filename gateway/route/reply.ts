import type { Target } from '../plan/plan.ts';

/** The result of one attempt, as far as routing needs to know it; the gateway's own reply extends it. */
export interface Reply {
  /** The upstream's own; 502 for a network error, 408 for a timeout, ours for a refusal. */
  readonly status: number;
  /** 2xx. */
  readonly ok: boolean;
  /** 'refused': we never asked (model_not_allowed, unsupported_operation, ...); the target's answer, but no fault of its upstream. */
  readonly failure: 'none' | 'status' | 'network' | 'timeout' | 'refused';
  /** The client is gone, or the request can be sent nowhere: nothing else may be tried. */
  readonly final: boolean;
  /** The upstream's, where it answered. */
  readonly headers: Readonly<Record<string, string | string[] | undefined>> | undefined;
  /** A 400 that says that this model's context window is too small. */
  readonly contextTooSmall: boolean;
  /** A stream that still runs: never tried again, and its end is told by `Breakers.noteStreamSuccess` or `noteStreamFailure`. */
  readonly streaming?: boolean;
  /** Whose retry budget this is, where the target's upstream was resolved from the request. */
  readonly budgetKey?: string | undefined;
}

/** What routing came to. */
export interface Routed<R extends Reply> {
  /** The last answer, as it is; undefined: the plan had no target that could be tried. */
  readonly reply: R | undefined;
  /** Who gave it. */
  readonly target: Target | undefined;
  /** The answering target's: 0 first try, n on its n-th retry, -1 its retries ended without an answer worth keeping. */
  readonly retryCount: number;
}
