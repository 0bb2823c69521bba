/** Wakes the source early when a directory changes. Only a hint: the rescan finds what no event told of. */
import { type FSWatcher, watch } from 'node:fs';

/** More directories than this are left to the rescan. */
const MAX_WATCHED = 500;

export class DirectoryWatch {
  readonly #onHint: () => void;
  readonly #watchers = new Map<string, FSWatcher>();

  constructor(onHint: () => void) {
    this.#onHint = onHint;
  }

  /** Watches exactly these: path -> inode. A directory that was replaced is watched anew. */
  follow(directories: ReadonlyMap<string, string>): void {
    const wanted = new Map([...directories].slice(0, MAX_WATCHED).map(([path, inode]) => [`${inode} ${path}`, path]));
    for (const [key, watcher] of this.#watchers) {
      if (wanted.has(key)) continue;
      watcher.close();
      this.#watchers.delete(key);
    }
    for (const [key, path] of wanted) if (!this.#watchers.has(key)) this.#add(key, path);
  }

  close(): void {
    for (const watcher of this.#watchers.values()) watcher.close();
    this.#watchers.clear();
  }

  #add(key: string, path: string): void {
    try {
      const watcher = watch(path, { persistent: false }, () => this.#onHint());
      watcher.on('error', () => {
        watcher.close();
        this.#watchers.delete(key);
      });
      this.#watchers.set(key, watcher);
    } catch {
      // No watcher to be had (limit reached, file system without events): the rescan serves.
    }
  }
}
