/** Lines on their way to a file descriptor: gathered, written off the hot path, bounded, never lost without being counted. */
import { write, writeSync } from 'node:fs';

/** Where bytes go. `write` calls back with the number of bytes taken, which may be fewer than given. */
export interface LineSink {
  write(bytes: Uint8Array, done: (error: NodeJS.ErrnoException | null, writtenBytes: number) => void): void;
  /** Returns the number of bytes taken; throws as `fs.writeSync`. */
  writeSync(bytes: Uint8Array): number;
}

export interface LineWriterOptions {
  readonly sink: LineSink;
  /** Longest time that a line waits. */
  readonly intervalMs: number;
  /** Written at once when so many characters wait. */
  readonly batchChars: number;
  /** Most characters that may wait; lines beyond are dropped. */
  readonly maxChars: number;
  /** The line that tells of dropped ones, with its line feed. */
  readonly dropNotice: (dropped: number) => string;
}

const RETRY_MS = 20;
const EXIT_TRIES = 50;
const EMPTY = new Uint8Array(0);

/** A sink on a file descriptor. Writes go through the thread pool, so that a reader that stalls never stops the gateway. */
export function descriptorSink(fd: number): LineSink {
  return {
    write: (bytes, done) => write(fd, bytes, 0, bytes.length, null, done),
    writeSync: (bytes) => writeSync(fd, bytes),
  };
}

function isBusy(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === 'EAGAIN';
}

export class LineWriter {
  readonly #options: LineWriterOptions;
  #waiting = '';
  #waitingLines = 0;
  #inFlight: Uint8Array = EMPTY;
  #inFlightLines = 0;
  #timer: NodeJS.Timeout | undefined;
  #isWriting = false;
  /** Resolved when the batch in flight is done, and when the next one is. */
  #flushing: (() => void)[] = [];
  #flushNext: (() => void)[] = [];
  #unreported = 0;
  #dropped = 0;
  readonly #wake = () => {
    this.#timer = undefined;
    if (this.#inFlight.length === 0) this.#writeNext();
    else this.#send();
  };

  constructor(options: LineWriterOptions) {
    this.#options = options;
  }

  /** Lines lost so far: to a reader that did not keep up, or to an error of the descriptor. */
  get dropped(): number {
    return this.#dropped;
  }

  /** Takes a line, which ends with its line feed. Never blocks. */
  add(line: string): void {
    if (this.#waiting.length + line.length > this.#options.maxChars) {
      this.#drop(1);
      return;
    }
    this.#waiting += line;
    this.#waitingLines++;
    if (this.#inFlight.length > 0) return;
    if (this.#waiting.length >= this.#options.batchChars) this.#writeNext();
    else this.#arm(this.#options.intervalMs);
  }

  /** Resolves when all that was added before has been taken by the descriptor, or dropped. */
  flush(): Promise<void> {
    return new Promise((resolve) => {
      this.#flushNext.push(resolve);
      if (this.#inFlight.length === 0) this.#writeNext();
    });
  }

  /** For the process' end, when nothing asynchronous runs any more. A write that is under way is left to end by itself. */
  flushSync(): void {
    const unsent = this.#isWriting ? EMPTY : this.#inFlight;
    let bytes: Uint8Array = Buffer.concat([unsent, this.#takeWaiting()]);
    this.#inFlight = EMPTY;
    for (let tries = 0; bytes.length > 0 && tries < EXIT_TRIES; ) {
      try {
        bytes = bytes.subarray(this.#options.sink.writeSync(bytes));
      } catch (error) {
        if (!isBusy(error)) return;
        tries++;
        Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 1);
      }
    }
  }

  #arm(delayMs: number): void {
    if (this.#timer !== undefined) return;
    this.#timer = setTimeout(this.#wake, delayMs);
    this.#timer.unref();
  }

  #drop(lines: number): void {
    this.#dropped += lines;
    this.#unreported += lines;
  }

  #takeWaiting(): Uint8Array {
    let text = this.#waiting;
    if (this.#unreported > 0) text += this.#options.dropNotice(this.#unreported);
    this.#unreported = 0;
    this.#waiting = '';
    this.#waitingLines = 0;
    return text === '' ? EMPTY : Buffer.from(text);
  }

  #writeNext(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#flushing = this.#flushNext;
    this.#flushNext = [];
    this.#inFlightLines = this.#waitingLines;
    this.#inFlight = this.#takeWaiting();
    if (this.#inFlight.length > 0) this.#send();
    else this.#batchDone();
  }

  #send(): void {
    this.#isWriting = true;
    this.#options.sink.write(this.#inFlight, (error, writtenBytes) => this.#sent(error, writtenBytes));
  }

  #sent(error: NodeJS.ErrnoException | null, writtenBytes: number): void {
    this.#isWriting = false;
    if (isBusy(error)) {
      this.#arm(RETRY_MS);
      return;
    }
    if (error !== null) this.#drop(this.#inFlightLines);
    this.#inFlight = error === null ? this.#inFlight.subarray(writtenBytes) : EMPTY;
    if (this.#inFlight.length > 0) this.#send();
    else this.#batchDone();
  }

  /** A broken descriptor is tried again only at the next interval, so that it costs no loop. */
  #batchDone(): void {
    for (const resolve of this.#flushing) resolve();
    this.#flushing = [];
    const isUrgent = this.#flushNext.length > 0 || this.#waiting.length >= this.#options.batchChars;
    if (isUrgent) this.#writeNext();
    else if (this.#waiting !== '') this.#arm(this.#options.intervalMs);
  }
}
