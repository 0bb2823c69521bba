/** Source -> compile -> encode -> sink -> statuses; once at the start, then after every change. */

import type { Snapshot } from '#crds/snapshot/contract.ts';
import { type EncodedSnapshot, encodeSnapshot } from '#crds/snapshot/encode.ts';
import { type Compiled, type CompileTools, compile } from './compile/compile.ts';
import type { LastGood } from './compile/elect.ts';
import { type Ack, type ObjectStatus, withProgrammed } from './compile/status.ts';
import type { Source } from './source/source.ts';
import type { Problem, WorldSettings } from './world.ts';

/** Who serves the snapshot. */
export interface Sink {
  /** `refused`: why the former snapshot is kept. */
  load(encoded: EncodedSnapshot): Ack & { readonly hash: string };
}

export interface LoopOptions {
  readonly source: Source;
  readonly sink: Sink;
  readonly settings: WorldSettings;
  readonly tools: CompileTools;
  /** After each pass, the first included. */
  readonly onPass: (pass: Pass) => void;
  /** A pass threw, which none should: what was served is served still, and the next change is tried as usual. */
  readonly onDefect: (error: unknown) => void;
  /** How long the world must be still before it is compiled. Default 50. */
  readonly debounceMs?: number;
}

export interface Pass {
  readonly generation: number;
  readonly statuses: readonly ObjectStatus[];
  readonly problems: readonly Problem[];
  readonly snapshot: Snapshot;
  /** Secrets that could not be written: `Secret ns/name: why`. */
  readonly writeFailures: readonly string[];
  readonly tookMs: number;
}

export interface Loop {
  /** Stops following the source, which stays open. */
  close(): void;
}

const DEBOUNCE_MS = 50;
/** A world that never stands still is compiled this often nevertheless. */
const MAX_DEBOUNCE_MS = 250;

/** Resolves after the first pass: everything that could be read is served. Rejects only on a defect. */
export async function startLoop(options: LoopOptions): Promise<Loop> {
  const run = new Run(options);
  await run.pass();
  options.source.onChange(() => run.wake());
  return { close: () => run.close() };
}

class Run {
  readonly #options: LoopOptions;
  #lastGood: LastGood = new Map();
  #generation = 0;
  #servedHash: string | undefined;
  #ack: Ack | undefined;
  #timer: NodeJS.Timeout | undefined;
  #wokenMs: number | undefined;
  #passing: Promise<void> = Promise.resolve();
  #closed = false;

  constructor(options: LoopOptions) {
    this.#options = options;
  }

  wake(): void {
    if (this.#closed) return;
    const nowMs = performance.now();
    this.#wokenMs ??= nowMs;
    const latestMs = this.#wokenMs + MAX_DEBOUNCE_MS - nowMs;
    clearTimeout(this.#timer);
    this.#timer = setTimeout(
      () => {
        this.#wokenMs = undefined;
        this.#passing = this.#passing.then(() => this.pass()).catch(this.#options.onDefect);
      },
      Math.max(0, Math.min(this.#options.debounceMs ?? DEBOUNCE_MS, latestMs)),
    );
  }

  close(): void {
    this.#closed = true;
    clearTimeout(this.#timer);
  }

  async pass(): Promise<void> {
    if (this.#closed) return;
    const startedMs = performance.now();
    const first = this.#compile();
    const writeFailures = await this.#writeSecrets(first.manifests);
    const compiled = first.manifests.length === 0 ? first : this.#compile();
    this.#publish(compiled);
    this.#lastGood = compiled.lastGood;
    this.#options.onPass({
      generation: this.#generation,
      statuses: withProgrammed(compiled.statuses, this.#ack),
      problems: this.#options.source.observe().problems,
      snapshot: compiled.snapshot,
      writeFailures,
      tookMs: performance.now() - startedMs,
    });
  }

  /** A key is served only once it is stored: a crash in between must not lose a key that somebody was given. */
  async #writeSecrets(secrets: Compiled['manifests']): Promise<readonly string[]> {
    const failures: string[] = [];
    for (const secret of secrets) {
      try {
        await this.#options.source.writeSecret(secret);
      } catch (error) {
        failures.push(`Secret ${secret.namespace}/${secret.name}: ${(error as Error).message}`);
      }
    }
    return failures;
  }

  #compile(): Compiled {
    const { source, settings, tools } = this.#options;
    return compile({ ...source.observe(), settings }, this.#lastGood, tools);
  }

  /** Nothing is loaded that is served already. */
  #publish({ snapshot }: Compiled): void {
    try {
      const encoded = encodeSnapshot(snapshot, this.#generation + 1);
      const { hash } = JSON.parse(encoded.index) as { hash: string };
      if (hash === this.#servedHash) return;
      const ack = this.#options.sink.load(encoded);
      this.#generation += 1;
      this.#ack = ack;
      this.#servedHash = ack.refused === undefined ? hash : undefined;
    } catch (error) {
      this.#ack = { generation: this.#generation, refused: (error as Error).message };
      this.#servedHash = undefined;
    }
  }
}
