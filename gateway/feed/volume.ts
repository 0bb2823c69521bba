/**
 * Snapshots from a mounted volume. kubelet swaps all files at once, by the link `..data`, but it takes a minute or two until it
 * does so, and it puts together what it read of each object at its own time: what does not fit together yet is left for later.
 */
import { type FSWatcher, watch } from 'node:fs';
import { realpath, stat } from 'node:fs/promises';
import { join } from 'node:path';
import type { Complaints } from '#crds/command/complaints.ts';
import { INDEX_KEY } from '#crds/snapshot/object-names.ts';
import { readBoundedFile } from './bounded-file.ts';
import type { Intake } from './intake.ts';
import { Rounds } from './rounds.ts';

export interface VolumeOptions {
  /** May be missing, for now or forever. */
  readonly directory: string;
  readonly intake: Intake;
  readonly complaints: Complaints;
  /** Between two looks without a hint of the file system. Default 3,000. */
  readonly pollMs?: number | undefined;
}

const POLL_MS = 3_000;
const SWAPPED_LINK = '..data';

export class Volume {
  readonly #options: VolumeOptions;
  readonly #rounds = new Rounds(() => this.#look());
  #watched: { readonly inode: number; readonly watcher: FSWatcher } | undefined;
  #timer: NodeJS.Timeout | undefined;
  #isClosed = false;

  constructor(options: VolumeOptions) {
    this.#options = options;
  }

  /** Follows the directory; resolves after the first look. */
  async start(): Promise<void> {
    await this.#follow();
    this.#rounds.hint();
    await this.#rounds.idle();
    this.#poll();
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    clearTimeout(this.#timer);
    await this.#rounds.close();
    this.#watched?.watcher.close();
  }

  #poll(): void {
    this.#timer = setTimeout(async () => {
      await this.#follow();
      if (this.#isClosed) return;
      this.#rounds.hint();
      this.#poll();
    }, this.#options.pollMs ?? POLL_MS);
    this.#timer.unref();
  }

  async #look(): Promise<void> {
    const { directory, intake, complaints } = this.#options;
    try {
      const files = await realpath(join(directory, SWAPPED_LINK)).catch(() => directory);
      const index = await readBoundedFile(join(files, INDEX_KEY));
      if (index === undefined) return;
      await intake.take(index.toString(), ({ name }) => readBoundedFile(join(files, name)));
    } catch (error) {
      complaints.tell('warn', 'snapshot volume unreadable', { reason: (error as Error).message });
    }
  }

  /** A directory that was made anew is watched anew. */
  async #follow(): Promise<void> {
    const { directory } = this.#options;
    const inode = await stat(directory).then(
      ({ ino }) => ino,
      () => undefined,
    );
    if (this.#isClosed || this.#watched?.inode === inode) return;
    this.#watched?.watcher.close();
    this.#watched = undefined;
    if (inode !== undefined) this.#watch(directory, inode);
  }

  #watch(directory: string, inode: number): void {
    try {
      const watcher = watch(directory, { persistent: false }, () => this.#rounds.hint());
      watcher.on('error', () => {
        watcher.close();
        if (this.#watched?.watcher === watcher) this.#watched = undefined;
      });
      this.#watched = { inode, watcher };
    } catch {
      // No watcher to be had (limit reached, file system without events): looking now and then serves.
    }
  }
}
