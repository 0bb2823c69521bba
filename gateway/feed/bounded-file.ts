/** Files of a snapshot: as large as an object of Kubernetes can be, and not a byte more is read. */
import { open } from 'node:fs/promises';

const MAX_BYTES = 1024 * 1024;
const ABSENT = new Set(['ENOENT', 'ENOTDIR']);

/** undefined: there is no such file. Rejects with a system error, or one that names the file which is too large. */
export async function readBoundedFile(path: string): Promise<Buffer | undefined> {
  const file = await open(path).catch((error: NodeJS.ErrnoException) => {
    if (ABSENT.has(error.code ?? '')) return undefined;
    throw error;
  });
  if (file === undefined) return undefined;
  try {
    const { size } = await file.stat();
    if (size > MAX_BYTES) throw new Error(`${path} has ${size} bytes, must have at most ${MAX_BYTES}`);
    return await file.readFile();
  } finally {
    await file.close();
  }
}
