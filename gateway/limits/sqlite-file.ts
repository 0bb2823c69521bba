/** The file that counts are kept in. */
import { renameSync } from 'node:fs';
import { DatabaseSync, type StatementSync } from 'node:sqlite';

/** A count, as it is kept. */
export interface KeptCount {
  readonly key: string;
  /** Of a rate limit: length of its window; null: it is a budget. */
  readonly window_ms: number | null;
  /** Of a budget, Unix milliseconds; null: never. */
  readonly ends_ms: number | null;
  /** Of a budget: what was used, as decimal text. Of a window: times and amounts in turn, as JSON. */
  readonly amount: string;
  /** When nobody needs it any more, Unix milliseconds; null: never. */
  readonly expires_ms: number | null;
}

const LAYOUT = `
  CREATE TABLE IF NOT EXISTS counts (
    key TEXT PRIMARY KEY, window_ms INTEGER, ends_ms INTEGER, amount TEXT NOT NULL, expires_ms INTEGER
  ) WITHOUT ROWID, STRICT;
  PRAGMA user_version = 1;
`;
const COLUMNS = 'key, window_ms, ends_ms, amount, expires_ms';
const BUSY_MS = 1000;
const BESIDE = ['', '-wal', '-shm'];

export class SqliteFile {
  readonly #database: DatabaseSync;
  readonly #put: StatementSync;
  readonly #forget: StatementSync;

  /** Throws where the file cannot be read as what it should be. */
  constructor(path: string) {
    this.#database = new DatabaseSync(path, { timeout: BUSY_MS });
    try {
      // A process that is killed loses nothing that was committed; a machine that loses power may lose the last seconds.
      this.#database.exec('PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL;');
      this.#database.exec(LAYOUT);
      this.#put = this.#database.prepare(`INSERT OR REPLACE INTO counts (${COLUMNS}) VALUES (?, ?, ?, ?, ?)`);
      this.#forget = this.#database.prepare('DELETE FROM counts WHERE expires_ms <= ?');
    } catch (error) {
      this.#database.close();
      throw error;
    }
  }

  /** All that is kept and not over. Throws where a row makes no sense. */
  read(nowMs: number): readonly KeptCount[] {
    this.#forget.run(nowMs);
    return this.#database.prepare(`SELECT ${COLUMNS} FROM counts`).all() as unknown as KeptCount[];
  }

  /** All or none. */
  write(counts: Iterable<KeptCount>, nowMs: number): void {
    this.#database.exec('BEGIN IMMEDIATE');
    try {
      for (const { key, window_ms, ends_ms, amount, expires_ms } of counts)
        this.#put.run(key, window_ms, ends_ms, amount, expires_ms);
      this.#forget.run(nowMs);
      this.#database.exec('COMMIT');
    } catch (error) {
      if (this.#database.isTransaction) this.#database.exec('ROLLBACK');
      throw error;
    }
  }

  close(): void {
    this.#database.close();
  }
}

/** Out of the way, with what SQLite keeps beside it; the name that it has now. */
export function moveAside(path: string, nowMs: number): string {
  const aside = `${path}.unreadable-${new Date(nowMs).toISOString().replaceAll(':', '-')}`;
  for (const ending of BESIDE) {
    try {
      renameSync(`${path}${ending}`, `${aside}${ending}`);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
    }
  }
  return aside;
}
