/** What an operator would write of what `compile` finds lacking, as manifests of the next world. */
import type { Compiled } from '#operator/compile/compile.ts';
import type { GeneratedObject } from '#operator/source/source.ts';
import { identityOf, type Manifest } from '#operator/world.ts';

const API_VERSION = 'modelgateway.dev/v1alpha1';

export function writtenObject({ kind, namespace, name, labels, annotations, spec }: GeneratedObject): Manifest {
  const raw = { apiVersion: API_VERSION, kind, metadata: { name, namespace, labels, annotations }, spec };
  return { kind, namespace, name, uid: undefined, generation: 1, raw, place: undefined };
}

export function annotated(manifest: Manifest, more: Readonly<Record<string, string>>): Manifest {
  const { metadata } = manifest.raw as { readonly metadata: { readonly annotations?: object } };
  const annotations = { ...metadata.annotations, ...more };
  return { ...manifest, raw: { ...manifest.raw, metadata: { ...metadata, annotations } } };
}

/** The versions that there are once all that is lacking was written. */
export function withVersions(versions: readonly Manifest[], { lacking, unmarked }: Compiled['versions']): Manifest[] {
  const marks = new Map(unmarked.map(({ manifest, annotations }) => [identityOf(manifest), annotations]));
  return [...versions.map((one) => annotated(one, marks.get(identityOf(one)) ?? {})), ...lacking.map(writtenObject)];
}
