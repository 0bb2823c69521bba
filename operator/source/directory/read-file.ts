/** A file -> what it contains, or why it could not be read. */
import { open } from 'node:fs/promises';
import { identityOf, type Manifest, type Problem, type SecretObject } from '../../world.ts';
import { parseFile } from './parse-file.ts';
import { type ReadContext, readDocument } from './read-document.ts';
import { isMissing, reasonOf, type SightedFile, signatureOf } from './scan.ts';

/** A manifest file above this size is refused. */
export const MAX_FILE_BYTES = 8 * 1024 * 1024;

export interface FileContent {
  readonly manifests: readonly Manifest[];
  readonly secrets: readonly SecretObject[];
  readonly problems: readonly Problem[];
  /** What would be lost without this file. */
  readonly identities: ReadonlySet<string>;
}

/** `moved`: it changed while it was read, or is gone; look again. */
export type ReadFile =
  | { readonly outcome: 'read'; readonly content: FileContent; readonly empty: boolean }
  | { readonly outcome: 'broken'; readonly line: number; readonly message: string }
  | { readonly outcome: 'moved' };

/** Reads a sighted file, and only that: a file that was replaced since is `moved`. Never throws. */
export async function readManifestFile(file: SightedFile, context: ReadContext): Promise<ReadFile> {
  if (file.sizeBytes > MAX_FILE_BYTES) return broken(`the file is larger than ${MAX_FILE_BYTES / 1024 / 1024} MiB`);
  try {
    const text = await readUnmoved(file);
    return text === undefined ? { outcome: 'moved' } : contentOf(file.path, text, context);
  } catch (error) {
    return isMissing(error) ? { outcome: 'moved' } : broken(`the file cannot be read: ${reasonOf(error)}`);
  }
}

async function readUnmoved(file: SightedFile): Promise<string | undefined> {
  const handle = await open(file.path, 'r');
  try {
    const text = await handle.readFile('utf8');
    return signatureOf(await handle.stat({ bigint: true })) === file.signature ? text : undefined;
  } finally {
    await handle.close();
  }
}

function contentOf(path: string, text: string, context: ReadContext): ReadFile {
  const parsed = parseFile(path, text);
  if (!('documents' in parsed)) return broken(parsed.message, parsed.line);
  const manifests: Manifest[] = [];
  const secrets: SecretObject[] = [];
  const problems: Problem[] = [];
  for (const document of parsed.documents) {
    const read = readDocument(document, context);
    if ('manifest' in read) manifests.push(read.manifest);
    else if ('secret' in read) secrets.push(read.secret);
    else problems.push(read.problem);
  }
  const identities = new Set(
    [...manifests, ...secrets.map((secret) => ({ ...secret, kind: 'Secret' }))].map(identityOf),
  );
  return { outcome: 'read', content: { manifests, secrets, problems, identities }, empty: text.trim() === '' };
}

function broken(message: string, line = 1): ReadFile {
  return { outcome: 'broken', line, message };
}
