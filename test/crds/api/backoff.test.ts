import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { Backoff } from '#crds/api/backoff.ts';
import { compareVersions } from '#crds/api/resource-version.ts';
import { sleep } from '#crds/api/sleep.ts';
import { Watchdog } from '#crds/api/watchdog.ts';
import { pass, useVirtualTime } from './virtual-time.ts';

useVirtualTime();

function waits(backoff: Backoff, count: number): number[] {
  return Array.from({ length: count }, () => backoff.nextMs());
}

describe('a backoff', () => {
  it('doubles from 0.2 s up to 30 s', () => {
    expect(waits(new Backoff({ random: () => 1 }), 10)).toEqual([
      200, 400, 800, 1600, 3200, 6400, 12_800, 25_600, 30_000, 30_000,
    ]);
  });

  it('is at least half of that', () => {
    expect(waits(new Backoff({ random: () => 0 }), 3)).toEqual([100, 200, 400]);
  });

  it('begins anew after a success', () => {
    const backoff = new Backoff({ random: () => 1 });
    waits(backoff, 7);
    backoff.reset();
    expect(backoff.nextMs()).toBe(200);
  });

  it('has a lower bound where that is asked for, and stays jittered there', () => {
    const backoff = new Backoff({ firstMs: 1_000, mostMs: 60_000, random: () => 0.5 });
    waits(backoff, 20);
    expect(backoff.nextMs(5_000)).toBe(3_750);
    expect(backoff.nextMs()).toBe(45_000);
  });

  it('never waits twice the same by default, and never past its bounds', () => {
    const backoff = new Backoff();
    const taken = waits(backoff, 1_200).slice(10);
    expect(new Set(taken).size).toBeGreaterThan(1_000);
    expect(Math.min(...taken)).toBeGreaterThanOrEqual(15_000);
    expect(Math.max(...taken)).toBeLessThanOrEqual(30_000);
  });
});

describe('resource versions', () => {
  it('are ordered as the numbers they are, however long', () => {
    fc.assert(
      fc.property(fc.bigInt({ min: 0n, max: 2n ** 80n }), fc.bigInt({ min: 0n, max: 2n ** 80n }), (a, b) => {
        const order = a < b ? -1 : a > b ? 1 : 0;
        expect(Math.sign(compareVersions(String(a), String(b)))).toBe(order);
      }),
    );
  });
});

describe('a sleep', () => {
  it('ends in time, or as soon as it is given up', async () => {
    const controller = new AbortController();
    const ended: string[] = [];
    sleep(1_000, controller.signal).then(() => ended.push('first'));
    sleep(5_000, controller.signal).then(() => ended.push('second'));
    await pass(999);
    expect(ended).toEqual([]);
    await pass(1);
    expect(ended).toEqual(['first']);
    controller.abort();
    await pass();
    expect(ended).toEqual(['first', 'second']);
    await sleep(1_000, controller.signal);
  });
});

describe('a watchdog', () => {
  it('aborts once the limit that was set last has passed', async () => {
    const watchdog = new Watchdog();
    watchdog.within(1_000);
    await pass(900);
    watchdog.within(2_000);
    await pass(1_999);
    expect([watchdog.signal.aborted, watchdog.expiredMs]).toEqual([false, undefined]);
    await pass(1);
    expect([watchdog.signal.aborted, watchdog.expiredMs]).toEqual([true, 2_000]);
    watchdog.end();
  });

  it('aborts with another signal, until it is ended', () => {
    const outer = new AbortController();
    const [bound, ended, late] = [new Watchdog(outer.signal), new Watchdog(outer.signal), outer];
    bound.within(1_000);
    ended.within(1_000);
    ended.end();
    outer.abort(new Error('closed'));
    expect([bound.signal.aborted, ended.signal.aborted]).toEqual([true, false]);
    expect(bound.signal.reason).toMatchObject({ message: 'closed' });
    expect(bound.expiredMs).toBeUndefined();
    expect(new Watchdog(late.signal).signal.aborted).toBe(true);
    bound.end();
  });
});
