/**
 * What embedded mode writes of every request that used something: a table in an SQLite file. Rows are gathered and written
 * together, so that a process that is killed loses those of its last half second.
 */
import { mkdirSync } from 'node:fs';
import { dirname } from 'node:path';
import { DatabaseSync, type StatementSync } from 'node:sqlite';
import type { Exchange } from '../exchange.ts';

export interface Ledger {
  /** A settled exchange; one without a bill is no entry. Never throws. */
  append(exchange: Exchange): void;
  /** Writes what was gathered. */
  close(): void;
}

export interface LedgerOptions {
  /** Told once per fault; entries are kept until they can be written, the newest `MOST_WAITING` of them. */
  readonly onFault: (error: Error) => void;
}

const WRITE_EVERY_MS = 500;
/** A transaction of so many takes some milliseconds, in which nothing else runs. */
const WRITE_AT_ROWS = 1_000;
const MOST_WAITING = 100_000;
/** For a lock of another program: longer would hold up requests, and what is not written now is written later. */
const BUSY_MS = 50;

type Value = string | number | null;

/** Column, its type, its value; `cost` is whole units of 1e-12 US dollars. */
const COLUMNS: readonly (readonly [name: string, type: string, of: (exchange: Exchange) => Value | undefined])[] = [
  ['request_id', 'TEXT NOT NULL', ({ id }) => id],
  ['trace_id', 'TEXT NOT NULL', ({ trace }) => trace.traceId],
  ['at_ms', 'INTEGER NOT NULL', () => Date.now()],
  ['namespace', 'TEXT NOT NULL', ({ caller }) => caller?.namespace ?? ''],
  ['key', 'TEXT NOT NULL', ({ caller }) => caller?.name ?? ''],
  ['endpoint', 'TEXT NOT NULL', ({ endpoint }) => endpoint?.type ?? ''],
  ['config', 'TEXT', ({ config }) => config],
  ['provider', 'TEXT NOT NULL', ({ attempts }) => attempts.at(-1)?.provider ?? ''],
  ['integration', 'TEXT', ({ attempts }) => attempts.at(-1)?.integration],
  ['model', 'TEXT', ({ attempts }) => attempts.at(-1)?.model],
  ['answered_model', 'TEXT', ({ answeredModel }) => answeredModel],
  ['status', 'INTEGER NOT NULL', ({ status }) => status],
  ['input_tokens', 'INTEGER NOT NULL', ({ bill }) => bill?.usage.prompt_tokens ?? 0],
  ['cache_read_tokens', 'INTEGER NOT NULL', ({ bill }) => bill?.usage.prompt_tokens_details?.cached_tokens ?? 0],
  [
    'cache_write_tokens',
    'INTEGER NOT NULL',
    ({ bill }) => bill?.usage.prompt_tokens_details?.cache_creation_tokens ?? 0,
  ],
  ['output_tokens', 'INTEGER NOT NULL', ({ bill }) => bill?.usage.completion_tokens ?? 0],
  ['reasoning_tokens', 'INTEGER NOT NULL', ({ bill }) => bill?.usage.completion_tokens_details?.reasoning_tokens ?? 0],
  ['usage', 'TEXT NOT NULL', ({ bill }) => JSON.stringify(bill?.usage)],
  ['estimated', 'INTEGER NOT NULL', ({ bill }) => (bill?.estimated === true ? 1 : 0)],
  ['cost', 'INTEGER', ({ bill }) => bill?.cost],
  ['price_version', 'TEXT', ({ bill }) => bill?.priceVersion],
];
const NAMES = COLUMNS.map(([name]) => name).join(', ');
const SCHEMA = `
  CREATE TABLE IF NOT EXISTS entries (${COLUMNS.map(([name, type]) => `${name} ${type}`).join(', ')}) STRICT;
  CREATE VIEW IF NOT EXISTS costs AS
    SELECT datetime(at_ms / 1000, 'unixepoch') AS at, namespace, key, provider, model, input_tokens, output_tokens,
      CASE WHEN cost IS NULL THEN NULL ELSE printf('%d.%012d', cost / 1000000000000, cost % 1000000000000) END AS usd,
      price_version, request_id
    FROM entries;`;
const INSERT = `INSERT INTO entries (${NAMES}) VALUES (${COLUMNS.map(() => '?').join(', ')})`;

/** The file can be neither opened nor made. */
export class LedgerUnavailable extends Error {
  override readonly name = 'LedgerUnavailable';
}

/** Opens the file, or makes it and the directory that it lies in. Throws LedgerUnavailable. */
export function openLedger(file: string, { onFault }: LedgerOptions): Ledger {
  try {
    mkdirSync(dirname(file), { recursive: true });
    return new SqliteLedger(file, onFault);
  } catch (cause) {
    throw new LedgerUnavailable(`the ledger ${file} cannot be opened: ${(cause as Error).message}`, { cause });
  }
}

class SqliteLedger implements Ledger {
  readonly #database: DatabaseSync;
  readonly #insert: StatementSync;
  readonly #onFault: (error: Error) => void;
  #waiting: Value[][] = [];
  #timer: NodeJS.Timeout | undefined;
  #failing = false;

  constructor(file: string, onFault: (error: Error) => void) {
    this.#onFault = onFault;
    this.#database = new DatabaseSync(file, { timeout: BUSY_MS });
    this.#database.exec(`PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL; ${SCHEMA}`);
    this.#insert = this.#database.prepare(INSERT);
  }

  append(exchange: Exchange): void {
    if (exchange.bill === undefined) return;
    this.#waiting.push(COLUMNS.map(([, , of]) => of(exchange) ?? null));
    if (this.#waiting.length >= WRITE_AT_ROWS && !this.#failing) this.#write();
    else this.#timer ??= setTimeout(this.#write, WRITE_EVERY_MS);
  }

  close(): void {
    this.#write();
    clearTimeout(this.#timer);
    this.#database.close();
  }

  readonly #write = (): void => {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    if (this.#waiting.length === 0) return;
    try {
      this.#insertAll();
      this.#waiting = [];
      this.#failing = false;
    } catch (error) {
      this.#keep(error as Error);
    }
  };

  #insertAll(): void {
    this.#database.exec('BEGIN IMMEDIATE');
    try {
      for (const row of this.#waiting) this.#insert.run(...row);
      this.#database.exec('COMMIT');
    } catch (error) {
      if (this.#database.isTransaction) this.#database.exec('ROLLBACK');
      throw error;
    }
  }

  #keep(error: Error): void {
    if (!this.#failing) this.#onFault(error);
    this.#failing = true;
    this.#waiting = this.#waiting.slice(-MOST_WAITING);
    this.#timer = setTimeout(this.#write, WRITE_EVERY_MS);
  }
}
