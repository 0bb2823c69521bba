/** Walks the roots and says which manifest files there are, without reading them. */
import type { BigIntStats } from 'node:fs';
import { readdir, realpath, stat } from 'node:fs/promises';
import { join } from 'node:path';

export interface Root {
  /** Absolute path of a directory or a single file. */
  readonly path: string;
  /** A root that need not exist is empty while it is missing; else what was read of it is kept meanwhile. */
  readonly optional: boolean;
  /** Holds what this program wrote. */
  readonly generated: boolean;
}

export interface SightedFile {
  readonly path: string;
  /** Index of its root: the first root takes precedence. */
  readonly rank: number;
  /** Changes whenever the file, or what its symlinks lead to, was written or replaced. */
  readonly signature: string;
  readonly sizeBytes: number;
}

export interface Scan {
  readonly files: ReadonlyMap<string, SightedFile>;
  /** Visited directories: path -> inode, to watch. */
  readonly directories: ReadonlyMap<string, string>;
  /** Places that could not be listed: what was read below them is kept. */
  readonly unreadable: readonly { readonly path: string; readonly message: string }[];
}

interface Walk {
  readonly files: Map<string, SightedFile>;
  readonly directories: Map<string, string>;
  readonly unreadable: { path: string; message: string }[];
  readonly visited: Set<string>;
}

const MANIFEST = /\.(ya?ml|json)$/;

/** Lists every manifest file below the roots. Names that begin with a dot are skipped: `..data` and editors' own files. */
export async function scanRoots(roots: readonly Root[]): Promise<Scan> {
  const walk: Walk = { files: new Map(), directories: new Map(), unreadable: [], visited: new Set() };
  for (const [rank, root] of roots.entries()) await visitRoot(walk, root, rank);
  return walk;
}

export function signatureOf(stats: BigIntStats): string {
  return `${stats.dev}:${stats.ino}:${stats.size}:${stats.mtimeNs}:${stats.ctimeNs}`;
}

async function visitRoot(walk: Walk, root: Root, rank: number): Promise<void> {
  try {
    const stats = await stat(root.path, { bigint: true });
    if (stats.isDirectory()) await visitDirectory(walk, root.path, stats, rank);
    else sight(walk, root.path, stats, rank);
  } catch (error) {
    if (!(root.optional && isMissing(error))) walk.unreadable.push({ path: root.path, message: reasonOf(error) });
  }
}

async function visitDirectory(walk: Walk, path: string, stats: BigIntStats, rank: number): Promise<void> {
  const real = await realpath(path);
  if (walk.visited.has(real)) return;
  walk.visited.add(real);
  walk.directories.set(path, `${stats.dev}:${stats.ino}`);
  const names = (await readdir(path)).filter((name) => !name.startsWith('.') && name !== 'node_modules').sort();
  const entries = await Promise.all(names.map((name) => inspect(walk, join(path, name))));
  for (const entry of entries) if (entry !== undefined) await visitEntry(walk, entry, rank);
}

interface Entry {
  readonly path: string;
  readonly stats: BigIntStats;
}

async function inspect(walk: Walk, path: string): Promise<Entry | undefined> {
  try {
    return { path, stats: await stat(path, { bigint: true }) };
  } catch (error) {
    note(walk, path, error);
    return undefined;
  }
}

/** One at a time, so that of two ways to one directory always the same is taken. */
async function visitEntry(walk: Walk, { path, stats }: Entry, rank: number): Promise<void> {
  try {
    if (stats.isDirectory()) await visitDirectory(walk, path, stats, rank);
    else if (MANIFEST.test(path) && stats.isFile()) sight(walk, path, stats, rank);
  } catch (error) {
    note(walk, path, error);
  }
}

function note(walk: Walk, path: string, error: unknown): void {
  if (!isMissing(error)) walk.unreadable.push({ path, message: reasonOf(error) });
}

function sight(walk: Walk, path: string, stats: BigIntStats, rank: number): void {
  if (walk.files.has(path)) return;
  walk.files.set(path, { path, rank, signature: signatureOf(stats), sizeBytes: Number(stats.size) });
}

export function isMissing(error: unknown): boolean {
  const code = (error as NodeJS.ErrnoException).code;
  return code === 'ENOENT' || code === 'ENOTDIR';
}

export function reasonOf(error: unknown): string {
  const { code, message } = error as NodeJS.ErrnoException;
  const words: Record<string, string> = {
    ENOENT: 'does not exist',
    EACCES: 'permission denied',
    ELOOP: 'its symbolic links lead in a circle',
  };
  return words[code ?? ''] ?? message;
}
