/** A ledger's file, and what stands in it as another program reads it. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';

export type Row = Readonly<Record<string, unknown>>;

export interface LedgerFile {
  readonly directory: string;
  readonly path: string;
  /** Amounts that do not fit a number are an error of the test. */
  rows(query?: string): Row[];
  /** Does something to the file that its owner does not expect. */
  run(sql: string): void;
  remove(): void;
}

export function ledgerFile(): LedgerFile {
  const directory = mkdtempSync(join(tmpdir(), 'ledger-'));
  return { ...ledgerAt(join(directory, 'data', 'ledger.db')), directory, remove: () => removeAll(directory) };
}

export function ledgerAt(path: string): Omit<LedgerFile, 'directory' | 'remove'> {
  return {
    path,
    rows: (query = 'SELECT * FROM entries ORDER BY rowid') =>
      withDatabase(path, (database) => database.prepare(query).all()),
    run: (sql) => withDatabase(path, (database) => database.exec(sql)),
  };
}

function withDatabase<T>(path: string, use: (database: DatabaseSync) => T): T {
  const database = new DatabaseSync(path, { timeout: 2_000 });
  try {
    return use(database);
  } finally {
    database.close();
  }
}

function removeAll(directory: string): void {
  rmSync(directory, { recursive: true, force: true });
}
