/** Patterns of users. RE2 alone: its time grows with text times program, never faster. */
import { RE2JS } from 're2js';

export const MAX_PATTERN_BYTES = 1024;
/** Bounds what one look at a text may cost. */
const MAX_PROGRAM_SIZE = 2000;
const MAX_REPEATS = 1000;

/** A pattern, or why it is none: words that follow the name of its field. */
export function compilePattern(source: string): RE2JS | string {
  if (Buffer.byteLength(source) > MAX_PATTERN_BYTES) return `must be at most ${MAX_PATTERN_BYTES} bytes long`;
  // Before compiling: repeats are written out in the program, which takes a second for the worst of 1 KiB.
  if (repeats(source) > MAX_REPEATS) return TOO_LARGE;
  try {
    const compiled = RE2JS.compile(source);
    return compiled.programSize() > MAX_PROGRAM_SIZE ? TOO_LARGE : compiled;
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    return `must be a pattern in RE2 syntax (no lookaround, no backreferences): ${reason}`;
  }
}

const TOO_LARGE = 'is too large: use fewer or smaller repeats like {n,m}';

function repeats(source: string): number {
  let sum = 0;
  for (const [, low = '', high = ''] of source.matchAll(/\{(\d+)(?:,(\d*))?\}/g))
    sum += Math.max(Number(low), Number(high));
  return sum;
}
