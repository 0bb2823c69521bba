import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { CacheKey } from '#gateway/cache/cache-key.ts';
import { ENTRY_OVERHEAD_BYTES, MemoryCache } from '#gateway/cache/memory-cache.ts';
import { keyOf } from './requests.ts';

const NAMES = Array.from({ length: 8 }, (_, at) => `name ${at}`);
const KEYS = NAMES.map((name) => keyOf(name));
const LONG_MS = 600_000;

/** Room for `count` entries of 100 bytes. */
function cacheFor(count: number) {
  const clock = { nowMs: 0 };
  const cache = new MemoryCache({ maxBytes: count * (100 + ENTRY_OVERHEAD_BYTES), now: () => clock.nowMs });
  return { cache, clock };
}

const HUNDRED = Buffer.alloc(100);

interface KeptInModel {
  readonly at: number;
  readonly size: number;
  readonly endsAtMs: number;
}

/** What is kept, the least recently used first, looked through from end to end each time. */
class Model {
  kept: KeptInModel[] = [];
  readonly #maxBytes: number;

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
  }

  get bytes(): number {
    return this.kept.reduce((bytes, { size }) => bytes + size + ENTRY_OVERHEAD_BYTES, 0);
  }

  put(kept: KeptInModel): void {
    this.take(kept.at);
    this.kept.push(kept);
    while (this.bytes > this.#maxBytes) this.kept.shift();
  }

  take(at: number): KeptInModel | undefined {
    const found = this.kept.find((kept) => kept.at === at);
    this.kept = this.kept.filter((kept) => kept !== found);
    return found;
  }
}

interface Step {
  readonly cache: MemoryCache;
  readonly clock: { nowMs: number };
  readonly model: Model;
  readonly at: number;
  readonly size: number;
  readonly ms: number;
}

function keyAt(at: number): CacheKey {
  return keyOf(NAMES[at] ?? '');
}

const WORDS = ['set', 'get', 'delete', 'purge', 'purgeOther', 'pass'] as const;
const STEPS: Readonly<Record<(typeof WORDS)[number], (step: Step) => void>> = {
  set: ({ cache, clock, model, at, size, ms }) => {
    cache.set(keyAt(at), Buffer.alloc(size), ms);
    model.put({ at, size, endsAtMs: clock.nowMs + ms });
  },
  get: ({ cache, clock, model, at }) => {
    const kept = model.take(at);
    const isThere = kept !== undefined && clock.nowMs < kept.endsAtMs;
    expect(cache.get(keyAt(at))?.length).toBe(isThere ? kept.size : undefined);
    if (isThere) model.put(kept);
  },
  delete: ({ cache, model, at }) => {
    cache.delete(keyAt(at));
    model.take(at);
  },
  purge: ({ cache, model }) => {
    cache.purge('team-a');
    model.kept = [];
  },
  purgeOther: ({ cache }) => cache.purge('team-b'),
  pass: ({ clock, ms }) => {
    clock.nowMs += ms;
  },
};

describe('entries in memory', () => {
  it('the least recently used goes first', () => {
    const { cache } = cacheFor(2);
    const [one, two, three] = [keyOf('one'), keyOf('two'), keyOf('three')];
    cache.set(one, HUNDRED, LONG_MS);
    cache.set(two, HUNDRED, LONG_MS);
    cache.get(one);
    cache.set(three, HUNDRED, LONG_MS);
    expect([one, two, three].map((key) => cache.get(key) !== undefined)).toEqual([true, false, true]);
  });

  it('a large one takes the place of several, and one that is too large of none', () => {
    const { cache } = cacheFor(3);
    for (const key of KEYS.slice(0, 3)) cache.set(key, HUNDRED, LONG_MS);
    cache.set(keyOf('huge'), Buffer.alloc(10_000), LONG_MS);
    expect(cache.size).toBe(3);
    cache.set(keyOf('large'), Buffer.alloc(200 + ENTRY_OVERHEAD_BYTES), LONG_MS);
    expect(KEYS.slice(0, 3).map((key) => cache.get(key) !== undefined)).toEqual([false, false, true]);
    expect(cache.get(keyOf('large'))).toBeDefined();
  });

  it('one that is too large does not leave an older one in its place', () => {
    const { cache } = cacheFor(1);
    cache.set(keyOf('one'), HUNDRED, LONG_MS);
    cache.set(keyOf('one'), Buffer.alloc(10_000), LONG_MS);
    expect(cache.get(keyOf('one'))).toBeUndefined();
  });

  it('is there until the last millisecond of its time and not in the next', () => {
    const { cache, clock } = cacheFor(2);
    cache.set(keyOf('one'), HUNDRED, 1_000);
    clock.nowMs = 999.9;
    expect(cache.get(keyOf('one'))).toBeDefined();
    clock.nowMs = 1_000;
    expect(cache.get(keyOf('one'))).toBeUndefined();
    expect(cache.bytes).toBe(0);
  });

  it('using it does not make it live longer', () => {
    const { cache, clock } = cacheFor(2);
    cache.set(keyOf('one'), HUNDRED, 1_000);
    for (; clock.nowMs < 1_000; clock.nowMs += 100) expect(cache.get(keyOf('one'))).toBeDefined();
    expect(cache.get(keyOf('one'))).toBeUndefined();
  });

  it('whatever is done, it is within its bounds, counts right, and has what a model would have', () => {
    const step = fc.record({
      what: fc.constantFrom(...WORDS),
      at: fc.nat(NAMES.length - 1),
      size: fc.nat(400),
      ms: fc.integer({ min: 1, max: 500 }),
    });
    fc.assert(
      fc.property(fc.array(step, { maxLength: 80 }), (steps) => {
        const { cache, clock } = cacheFor(3);
        const model = new Model(3 * (100 + ENTRY_OVERHEAD_BYTES));
        for (const { what, ...terms } of steps) {
          STEPS[what]({ cache, clock, model, ...terms });
          expect(cache.size).toBe(model.kept.length);
          expect(cache.bytes).toBe(model.bytes);
        }
      }),
    );
  });
});
