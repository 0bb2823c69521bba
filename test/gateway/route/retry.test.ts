import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { Reply } from '#gateway/route/reply.ts';
import { isRetryable, MAX_WISHED_WAIT_MS, nextWait, type RetryMoment } from '#gateway/route/retry.ts';
import { NETWORK, reply, retryRule, TIMEOUT } from './world.ts';

describe('isRetryable', () => {
  const listed = (...codes: number[]) => retryRule(3, { statusCodes: new Set(codes) });
  const byDefault = retryRule(3);

  test.each([429, 500, 502, 503, 504, 529])('%d by default', (status) => {
    expect(isRetryable(byDefault, reply(status))).toBe(true);
  });

  test.each([200, 201, 246, 400, 401, 403, 404, 408, 409, 412, 413, 415, 422, 425, 446, 501, 505, 507, 508, 530])(
    'not %d by default',
    (status) => {
      expect(isRetryable(byDefault, reply(status))).toBe(false);
    },
  );

  test.each<[string, ReturnType<typeof retryRule>, Reply, boolean]>([
    ['a network error by default', byDefault, NETWORK, true],
    ['no timeout by default', byDefault, TIMEOUT, false],
    ['a timeout where 408 is listed', listed(408), TIMEOUT, true],
    ['an upstream 408 where it is listed', listed(408), reply(408), true],
    ['a network error where 502 is listed', listed(502), NETWORK, true],
    ['no network error where 502 is not listed', listed(429), NETWORK, false],
    ['a list replaces the defaults', listed(404), reply(503), false],
    ['a listed 404', listed(404), reply(404), true],
    ['a listed 446', listed(446), reply(446), true],
    ['a listed 246, though it is a success', listed(246), reply(246), true],
    ['never our own refusal', listed(403, 501), reply(501, { failure: 'refused' }), false],
    ['never what is final', listed(502), reply(502, { failure: 'network', final: true }), false],
    ['never a stream that runs', listed(200), reply(200, { streaming: true }), false],
    ['never an empty list', listed(), reply(503), false],
    ['no 400, also for a small context', byDefault, reply(400, { contextTooSmall: true }), false],
  ])('%s', (_name, rule, answered, expected) => {
    expect(isRetryable(rule, answered)).toBe(expected);
  });
});

describe('nextWait', () => {
  const moment = (overrides: Partial<RetryMoment> = {}): RetryMoment => ({
    retry: 1,
    remainingMs: 600_000,
    wishedMs: 0,
    random: 0.5,
    unixNowMs: Date.UTC(2026, 0, 1),
    ...overrides,
  });
  const heeding = retryRule(5, { useRetryAfter: true });
  const ignoring = retryRule(5);
  const wishing = (seconds: string) => reply(429, { headers: { 'retry-after': seconds } });

  test.each<[retry: number, ceilingMs: number]>([
    [1, 1000],
    [2, 2000],
    [3, 4000],
    [4, 8000],
    [5, 16_000],
  ])('retry %d waits anything up to %d ms', (retry, ceilingMs) => {
    expect(nextWait(ignoring, reply(503), moment({ retry, random: 0 }))).toEqual({ waitMs: 0, wished: false });
    expect(nextWait(ignoring, reply(503), moment({ retry, random: 0.25 }))?.waitMs).toBe(ceilingMs / 4);
    expect(nextWait(ignoring, reply(503), moment({ retry, random: 0.999 }))?.waitMs).toBeCloseTo(ceilingMs * 0.999);
  });

  test('the backoff ends before the deadline', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 5 }),
        fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true }),
        fc.double({ min: 0.001, max: 100_000, noNaN: true }),
        (retry, random, remainingMs) => {
          const wait = nextWait(ignoring, reply(503), moment({ retry, random, remainingMs }));
          expect(wait?.waitMs).toBeGreaterThanOrEqual(0);
          expect(wait?.waitMs).toBeLessThan(Math.min(remainingMs, 1000 * 2 ** (retry - 1)) + 1e-9);
        },
      ),
    );
  });

  test.each([0, -1])('with %d ms left nothing is waited for', (remainingMs) => {
    expect(nextWait(ignoring, reply(503), moment({ remainingMs }))).toBeUndefined();
    expect(nextWait(heeding, wishing('0'), moment({ remainingMs }))).toBeUndefined();
  });

  test.each<[string, Reply, Partial<RetryMoment>, number | undefined]>([
    ['a wish is followed to the letter', wishing('7'), {}, 7000],
    ['a wish of nothing', wishing('0'), {}, 0],
    ['milliseconds', reply(429, { headers: { 'retry-after-ms': '30' } }), {}, 30],
    ['a past date', wishing('Sun, 06 Nov 1994 08:49:37 GMT'), {}, 0],
    ['a date', wishing('Thu, 01 Jan 2026 00:00:09 GMT'), {}, 9000],
    ['the whole cap', wishing('60'), {}, MAX_WISHED_WAIT_MS],
    ['more than the cap', wishing('60.001'), {}, undefined],
    ['an hour', wishing('3600'), {}, undefined],
    ['what is left of the cap', wishing('20'), { wishedMs: 40_000 }, 20_000],
    ['more than is left of the cap', wishing('21'), { wishedMs: 40_000 }, undefined],
    ['up to the deadline is in vain', wishing('5'), { remainingMs: 5000 }, undefined],
    ['just before the deadline', wishing('5'), { remainingMs: 5001 }, 5000],
    ['garbage falls back to the backoff', wishing('soon'), {}, 500],
    ['no header falls back to the backoff', NETWORK, {}, 500],
    ['the backoff does not count against the cap', NETWORK, { wishedMs: MAX_WISHED_WAIT_MS }, 500],
  ])('heeding: %s', (_name, answered, overrides, waitMs) => {
    const wait = nextWait(heeding, answered, moment(overrides));
    expect(wait?.waitMs).toBe(waitMs);
  });

  test('only a wish counts as one', () => {
    expect(nextWait(heeding, wishing('2'), moment())?.wished).toBe(true);
    expect(nextWait(heeding, NETWORK, moment())?.wished).toBe(false);
  });

  test('headers are ignored where the config does not say to read them', () => {
    expect(nextWait(ignoring, wishing('3600'), moment())).toEqual({ waitMs: 500, wished: false });
  });
});
