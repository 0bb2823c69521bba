/** What is written next into a key's Secret: the whole state machine, by property. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { digestOf, KEY_FIELDS, keyStateOf } from '#operator/keys/key-state.ts';
import { type IssuedKey, stepOf, wakeAt } from '#operator/keys/rotation-step.ts';
import { rotationWord } from '#operator/keys/rotation-word.ts';

const TRANSITION_MS = 1_800_000;
const isKey = (key: string) => key.length >= 16;

let made = 0;
const newKey = () => `a-key-that-is-new-${++made}`;

function issued(values: Readonly<Record<string, string>>, more: Partial<IssuedKey> = {}): IssuedKey {
  const map = new Map(Object.entries(values));
  const secret = {
    namespace: 'a',
    name: 'k-api-key',
    values: map,
    place: undefined,
    refused: undefined,
    generated: true,
  };
  const state = keyStateOf(map, values[KEY_FIELDS.current] ?? '', isKey);
  return {
    namespace: 'a',
    name: 'k',
    secret,
    state,
    word: undefined,
    dueAtMs: undefined,
    transitionMs: TRANSITION_MS,
    ...more,
  };
}

function changed(values: Readonly<Record<string, string>>, changes: Readonly<Record<string, string | undefined>>) {
  const all = Object.entries({ ...values, ...changes });
  return Object.fromEntries(all.filter((one): one is [string, string] => one[1] !== undefined));
}

/** What each step keeps to. */
function expectStep(
  before: Readonly<Record<string, string>>,
  after: Readonly<Record<string, string>>,
  { nowMs, isServed }: { readonly nowMs: number; readonly isServed: boolean },
): void {
  const [former = '', present] = [before[KEY_FIELDS.current], after[KEY_FIELDS.current]];
  if (present === former) {
    const isEnded = before[KEY_FIELDS.previousDigest] !== after[KEY_FIELDS.previousDigest];
    if (isEnded) expect(nowMs).toBeGreaterThanOrEqual(Date.parse(before[KEY_FIELDS.previousExpiry] ?? ''));
    return;
  }
  expect(isServed).toBe(true);
  expect(present).toBe(before[KEY_FIELDS.next]);
  expect(after[KEY_FIELDS.previousDigest]).toBe(digestOf(former));
  expect(Date.parse(after[KEY_FIELDS.previousExpiry] ?? '')).toBe(nowMs + TRANSITION_MS);
  // Plaintext of a former key is nowhere.
  expect(JSON.stringify(after)).not.toContain(former);
}

const idle = { nowMs: 0, isServed: false, wanted: undefined };
const FIRST = { api_key: 'the-first-key-of-all' };

