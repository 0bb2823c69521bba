/** A temporary folder of manifests, and waiting for what a live source makes of it. */
import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { openDirectory } from '#operator/source/directory/directory.ts';
import type { Source } from '#operator/source/source.ts';
import { ENVIRONMENT } from './worlds.ts';

export interface Folder {
  readonly path: string;
  write(file: string, text: string): void;
  at(file: string): string;
  remove(): void;
}

export function makeFolder(files: Readonly<Record<string, string>> = {}): Folder {
  const path = realpathSync(mkdtempSync(join(tmpdir(), 'manifests-')));
  const folder: Folder = {
    path,
    at: (file) => join(path, file),
    write: (file, text) => {
      mkdirSync(dirname(join(path, file)), { recursive: true });
      writeFileSync(join(path, file), text);
    },
    remove: () => rmSync(path, { recursive: true, force: true }),
  };
  for (const [file, text] of Object.entries(files)) folder.write(file, text);
  return folder;
}

export function open(folder: Folder, options: { roots?: readonly string[]; live?: boolean } = {}): Promise<Source> {
  return openDirectory({
    manifests: options.roots ?? [folder.path],
    secretsDirectory: undefined,
    environment: (name) => ENVIRONMENT[name],
    shownFrom: folder.path,
    live: options.live ?? true,
  });
}

/** Milliseconds until `holds`; throws after `limitMs` with what there is instead. */
export async function until(holds: () => boolean, limitMs = 1000, instead: () => unknown = () => ''): Promise<number> {
  const startedMs = performance.now();
  while (!holds()) {
    if (performance.now() - startedMs > limitMs)
      throw new Error(`not within ${limitMs} ms: ${JSON.stringify(instead())}`);
    await sleep(5);
  }
  return performance.now() - startedMs;
}

export function sleep(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}

/** `Kind namespace/name` of every manifest and Secret. */
export function names(source: Source): string[] {
  const { manifests, secrets } = source.observe();
  return [...manifests, ...secrets.map((secret) => ({ ...secret, kind: 'Secret' }))].map(
    ({ kind, namespace, name }) => `${kind} ${namespace}/${name}`,
  );
}

export function problems(source: Source): string[] {
  return source
    .observe()
    .problems.map(({ place, reason, message }) => `${place.file}:${place.line}: ${reason}: ${message}`);
}
