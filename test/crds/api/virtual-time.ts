import { afterEach, beforeEach, expect, vi } from 'vitest';

/** In each test of the file time passes only by `pass`, and none leaves a timer behind. */
export function useVirtualTime(): void {
  beforeEach(() => {
    vi.useFakeTimers({
      toFake: ['setTimeout', 'clearTimeout', 'setInterval', 'clearInterval', 'Date', 'performance'],
      now: Date.parse('2026-01-01T00:00:00Z'),
    });
  });
  afterEach(() => {
    const left = vi.getTimerCount();
    vi.useRealTimers();
    expect(left, 'timers left behind').toBe(0);
  });
}

export async function pass(ms = 0): Promise<void> {
  await vi.advanceTimersByTimeAsync(ms);
}
