/** A generated Secret as a manifest on disk: private to its owner, whole or not there. */
import { randomUUID } from 'node:crypto';
import { chmod, link, mkdir, open, unlink } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { stringify } from 'yaml';
import type { GeneratedSecret } from '../source.ts';

const SAFE = /^[a-z0-9]([a-z0-9.-]*[a-z0-9])?$/;

/** `<directory>/<namespace>/<name>.yaml`. Throws on a name that is none of Kubernetes. */
export function secretPath(directory: string, secret: { readonly namespace: string; readonly name: string }): string {
  for (const part of [secret.namespace, secret.name]) {
    if (!SAFE.test(part)) throw new Error(`"${part}" is no name of a Secret`);
  }
  return join(directory, secret.namespace, `${secret.name}.yaml`);
}

/** Writes the manifest with mode 0600 in directories of mode 0700. Rejects with EEXIST rather than replace a file. */
export async function writeSecretFile(directory: string, secret: GeneratedSecret): Promise<string> {
  const path = secretPath(directory, secret);
  await mkdir(dirname(path), { recursive: true, mode: 0o700 });
  await chmod(directory, 0o700);
  const temporary = join(dirname(path), `.${secret.name}.${randomUUID()}.tmp`);
  await writeSynced(temporary, manifestOf(secret));
  try {
    // A link, unlike a rename, never replaces what is there.
    await link(temporary, path);
  } finally {
    await unlink(temporary);
  }
  return path;
}

/** With mode 0600. Rejects where the file exists. */
export async function writeSynced(path: string, text: string): Promise<void> {
  const handle = await open(path, 'wx', 0o600);
  try {
    await handle.writeFile(text);
    await handle.sync();
  } finally {
    await handle.close();
  }
}

function manifestOf(secret: GeneratedSecret): string {
  const { namespace, name, values, owner } = secret;
  const manifest = { apiVersion: 'v1', kind: 'Secret', metadata: { name, namespace }, stringData: values };
  return `# Generated for ${owner}. Delete this file to have a new key made; the old one then stops working.\n${stringify(manifest)}`;
}
