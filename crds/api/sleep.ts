/** Resolves after `waitMs`, or as soon as `signal` aborts; leaves no timer. Not at all for 0. */
export function sleep(waitMs: number, signal: AbortSignal): Promise<void> {
  if (waitMs === 0 || signal.aborted) return Promise.resolve();
  return new Promise((resolve) => {
    const end = () => {
      clearTimeout(timer);
      signal.removeEventListener('abort', end);
      resolve();
    };
    const timer = setTimeout(end, waitMs);
    signal.addEventListener('abort', end);
  });
}
