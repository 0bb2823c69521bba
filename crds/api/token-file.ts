/** A token that somebody else renews in a file, as kubelet does. */
import { readFile, stat } from 'node:fs/promises';

/** Looked at for changes at most so often. */
const LOOK_EVERY_MS = 10_000;

export class TokenFile {
  readonly #path: string;
  #token: string | undefined;
  /** Of the file that was read: kubelet swaps links, so that the inode tells as well. */
  #mark = '';
  #lookedMs = Number.NEGATIVE_INFINITY;

  constructor(path: string) {
    this.#path = path;
  }

  /** Rejects where no token was ever read; one that cannot be read anew is used on. */
  async read(): Promise<string> {
    if (this.#token !== undefined && performance.now() - this.#lookedMs < LOOK_EVERY_MS) return this.#token;
    try {
      this.#token = await this.#readChanged();
      this.#lookedMs = performance.now();
      return this.#token;
    } catch (cause) {
      if (this.#token !== undefined) return this.#token;
      throw new Error(`the token file ${this.#path} cannot be read: ${(cause as Error).message}`, { cause });
    }
  }

  /** The token was refused: the next `read` takes it from the file. */
  forget(): void {
    this.#lookedMs = Number.NEGATIVE_INFINITY;
    this.#mark = '';
  }

  async #readChanged(): Promise<string> {
    const { mtimeMs, ino, size } = await stat(this.#path);
    const mark = `${mtimeMs} ${ino} ${size}`;
    if (this.#token !== undefined && mark === this.#mark) return this.#token;
    const token = (await readFile(this.#path, 'utf8')).trim();
    if (token === '') throw new Error('it is empty');
    this.#mark = mark;
    return token;
  }
}
