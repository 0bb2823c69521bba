/** An object as it is kept in memory: without what only other writers of it need. */
import type { ApiObject, Resource } from './api-object.ts';

const LAST_APPLIED = 'kubectl.kubernetes.io/last-applied-configuration';

export interface SlimOptions {
  readonly metadataOnly?: boolean | undefined;
}

/**
 * Without managedFields and the last-applied annotation, with the kind that lists leave out; with `metadataOnly` nothing but
 * its metadata, whatever the server sent. undefined: it is no object, for want of a name.
 */
export function slimObject(
  { apiVersion, kind }: Resource,
  value: unknown,
  { metadataOnly = false }: SlimOptions = {},
): ApiObject | undefined {
  const object = Object(value) as Partial<ApiObject>;
  const { managedFields: _, annotations, ...metadata } = Object(object.metadata) as Partial<ApiObject['metadata']>;
  if (typeof metadata.name !== 'string' || metadata.name === '') return undefined;
  const { [LAST_APPLIED]: __, ...kept } = annotations ?? {};
  return {
    ...(metadataOnly ? {} : object),
    apiVersion,
    kind,
    metadata: {
      ...metadata,
      name: metadata.name,
      ...(annotations === undefined ? {} : { annotations: kept }),
    },
  };
}
