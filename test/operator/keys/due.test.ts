/** When a key is due. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { dueAt, type RotationRule } from '#operator/keys/due.ts';

const DAY_MS = 86_400_000;
const at = (text: string) => Date.parse(text);
const shown = (timeMs: number | undefined) =>
  timeMs === undefined ? 'never' : new Date(timeMs).toISOString().slice(0, 16);

describe('a key is due', () => {
  it.each<[string, RotationRule['period'], string | undefined, string | undefined, string]>([
    ['never without a policy', undefined, undefined, '2026-01-10T12:00Z', 'never'],
    ['a week after the last rotation', 'weekly', undefined, '2026-01-10T12:00Z', '2026-01-17T12:00'],
    ['a month after it', 'monthly', undefined, '2026-01-10T12:00Z', '2026-02-10T12:00'],
    ['on the last day of a month that is too short', 'monthly', undefined, '2026-01-31T12:00Z', '2026-02-28T12:00'],
    ['on the 29th in a leap year', 'monthly', undefined, '2028-01-31T12:00Z', '2028-02-29T12:00'],
    [
      'at the time that is named, if that is to come',
      'weekly',
      '2026-03-01T00:00Z',
      '2026-01-10T12:00Z',
      '2026-03-01T00:00',
    ],
    ['at the next of its row, if that is past', 'weekly', '2026-01-01T00:00Z', '2026-01-10T12:00Z', '2026-01-15T00:00'],
    [
      'a period after the one that was just done',
      'weekly',
      '2026-01-01T00:00Z',
      '2026-01-01T00:00Z',
      '2026-01-08T00:00',
    ],
    ['on the 31st again after a short month', 'monthly', '2026-01-31T00:00Z', '2026-02-28T00:00Z', '2026-03-31T00:00'],
    ['once, where there is no period', undefined, '2026-03-01T00:00Z', '2026-01-10T12:00Z', '2026-03-01T00:00'],
    ['and then never again', undefined, '2026-03-01T00:00Z', '2026-03-01T00:01Z', 'never'],
    ['at once where nobody knows its age', 'monthly', undefined, undefined, '1970-01-01T00:00'],
    [
      'at the time that is named where nobody knows its age',
      'monthly',
      '2026-03-01T00:00Z',
      undefined,
      '2026-03-01T00:00',
    ],
  ])('%s', (_, period, first, since, expected) => {
    const rule = { period, firstAtMs: first === undefined ? undefined : at(first) };
    expect(shown(dueAt(rule, since === undefined ? undefined : at(since)))).toBe(expected);
  });

  it('after its last rotation, within a period, and in the row that is named', () => {
    const times = fc.integer({ min: at('2020-01-01T00:00Z'), max: at('2060-01-01T00:00Z') });
    fc.assert(
      fc.property(fc.constantFrom('weekly', 'monthly'), times, times, (period, firstAtMs, sinceMs) => {
        const due = dueAt({ period, firstAtMs }, sinceMs) ?? 0;
        expect(due).toBeGreaterThan(sinceMs);
        if (firstAtMs > sinceMs) expect(due).toBe(firstAtMs);
        else expect(due - sinceMs).toBeLessThanOrEqual((period === 'weekly' ? 7 : 31) * DAY_MS);
        if (period === 'weekly') expect((due - firstAtMs) % (7 * DAY_MS)).toBe(0);
        else expect(due % DAY_MS).toBe(firstAtMs % DAY_MS);
      }),
    );
  });

  it('ever later, however often it is rotated', () => {
    let sinceMs = at('2024-01-31T10:00Z');
    const rule = { period: 'monthly', firstAtMs: sinceMs } as const;
    const days: number[] = [];
    for (let month = 0; month < 14; month++) {
      sinceMs = dueAt(rule, sinceMs) ?? 0;
      days.push(new Date(sinceMs).getUTCDate());
    }
    expect(days).toEqual([29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31, 31, 28, 31]);
  });
});
