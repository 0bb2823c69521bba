/** Who waits for the rotation of a key. */
import { digestOf } from './key-state.ts';
import type { IssuedKey } from './rotation-step.ts';

export interface Rotated {
  /** The new key. */
  readonly key: string;
  /** Unix milliseconds until when the former one works. */
  readonly transitionExpiresAtMs: number;
}

export interface RotationWish {
  /** For how long the former key works. Default: as the ApiKey says. */
  readonly transitionMs?: number | undefined;
}

export type RotationFailure = 'not_leading' | 'not_issued' | 'not_served';

/** `not_served`: not yet by every replica; the rotation goes on all the same. */
export class RotationFailed extends Error {
  override readonly name = 'RotationFailed';
  readonly reason: RotationFailure;

  constructor(reason: RotationFailure, message: string) {
    super(message);
    this.reason = reason;
  }
}

interface Request {
  readonly id: string;
  readonly wish: RotationWish;
  /** Of the new key; undefined: none was seen yet. */
  digest: string | undefined;
  readonly end: (outcome: Rotated | RotationFailed) => void;
}

interface Asked {
  readonly namespace: string;
  readonly name: string;
  readonly wish: RotationWish;
  readonly issued: readonly IssuedKey[];
  readonly leads: boolean;
}

const LIMIT_MS = 30_000;

export class RotationRequests {
  readonly #requests = new Set<Request>();

  add({ namespace, name, wish, issued, leads }: Asked): Promise<Rotated> {
    const id = `${namespace}/${name}`;
    const key = issued.find((one) => idOf(one) === id);
    if (!leads) return Promise.reject(new RotationFailed('not_leading', 'another operator leads: ask that one'));
    if (key === undefined) {
      const message = `ApiKey ${id} has no key that was made here: who brought it replaces it in its Secret`;
      return Promise.reject(new RotationFailed('not_issued', message));
    }
    const { next } = key.state;
    return new Promise((resolve, reject) => {
      const end = (outcome: Rotated | RotationFailed): void => {
        clearTimeout(timer);
        this.#requests.delete(request);
        if (outcome instanceof RotationFailed) reject(outcome);
        else resolve(outcome);
      };
      const request: Request = { id, wish, digest: next === undefined ? undefined : digestOf(next), end };
      const timer = setTimeout(() => end(NOT_SERVED), LIMIT_MS);
      this.#requests.add(request);
    });
  }

  /** What is asked for the key, where nothing is begun for it yet; undefined: nothing. */
  wishFor(key: IssuedKey): RotationWish | undefined {
    if (this.#requests.size === 0) return undefined;
    for (const { id, wish, digest } of this.#requests) if (digest === undefined && id === idOf(key)) return wish;
    return undefined;
  }

  /** Takes note of what the Secrets hold: ends the requests whose new key is in use. */
  observe(issued: readonly IssuedKey[]): void {
    for (const request of this.#requests) {
      const state = issued.find((key) => idOf(key) === request.id)?.state;
      if (state === undefined) continue;
      if (state.next !== undefined) request.digest ??= digestOf(state.next);
      if (state.previous === undefined || request.digest !== digestOf(state.current)) continue;
      request.end({ key: state.current, transitionExpiresAtMs: state.previous.expiresAtMs });
    }
  }

  close(): void {
    for (const { end } of this.#requests) end(NOT_SERVED);
  }
}

const NOT_SERVED = new RotationFailed(
  'not_served',
  `not every gateway served the new key within ${LIMIT_MS / 1_000} s; the rotation goes on`,
);

function idOf({ namespace, name }: IssuedKey): string {
  return `${namespace}/${name}`;
}
