/** A projected volume as kubelet keeps it: files are links into `..data`, which is a link to a directory that is swapped whole. */
import {
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readlinkSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { EncodedSnapshot } from '#crds/snapshot/encode.ts';

export type Files = ReadonlyMap<string, Uint8Array | string>;

/** The files of a snapshot: the index, and each shard by its name. */
export function filesOf({ index, shards }: EncodedSnapshot): Files {
  return new Map<string, Uint8Array | string>([['index', index], ...shards]);
}

export class MountedVolume {
  readonly path: string;
  #swaps = 0;

  constructor() {
    this.path = join(mkdtempSync(join(tmpdir(), 'volume-')), 'snapshot');
  }

  /** As kubelet's atomic writer does it. */
  swap(files: Files): void {
    mkdirSync(this.path, { recursive: true });
    this.#swaps += 1;
    const directory = `..2026_01_01_00_00_${this.#swaps}`;
    mkdirSync(join(this.path, directory));
    for (const [name, content] of files) writeFileSync(join(this.path, directory, name), content);
    const link = join(this.path, '..data');
    const former = existsSync(link) ? readlinkSync(link) : undefined;
    symlinkSync(directory, join(this.path, '..data_tmp'));
    renameSync(join(this.path, '..data_tmp'), link);
    for (const name of files.keys()) {
      if (lstatSync(join(this.path, name), { throwIfNoEntry: false }) === undefined)
        symlinkSync(`..data/${name}`, join(this.path, name));
    }
    for (const name of readdirSync(this.path)) {
      if (!name.startsWith('..') && !files.has(name)) rmSync(join(this.path, name));
    }
    if (former !== undefined) rmSync(join(this.path, former), { recursive: true });
  }

  publish(snapshot: EncodedSnapshot): void {
    this.swap(filesOf(snapshot));
  }

  /** A plain file, as in a directory that no kubelet keeps. */
  write(name: string, content: Uint8Array | string): void {
    mkdirSync(this.path, { recursive: true });
    writeFileSync(join(this.path, name), content);
  }

  /** The directory is gone. */
  unmount(): void {
    rmSync(this.path, { recursive: true, force: true });
  }

  remove(): void {
    rmSync(join(this.path, '..'), { recursive: true, force: true });
  }
}
