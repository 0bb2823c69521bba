/** Many calls, few runs: in virtual time. */
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { Wakeup } from '#operator/wakeup.ts';

const DELAY_MS = 50;
const EVERY_MS = 200;

let runs: number[];
let defects: unknown[];
let work: () => Promise<void>;
let wakeup: Wakeup;

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance', 'Date'] });
  runs = [];
  defects = [];
  work = async () => {};
  const begun = performance.now();
  const options = { delayMs: DELAY_MS, everyMs: EVERY_MS, onDefect: (error: unknown) => void defects.push(error) };
  wakeup = new Wakeup(async () => {
    runs.push(performance.now() - begun);
    await work();
  }, options);
});
afterEach(() => {
  wakeup.close();
  vi.useRealTimers();
});

const pass = (ms: number) => vi.advanceTimersByTimeAsync(ms);

describe('a wakeup', () => {
  it('runs once, a delay after the first of many calls', async () => {
    for (let call = 0; call < 10; call += 1) {
      wakeup.wake();
      await pass(4);
    }
    await pass(1000);
    expect(runs).toEqual([DELAY_MS]);
  });

  it('runs at most five times a second under calls without end', async () => {
    for (let call = 0; call < 1000; call += 1) {
      wakeup.wake();
      await pass(10);
    }
    expect(runs.length).toBeGreaterThan(45);
    expect(runs.length).toBeLessThanOrEqual(51);
    const gaps = runs.slice(1).map((at, index) => at - (runs[index] ?? 0));
    expect(Math.min(...gaps)).toBeGreaterThanOrEqual(EVERY_MS);
  });

  it('never runs twice at a time: what comes during a run is taken in by the next', async () => {
    let running = 0;
    let most = 0;
    work = async () => {
      running += 1;
      most = Math.max(most, running);
      await new Promise((resolve) => setTimeout(resolve, 500));
      running -= 1;
    };
    wakeup.wake();
    await pass(100);
    wakeup.wake();
    await pass(3000);
    expect(most).toBe(1);
    expect(runs).toHaveLength(2);
  });

  it('goes on after a run that failed', async () => {
    work = () => Promise.reject(new Error('it broke'));
    wakeup.wake();
    await pass(100);
    wakeup.wake();
    await pass(1000);
    expect(runs).toHaveLength(2);
    expect(defects).toHaveLength(2);
  });

  it('takes the soonest of several times', async () => {
    wakeup.wake(5_000);
    wakeup.wake(100);
    wakeup.wake(3_000);
    await pass(10_000);
    expect(runs).toEqual([100]);
  });

  it('that is closed runs no more', async () => {
    wakeup.wake();
    wakeup.close();
    wakeup.wake();
    await pass(1000);
    expect(runs).toEqual([]);
    expect(vi.getTimerCount()).toBe(0);
  });
});
