/** One process at a time: a file that names who is at work. */
import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { setTimeout } from 'node:timers/promises';

const POLL_MS = 500;

/** Waits until no other living process holds the lock, and runs `work`. `onWait` is called once if it has to wait. */
export async function withLock<T>(path: string, work: () => Promise<T>, onWait: () => void): Promise<T> {
  let waited = false;
  while (!take(path)) {
    if (!waited) onWait();
    waited = true;
    await setTimeout(POLL_MS);
  }
  try {
    return await work();
  } finally {
    rmSync(path, { force: true });
  }
}

function take(path: string): boolean {
  try {
    writeFileSync(path, String(process.pid), { flag: 'wx' });
    return true;
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'EEXIST')) throw error;
    if (isHeld(path)) return false;
    rmSync(path, { force: true });
    return take(path);
  }
}

/** A holder that was killed left its file behind. */
function isHeld(path: string): boolean {
  try {
    const pid = Number(readFileSync(path, 'utf8'));
    // Just made, and not yet written.
    if (pid === 0) return true;
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return error instanceof Error && 'code' in error && error.code === 'EPERM';
  }
}
