/** An object of the control plane as a manifest on disk: whole or not there. */
import { randomUUID } from 'node:crypto';
import { link, mkdir, open, rename, unlink } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { stringify } from 'yaml';

const SAFE = /^[a-z0-9]([a-z0-9.-]*[a-z0-9])?$/;

/** `<directory>/<kind>/<namespace>/<name>.yaml`. Throws on names that are none of Kubernetes. */
export function objectPath(
  directory: string,
  { kind, namespace, name }: { readonly kind: string; readonly namespace: string; readonly name: string },
): string {
  for (const part of [namespace, name]) if (!SAFE.test(part)) throw new Error(`"${part}" is no name of an object`);
  return join(directory, kind, namespace, `${name}.yaml`);
}

/** false: there is a file already. */
export async function createFile(path: string, manifest: object): Promise<boolean> {
  return placed(path, manifest, async (temporary) => {
    try {
      // A link, unlike a rename, never replaces what is there.
      await link(temporary, path);
      return true;
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false;
      throw error;
    } finally {
      await unlink(temporary);
    }
  });
}

export async function replaceFile(path: string, manifest: object): Promise<void> {
  await placed(path, manifest, (temporary) => rename(temporary, path));
}

async function placed<T>(path: string, manifest: object, place: (temporary: string) => Promise<T>): Promise<T> {
  await mkdir(dirname(path), { recursive: true, mode: 0o700 });
  const temporary = join(dirname(path), `.${randomUUID()}.tmp`);
  const handle = await open(temporary, 'wx', 0o600);
  try {
    await handle.writeFile(`# Written by the control plane; change it there.\n${stringify(manifest)}`);
    await handle.sync();
  } finally {
    await handle.close();
  }
  return place(temporary);
}
