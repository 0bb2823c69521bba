/** Sinks for logs under test: one that takes everything, and one whose reader does as the test says. */
import type { LineSink } from '#crds/command/line-writer.ts';

export interface CollectingSink extends LineSink {
  readonly text: string;
  readonly writes: number;
}

/** Takes all bytes, after a turn of the event loop. */
export function collectingSink(): CollectingSink {
  const chunks: Buffer[] = [];
  return {
    write(bytes, done) {
      chunks.push(Buffer.from(bytes));
      setImmediate(done, null, bytes.length);
    },
    writeSync(bytes) {
      chunks.push(Buffer.from(bytes));
      return bytes.length;
    },
    get text() {
      return Buffer.concat(chunks).toString();
    },
    get writes() {
      return chunks.length;
    },
  };
}

export type Reaction = number | 'all' | 'EAGAIN' | 'EPIPE';

function errorOf(code: string): NodeJS.ErrnoException {
  return Object.assign(new Error(code), { code });
}

/** Asks `react` about every write: how many bytes it takes, or the error. */
export function reactingSink(react: (call: number) => Reaction): CollectingSink {
  const chunks: Buffer[] = [];
  let calls = 0;
  function take(bytes: Uint8Array): number {
    const reaction = react(calls++);
    if (typeof reaction === 'string' && reaction !== 'all') throw errorOf(reaction);
    const taken = reaction === 'all' ? bytes.length : Math.min(reaction, bytes.length);
    chunks.push(Buffer.from(bytes.subarray(0, taken)));
    return taken;
  }
  return {
    write(bytes, done) {
      try {
        setImmediate(done, null, take(bytes));
      } catch (error) {
        setImmediate(done, error as NodeJS.ErrnoException, 0);
      }
    },
    writeSync: take,
    get text() {
      return Buffer.concat(chunks).toString();
    },
    get writes() {
      return calls;
    },
  };
}
