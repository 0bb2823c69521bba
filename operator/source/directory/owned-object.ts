/** Objects of ours that the program writes for others, as files. */
import { API_GROUP, API_VERSION } from '#crds/object.ts';
import { createFile, objectPath, replaceFile } from '../../rest/object-file.ts';
import { identityOf, type Manifest } from '../../world.ts';
import type { GeneratedObject } from '../source.ts';

/** Rejects rather than replace a file; its path. */
export async function writeOwnedObject(
  directory: string,
  { kind, namespace, name, owner, labels, annotations, spec }: GeneratedObject,
  manifests: readonly Manifest[],
): Promise<string> {
  const path = objectPath(directory, { kind, namespace, name });
  const apiVersion = `${API_GROUP}/${API_VERSION}`;
  const made = manifests.find((manifest) => identityOf(manifest) === owner);
  const ownerReferences =
    made?.uid === undefined
      ? {}
      : { ownerReferences: [{ apiVersion, kind: made.kind, name: made.name, uid: made.uid }] };
  const creationTimestamp = new Date().toISOString();
  const metadata = { name, namespace, creationTimestamp, labels, annotations, ...ownerReferences };
  if (!(await createFile(path, { apiVersion, kind, metadata, spec }))) throw new Error(`the file ${path} exists`);
  return path;
}

/** Its path. */
export async function annotateObject(
  directory: string,
  object: Manifest,
  annotations: Readonly<Record<string, string>>,
): Promise<string> {
  const path = objectPath(directory, object);
  const { metadata } = object.raw as { readonly metadata: { readonly annotations?: object } };
  const noted = { ...metadata, annotations: { ...metadata.annotations, ...annotations } };
  await replaceFile(path, { ...object.raw, metadata: noted });
  return path;
}
