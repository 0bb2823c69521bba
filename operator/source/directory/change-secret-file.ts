/** Changes a generated Secret on disk, if it still says what it was read to say; whole or not at all. */
import { randomUUID } from 'node:crypto';
import { open, readFile, rename, unlink } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { type Document, isMap, parseAllDocuments } from 'yaml';
import type { SecretObject } from '../../world.ts';
import { type Environment, readSecret } from './read-secret.ts';
import { secretPath, writeSynced } from './secret-file.ts';

export interface SecretFileChange {
  /** Fields to be set; undefined: to be taken away. */
  readonly changes: Readonly<Record<string, string | undefined>>;
  readonly environment: Environment;
}

/** Comments and what else is in the file stay. Rejects where it says something else than `secret` by now, or holds more. */
export async function changeSecretFile(
  directory: string,
  secret: SecretObject,
  { changes, environment }: SecretFileChange,
): Promise<string> {
  const path = secretPath(directory, secret);
  const document = soleDocument(await readFile(path, 'utf8'), path);
  const read = readSecret(Object(document.toJS()), secret, { file: path, line: 1 }, { environment, generated: true });
  if (!isSame(read.values, secret.values)) throw new Error(`${path} was changed by somebody else`);
  for (const [field, value] of Object.entries(changes)) {
    for (const place of ['data', 'stringData']) if (document.hasIn([place, field])) document.deleteIn([place, field]);
    if (value !== undefined) document.setIn(['stringData', field], value);
  }
  const temporary = join(dirname(path), `.${secret.name}.${randomUUID()}.tmp`);
  await writeSynced(temporary, document.toString());
  await rename(temporary, path).catch(async (error: unknown) => {
    await unlink(temporary);
    throw error;
  });
  await syncDirectory(dirname(path));
  return path;
}

function soleDocument(text: string, path: string): Document {
  const documents = parseAllDocuments(text);
  const [document] = documents;
  if ('empty' in documents || document === undefined || documents.length !== 1 || !isMap(document.contents)) {
    throw new Error(`${path} must hold one Secret and nothing else`);
  }
  if (document.errors.length > 0) throw new Error(`${path} cannot be read: ${document.errors[0]?.message}`);
  return document as Document;
}

function isSame(a: ReadonlyMap<string, string>, b: ReadonlyMap<string, string>): boolean {
  return a.size === b.size && [...a].every(([field, value]) => b.get(field) === value);
}

/** So that the new name outlives a loss of power, as the content does. */
async function syncDirectory(directory: string): Promise<void> {
  const handle = await open(directory, 'r');
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}
