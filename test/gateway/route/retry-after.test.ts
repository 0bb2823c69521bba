import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { type ReplyHeaders, retryAfterMs } from '#gateway/route/retry-after.ts';

const NOW = Date.UTC(2026, 10, 20, 12, 0, 0);

describe('retryAfterMs', () => {
  test.each<[headers: ReplyHeaders, waitMs: number | undefined]>([
    // seconds
    [{ 'retry-after': '0' }, 0],
    [{ 'retry-after': '1' }, 1000],
    [{ 'retry-after': '3600' }, 3_600_000],
    [{ 'retry-after': ' 2 ' }, 2000],
    [{ 'retry-after': '0.5' }, 500],
    [{ 'retry-after': '1.1' }, 1100],
    [{ 'retry-after': '0.0001' }, 1],
    [{ 'retry-after': '007' }, 7000],
    // HTTP dates, in all three forms
    [{ 'retry-after': 'Fri, 20 Nov 2026 12:00:30 GMT' }, 30_000],
    [{ 'retry-after': 'Friday, 20-Nov-26 12:01:00 GMT' }, 60_000],
    [{ 'retry-after': 'Fri Nov 20 12:00:05 2026' }, 5000],
    [{ 'retry-after': 'Sun Nov  6 08:49:37 1994' }, 0],
    [{ 'retry-after': 'Fri, 20 Nov 2026 12:00:00 GMT' }, 0],
    [{ 'retry-after': 'Fri, 20 Nov 2026 11:59:59 GMT' }, 0],
    [{ 'retry-after': 'Sun, 06 Nov 1994 08:49:37 GMT' }, 0],
    // milliseconds
    [{ 'retry-after-ms': '1500' }, 1500],
    [{ 'retry-after-ms': '0' }, 0],
    [{ 'retry-after-ms': '20.2' }, 21],
    [{ 'x-ms-retry-after-ms': '250' }, 250],
    // who comes first
    [{ 'retry-after': '9', 'x-ms-retry-after-ms': '250', 'retry-after-ms': '100' }, 100],
    [{ 'retry-after': '9', 'x-ms-retry-after-ms': '250' }, 250],
    [{ 'retry-after': '9', 'retry-after-ms': 'soon' }, 9000],
    [{ 'retry-after': '9', 'retry-after-ms': '', 'x-ms-retry-after-ms': '-5' }, 9000],
    // repeated headers
    [{ 'retry-after': ['4', '8'] }, 4000],
    [{ 'retry-after': [] }, undefined],
    // garbage
    [{}, undefined],
    [{ 'retry-after': undefined }, undefined],
    [{ 'retry-after': '' }, undefined],
    [{ 'retry-after': 'soon' }, undefined],
    [{ 'retry-after': '-1' }, undefined],
    [{ 'retry-after': '+1' }, undefined],
    [{ 'retry-after': '1e3' }, undefined],
    [{ 'retry-after': '0x10' }, undefined],
    [{ 'retry-after': '1,5' }, undefined],
    [{ 'retry-after': '5 s' }, undefined],
    [{ 'retry-after': '.' }, undefined],
    [{ 'retry-after': 'NaN' }, undefined],
    [{ 'retry-after': 'Infinity' }, undefined],
    [{ 'retry-after': 'tomorrow 12' }, undefined],
    [{ 'retry-after': '2026-11-20T12:00:30Z' }, undefined],
    [{ 'retry-after': 'Fri, 20 Nov 2026 12:00:30 CET' }, undefined],
    [{ 'retry-after': 'Fri, 20 Nov 2026 25:00:30 GMT' }, undefined],
    [{ 'retry-after': 'Fri, 20 Xyz 2026 12:00:30 GMT' }, undefined],
    [{ 'retry-after-ms': 'Fri, 20 Nov 2026 12:00:30 GMT' }, undefined],
  ])('%j: %s', (headers, waitMs) => {
    expect(retryAfterMs(headers, NOW)).toBe(waitMs);
  });

  test('no headers at all', () => {
    expect(retryAfterMs(undefined, NOW)).toBeUndefined();
  });

  test('any date is waited for to the second, or is over', () => {
    fc.assert(
      fc.property(fc.integer({ min: -1e6, max: 1e6 }), (seconds) => {
        const date = new Date(NOW + seconds * 1000).toUTCString();
        expect(retryAfterMs({ 'retry-after': date }, NOW)).toBe(Math.max(0, seconds * 1000));
      }),
    );
  });

  test('any text gives undefined or a wait that is not negative, in whole milliseconds or without end', () => {
    const text = fc.oneof(fc.string(), fc.stringMatching(/^[0-9.eE+-]{1,30}$/), fc.stringMatching(/^[0-9]{1,400}$/));
    fc.assert(
      fc.property(text, (value) => {
        const waitMs = retryAfterMs({ 'retry-after': value }, NOW);
        if (waitMs === undefined) return;
        expect(waitMs).toBeGreaterThanOrEqual(0);
        expect(Number.isInteger(waitMs) || waitMs === Number.POSITIVE_INFINITY).toBe(true);
      }),
    );
  });
});
