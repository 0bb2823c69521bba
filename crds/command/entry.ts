/** What the commands have in common: their answers to --help, --version and wrong flags, and how they end. */
import { readFileSync, statSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

/** Root of the installation, with a trailing slash. */
export const PROJECT_ROOT = fileURLToPath(new URL('../..', import.meta.url));

export function projectVersion(): string {
  return (JSON.parse(readFileSync(`${PROJECT_ROOT}package.json`, 'utf8')) as { version: string }).version;
}

/** Ends the process with status 2 after one line on stderr. */
export function refuseToStart(line: string): never {
  process.stderr.write(`model-gateway: ${line}\n`);
  process.exit(2);
}

/** Ends the process with status 0 after the text on stdout. */
export function answerAndExit(text: string): never {
  process.stdout.write(`${text}\n`);
  process.exit(0);
}

/** Ends the process with status 2 unless every path exists. `what` is what the user called them. */
export function assertExist(what: string, paths: readonly string[]): void {
  for (const path of paths) {
    if (statSync(path, { throwIfNoEntry: false }) === undefined) refuseToStart(`${what}: ${path} does not exist`);
  }
}

/** A signal that comes twice within this time came once: from the terminal, and again from the parent process. */
const SAME_SIGNAL_MS = 1_000;

/** On SIGINT and SIGTERM ends the process by `drain`, with status 0; a second signal ends it at once, with status 1. */
export function endOnSignals(drain: () => Promise<unknown>): void {
  let endingSinceMs: number | undefined;
  const end = async (): Promise<void> => {
    if (endingSinceMs !== undefined) {
      if (performance.now() - endingSinceMs > SAME_SIGNAL_MS) process.exit(1);
      return;
    }
    endingSinceMs = performance.now();
    await drain();
    process.exit(0);
  };
  process.on('SIGINT', end);
  process.on('SIGTERM', end);
}
