/** How objects are shown: whole, or their metadata alone, as the Accept header asks. */
import type { ApiObject } from '#crds/api/api-object.ts';
import { Failure } from './failure.ts';
import { type Fields, without } from './fields.ts';
import type { ResourceRow } from './resource-row.ts';

export interface Presentation {
  readonly isPartial: boolean;
  object(object: ApiObject): Fields;
  list(row: ResourceRow, metadata: Fields, items: readonly ApiObject[]): Fields;
  /** `isInitialEnd`: everything that there was has been told. */
  bookmark(row: ResourceRow, version: number, isInitialEnd: boolean): Fields;
}

const META = 'meta.k8s.io/v1';

const WHOLE: Presentation = {
  isPartial: false,
  object: (object) => object,
  list: ({ apiVersion, kind, namesItems }, metadata, items) => ({
    kind: `${kind}List`,
    apiVersion,
    metadata,
    items: namesItems ? items : items.map((item) => without(item, ['apiVersion', 'kind'])),
  }),
  bookmark: ({ apiVersion, kind }, version, isInitialEnd) => ({
    kind,
    apiVersion,
    metadata: bookmarkMetadata(version, isInitialEnd),
  }),
};

const PARTIAL: Presentation = {
  isPartial: true,
  object: ({ metadata }) => ({ kind: 'PartialObjectMetadata', apiVersion: META, metadata }),
  list: (_row, metadata, items) => ({
    kind: 'PartialObjectMetadataList',
    apiVersion: META,
    metadata,
    items: items.map(PARTIAL.object),
  }),
  bookmark: (_row, version, isInitialEnd) => ({
    kind: 'PartialObjectMetadata',
    apiVersion: META,
    metadata: bookmarkMetadata(version, isInitialEnd),
  }),
};

function bookmarkMetadata(version: number, isInitialEnd: boolean): Fields {
  const annotations = isInitialEnd ? { annotations: { 'k8s.io/initial-events-end': 'true' } } : {};
  return { resourceVersion: String(version), creationTimestamp: null, ...annotations };
}

/** The first that the server can serve, of those in the header. Throws Failure 406. */
export function presentationOf(accept: string = 'application/json'): Presentation {
  for (const wish of accept.split(',')) {
    const [type = '', ...parameters] = wish.split(';').map((part) => part.trim());
    if (!['application/json', 'application/*', '*/*', ''].includes(type)) continue;
    const as = parameters.find((parameter) => parameter.startsWith('as='))?.slice('as='.length);
    if (as === undefined) return WHOLE;
    if (as.startsWith('PartialObjectMetadata')) return PARTIAL;
  }
  throw new Failure('406: Not Acceptable', { status: 406, reason: 'NotAcceptable', details: {} });
}
