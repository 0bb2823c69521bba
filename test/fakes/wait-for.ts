import { setTimeout } from 'node:timers/promises';

/** Looks every 5 ms until `holds` is true; after `timeoutMs` it throws, naming `what` was waited for. */
export async function waitFor(holds: () => boolean | Promise<boolean>, what: string, timeoutMs = 5_000): Promise<void> {
  const deadline = performance.now() + timeoutMs;
  while (!(await holds())) {
    if (performance.now() > deadline) throw new Error(`Waited ${timeoutMs} ms in vain for ${what}.`);
    await setTimeout(5);
  }
}
