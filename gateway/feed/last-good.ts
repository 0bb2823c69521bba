/**
 * The snapshot in use, kept where a restart finds it. Shards are called by their hash and the index is replaced last, so that
 * whenever the process ends, the files say either the former snapshot or this one. The first line of the index is its hash: no
 * other tells of a damaged generation, which would outrank all that is published.
 */
import { mkdir, readdir, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Complaints } from '#crds/command/complaints.ts';
import { type EncodedSnapshot, sha256Hex } from '#crds/snapshot/index-document.ts';
import { INDEX_KEY } from '#crds/snapshot/object-names.ts';
import { readBoundedFile } from './bounded-file.ts';
import type { Intake, Outcome } from './intake.ts';
import { Rounds } from './rounds.ts';

export interface LastGoodOptions {
  /** Made where it is missing. Holds credentials: readable by its owner alone. */
  readonly directory: string;
  readonly complaints: Complaints;
}

const TEMPORARY = 'new';
const SERVED: ReadonlySet<Outcome> = new Set(['offered', 'served', 'older', 'refused']);

export class LastGood {
  readonly #options: LastGoodOptions;
  readonly #rounds = new Rounds(() => this.#write());
  #kept: EncodedSnapshot | undefined;

  constructor(options: LastGoodOptions) {
    this.#options = options;
  }

  /** Offers what an earlier run kept. What is damaged is told of, and removed. */
  async restore(intake: Intake): Promise<void> {
    const { directory, complaints } = this.#options;
    const reason = await this.#offer(intake).catch((error: Error) => error.message);
    if (reason === undefined) return;
    complaints.tell('warn', 'last good snapshot ignored', { directory, reason });
    await rm(directory, { recursive: true, force: true }).catch(() => {});
  }

  /** Written soon; of several at once only the last. */
  keep(snapshot: EncodedSnapshot): void {
    this.#kept = snapshot;
    this.#rounds.hint();
  }

  /** Resolves when what is to be kept is kept. */
  idle(): Promise<void> {
    return this.#rounds.idle();
  }

  /** Why it is of no use. */
  async #offer(intake: Intake): Promise<string | undefined> {
    const { directory } = this.#options;
    const file = await readBoundedFile(join(directory, INDEX_KEY));
    if (file === undefined) return undefined;
    const lineEnd = file.indexOf('\n');
    const digest = file.toString('utf8', 0, Math.max(0, lineEnd));
    const index = file.toString('utf8', lineEnd + 1);
    if (digest !== sha256Hex(index)) return 'its index is damaged';
    const outcome = await intake.take(index, ({ hash }) => readBoundedFile(join(directory, hash)));
    return SERVED.has(outcome) ? undefined : `it is ${outcome}`;
  }

  async #write(): Promise<void> {
    const { directory, complaints } = this.#options;
    if (this.#kept === undefined) return;
    const { index, shards } = this.#kept;
    const files = new Map([...shards.values()].map((bytes) => [sha256Hex(bytes), bytes] as const));
    try {
      await mkdir(directory, { recursive: true, mode: 0o700 });
      const present = await readdir(directory);
      for (const [name, bytes] of files) if (!present.includes(name)) await this.#put(name, bytes);
      await this.#put(INDEX_KEY, `${sha256Hex(index)}\n${index}`);
      const stale = present.filter((name) => name !== INDEX_KEY && !files.has(name));
      await Promise.all(stale.map((name) => rm(join(directory, name), { recursive: true, force: true })));
    } catch (error) {
      complaints.tell('warn', 'last good snapshot not kept', { reason: (error as Error).message });
    }
  }

  async #put(name: string, content: Uint8Array | string): Promise<void> {
    const { directory } = this.#options;
    const temporary = join(directory, TEMPORARY);
    await writeFile(temporary, content, { mode: 0o600 });
    await rename(temporary, join(directory, name));
  }
}
