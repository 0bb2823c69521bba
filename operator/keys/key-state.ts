/**
 * What the Secret of an issued key says of it. A rotation lives in the Secret alone: `next_api_key` appears; it becomes
 * `api_key` while the digest of the former key stays until its time is over; then that goes too. Each is one write.
 */
import { createHash } from 'node:crypto';

/** Fields of the Secret. */
export const KEY_FIELDS = {
  /** The key that callers use. */
  current: 'api_key',
  /** The key that is to take its place, once every gateway knows it. */
  next: 'next_api_key',
  /** SHA-256 of the former key, lower-case hex, and RFC 3339 until when it works. */
  previousDigest: 'previous_api_key_sha256',
  previousExpiry: 'previous_expires_at',
  /** RFC 3339: when the first key was made, and when one took another's place last. */
  createdAt: 'created_at',
  rotatedAt: 'rotated_at',
  /** The word of the annotation for which the key was rotated last, or which it was made with. */
  word: 'rotation_word',
  /** For how long the former key shall work after the rotation that is under way; absent: as the ApiKey says. */
  nextTransition: 'next_transition_ms',
  /** RFC 3339: when a rotation during a transition ended the key before the former one before its time. */
  cutShortAt: 'cut_short_at',
} as const;

export interface KeyState {
  readonly current: string;
  readonly next: string | undefined;
  readonly previous: { readonly digest: string; readonly expiresAtMs: number } | undefined;
  /** Unix milliseconds of the last rotation, else of the making; undefined: nobody knows. */
  readonly sinceMs: number | undefined;
  readonly createdAtMs: number | undefined;
  readonly rotatedAtMs: number | undefined;
  readonly word: string | undefined;
  readonly nextTransitionMs: number | undefined;
  readonly cutShortAtMs: number | undefined;
}

const DIGEST = /^[0-9a-f]{64}$/;

/** Whatever anybody wrote into the Secret: what cannot be read is as if it were not there. `current` is the key in use. */
export function keyStateOf(
  values: ReadonlyMap<string, string>,
  current: string,
  isKey: (key: string) => boolean,
): KeyState {
  const next = values.get(KEY_FIELDS.next);
  const digest = values.get(KEY_FIELDS.previousDigest) ?? '';
  const expiresAtMs = timeIn(values, KEY_FIELDS.previousExpiry);
  const createdAtMs = timeIn(values, KEY_FIELDS.createdAt);
  const rotatedAtMs = timeIn(values, KEY_FIELDS.rotatedAt);
  const isPrevious = DIGEST.test(digest) && digest !== digestOf(current);
  const transitionMs = Number(values.get(KEY_FIELDS.nextTransition) ?? Number.NaN);
  return {
    current,
    next: next !== undefined && next !== current && isKey(next) ? next : undefined,
    previous: isPrevious && expiresAtMs !== undefined ? { digest, expiresAtMs } : undefined,
    sinceMs: rotatedAtMs ?? createdAtMs,
    createdAtMs,
    rotatedAtMs,
    word: values.get(KEY_FIELDS.word),
    nextTransitionMs: Number.isSafeInteger(transitionMs) && transitionMs >= 0 ? transitionMs : undefined,
    cutShortAtMs: timeIn(values, KEY_FIELDS.cutShortAt),
  };
}

/** SHA-256, lower-case hex. */
export function digestOf(key: string): string {
  return createHash('sha256').update(key).digest('hex');
}

function timeIn(values: ReadonlyMap<string, string>, field: string): number | undefined {
  const timeMs = Date.parse(values.get(field) ?? '');
  return Number.isNaN(timeMs) ? undefined : timeMs;
}