describe('a step', () => {
  it('is none for a key that is not due, whatever is served', () => {
    expect(stepOf(issued(FIRST), { ...idle, isServed: true }, newKey)).toBeUndefined();
    expect(stepOf(issued(FIRST, { dueAtMs: 11 }), { ...idle, nowMs: 10 }, newKey)).toBeUndefined();
  });

  it('begins with a next key, at the millisecond at which it is due', () => {
    const changes = stepOf(issued(FIRST, { dueAtMs: 10 }), { ...idle, nowMs: 10 }, newKey);
    expect(changes).toEqual({ next_api_key: expect.stringMatching(/^a-key/), next_transition_ms: undefined });
  });

  it('switches only once the next key is served, and never in the write that makes it', () => {
    const begun = { ...FIRST, next_api_key: 'the-second-key-of-all' };
    expect(stepOf(issued(begun, { dueAtMs: 0, word: 'x' }), { ...idle, wanted: {} }, newKey)).toBeUndefined();
    expect(stepOf(issued(begun), { ...idle, nowMs: 5_000, isServed: true }, newKey)).toEqual({
      api_key: 'the-second-key-of-all',
      next_api_key: undefined,
      next_transition_ms: undefined,
      previous_api_key_sha256: digestOf('the-first-key-of-all'),
      previous_expires_at: new Date(5_000 + TRANSITION_MS).toISOString(),
      rotated_at: new Date(5_000).toISOString(),
      cut_short_at: undefined,
    });
  });

  it('does not begin anew during a transition because it is due, only because it is asked', () => {
    const values = {
      ...FIRST,
      previous_api_key_sha256: 'f'.repeat(64),
      previous_expires_at: new Date(100).toISOString(),
    };
    const key = issued(values, { dueAtMs: 0 });
    expect(stepOf(key, { ...idle, nowMs: 99 }, newKey)).toBeUndefined();
    expect(stepOf(key, { ...idle, nowMs: 99, wanted: { transitionMs: 7 } }, newKey)).toMatchObject({
      next_transition_ms: '7',
    });
    expect(stepOf(issued(values, { word: 'w' }), { ...idle, nowMs: 99 }, newKey)).toHaveProperty('next_api_key');
    expect(
      stepOf(issued({ ...values, rotation_word: 'w' }, { word: 'w' }), { ...idle, nowMs: 99 }, newKey),
    ).toBeUndefined();
    expect(stepOf(key, { ...idle, nowMs: 100 }, newKey)).toEqual({
      previous_api_key_sha256: undefined,
      previous_expires_at: undefined,
      cut_short_at: undefined,
    });
    expect(wakeAt(key)).toBe(100);
  });

  it('takes the time of the transition from a word that asks, not from one that was done', () => {
    const word = rotationWord(2 * TRANSITION_MS);
    const lasting = (values: object, more: object) =>
      stepOf(issued({ ...FIRST, ...values }, more), { ...idle, nowMs: 10 }, newKey)?.['next_transition_ms'];
    expect(lasting({}, { word })).toBe(String(2 * TRANSITION_MS));
    expect(lasting({}, { word: 'any' })).toBeUndefined();
    expect(lasting({}, { word: 'tomorrow+5ms' })).toBeUndefined();
    expect(lasting({ rotation_word: word }, { word, dueAtMs: 10 })).toBeUndefined();
  });

  it('of any order of events keeps the present key and one former key, and loses none before its end', () => {
    const event = fc.record({
      afterMs: fc.integer({ min: 0, max: 2 * TRANSITION_MS }),
      isServed: fc.boolean(),
      isAsked: fc.boolean(),
      word: fc.constantFrom(undefined, 'a', 'b'),
      isLost: fc.boolean(),
    });
    fc.assert(
      fc.property(fc.array(event, { maxLength: 40 }), (events) => {
        let values: Readonly<Record<string, string>> = FIRST;
        let nowMs = 0;
        for (const { afterMs, isServed, isAsked, word, isLost } of events) {
          nowMs += afterMs;
          const key = issued(values, { word, dueAtMs: nowMs + 1 });
          const changes = stepOf(key, { nowMs, isServed, wanted: isAsked ? {} : undefined }, newKey);
          if (changes === undefined || isLost) continue;
          const after = changed(values, changes);
          expectStep(values, after, { nowMs, isServed });
          values = after;
        }
      }),
    );
  });
});

describe('the state of a Secret', () => {
  it('is read of whatever anybody wrote', () => {
    const words = fc.oneof(
      fc.string(),
      fc.constantFrom('2026-01-01T00:00:00Z', 'f'.repeat(64), FIRST.api_key, '-1', '1e99', 'NaN'),
    );
    const field = fc.constantFrom(...Object.values(KEY_FIELDS).filter((name) => name !== KEY_FIELDS.current));
    fc.assert(
      fc.property(fc.dictionary(field, words), (values) => {
        const key = issued({ ...FIRST, ...values });
        const { next, previous, nextTransitionMs, sinceMs } = key.state;
        if (next !== undefined) expect(isKey(next) && next !== FIRST.api_key).toBe(true);
        if (previous !== undefined) expect(previous.digest).toMatch(/^[0-9a-f]{64}$/);
        for (const number of [previous?.expiresAtMs, nextTransitionMs, sinceMs]) expect(number).not.toBeNaN();
        expect(() => stepOf(key, { ...idle, isServed: true, wanted: {} }, newKey)).not.toThrow();
      }),
    );
  });

  it('takes no key for its own former one, nor for its next', () => {
    const state = issued({
      ...FIRST,
      next_api_key: FIRST.api_key,
      previous_api_key_sha256: digestOf(FIRST.api_key),
      previous_expires_at: '2026-01-01T00:00:00Z',
    }).state;
    expect([state.next, state.previous]).toEqual([undefined, undefined]);
  });
});
