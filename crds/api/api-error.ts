/** What an API server refused, or why there was no answer. */

export interface ApiFailure {
  /** HTTP status; 0: there was no answer. */
  readonly status: number;
  /** `reason` of the Status object, e.g. `Conflict`, `AlreadyExists`, `Expired`. */
  readonly reason: string;
  /** From Retry-After, milliseconds. */
  readonly retryAfterMs?: number | undefined;
}

const PASSING = new Set([0, 408, 409, 425, 429, 500, 502, 503, 504]);

export class ApiError extends Error {
  override readonly name = 'ApiError';
  readonly status: number;
  readonly reason: string;
  readonly retryAfterMs: number | undefined;

  constructor(message: string, { status, reason, retryAfterMs }: ApiFailure, options?: ErrorOptions) {
    super(message, options);
    this.status = status;
    this.reason = reason;
    this.retryAfterMs = retryAfterMs;
  }

  /** Whether the same request may succeed later. */
  get isPassing(): boolean {
    return PASSING.has(this.status);
  }
}
