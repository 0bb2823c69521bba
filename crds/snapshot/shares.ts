/**
 * What gateways are told of one another where no store counts for all of them: which replicas there are, and what each budget
 * was used by all. It is besides all that an operator keeps of budgets: one that starts anew goes on from here.
 */

import { gunzipSync, gzipSync } from 'node:zlib';

export const SHARES_FORMAT = 1;
/** Key in the ConfigMap, and file in a mounted volume. */
export const SHARES_KEY = 'shares';

/** One process of a gateway. */
export interface SharingProcess {
  readonly incarnation: string;
  /** Name of its pod. */
  readonly pod: string;
}

export interface BudgetShare {
  /** Of the counter: see `limits/counter-key.ts`. */
  readonly key: string;
  /** By all, those that are gone included: tokens, or 1e-12 US dollars. Decimal digits. */
  readonly used: string;
  /** What of it each process told of itself, by its index in `processes`. */
  readonly by?: Readonly<Record<string, string>>;
  /** An alert was given. */
  readonly alerted?: true;
}

export interface Shares {
  readonly format: typeof SHARES_FORMAT;
  /** Grows with every publication. */
  readonly version: number;
  /** Names of the pods that are ready, in order. */
  readonly replicas: readonly string[];
  readonly processes: readonly SharingProcess[];
  /** In order of their keys. */
  readonly budgets: readonly BudgetShare[];
}

const MAX_UNPACKED_BYTES = 16 * 1024 * 1024;
/** What is longer is compressed. */
const MAX_PLAIN_BYTES = 64 * 1024;
const GZIP_MAGIC = 0x1f;
const DIGITS = /^\d{1,40}$/;

/** Text as it is, or gzip'ed where it is long. */
export function encodeShares(shares: Shares): Buffer {
  const text = Buffer.from(JSON.stringify(shares));
  return text.length <= MAX_PLAIN_BYTES ? text : gzipSync(text);
}

/** Throws where bytes are not what `encodeShares` wrote. */
export function decodeShares(bytes: Uint8Array): Shares {
  const isPacked = bytes[0] === GZIP_MAGIC;
  const text = isPacked ? gunzipSync(bytes, { maxOutputLength: MAX_UNPACKED_BYTES }) : Buffer.from(bytes);
  const shares: unknown = JSON.parse(text.toString());
  const { format, version, replicas, processes, budgets } = Object(shares) as Partial<Record<keyof Shares, unknown>>;
  if (format !== SHARES_FORMAT)
    throw new Error(`shares: unknown format ${format}: this version reads ${SHARES_FORMAT}`);
  if (!Number.isSafeInteger(version)) throw new Error('shares.version: must be an integer');
  assertList('replicas', replicas, (name) => typeof name === 'string');
  assertList('processes', processes, isProcess);
  assertList('budgets', budgets, isBudget);
  return shares as Shares;
}

function assertList(field: string, value: unknown, isRight: (item: unknown) => boolean): void {
  if (!Array.isArray(value)) throw new Error(`shares.${field}: must be a list`);
  const wrong = value.findIndex((item) => !isRight(item));
  if (wrong >= 0) throw new Error(`shares.${field}[${wrong}]: is not what an operator writes`);
}

function isProcess(value: unknown): boolean {
  const { incarnation, pod } = Object(value) as Partial<SharingProcess>;
  return typeof incarnation === 'string' && typeof pod === 'string';
}

function isBudget(value: unknown): boolean {
  const { key, used, by = {} } = Object(value) as Partial<BudgetShare>;
  return typeof key === 'string' && isAmount(used) && Object.values(by).every(isAmount);
}

function isAmount(text: unknown): boolean {
  return typeof text === 'string' && DIGITS.test(text);
}
