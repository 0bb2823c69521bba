import { CheckError } from './check.ts';

/**
 * The value of `work`, or its promise, which is rejected with a CheckError after `timeoutMs`, also where the work takes no
 * notice of its signal, and with the signal's reason where the outer one is aborted. Work that never waits costs no timer.
 */
export function withDeadline<T>(
  work: (signal: AbortSignal) => T | Promise<T>,
  timeoutMs: number,
  outer: AbortSignal,
): T | Promise<T> {
  const controller = new AbortController();
  const started = work(controller.signal);
  if (!(started instanceof Promise)) return started;
  return new Promise((resolve, reject) => {
    const stop = (reason: unknown) => {
      controller.abort(reason);
      reject(reason);
    };
    const timer = setTimeout(() => stop(new CheckError(`It took longer than ${Math.round(timeoutMs)} ms.`)), timeoutMs);
    const onAbort = () => stop(outer.reason);
    outer.addEventListener('abort', onAbort, { once: true });
    started.then(resolve, reject).finally(() => {
      clearTimeout(timer);
      outer.removeEventListener('abort', onAbort);
    });
  });
}
