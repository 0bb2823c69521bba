/** Every kind that the server has: a row each. */
import {
  type ApiObject,
  CONFIG_MAPS,
  ENDPOINT_SLICES,
  EVENTS,
  LEASES,
  type Resource,
  SECRETS,
} from '#crds/api/api-object.ts';
import {
  configMapRules,
  endpointSliceRules,
  eventRules,
  leaseRules,
  namespaceRules,
  secretRules,
} from './built-in-rules.ts';
import { CONFIG_MAP, ENDPOINT_SLICE, EVENT, LEASE, NAMESPACE, SECRET } from './built-in-schemas.ts';
import { customRows } from './custom-rows.ts';
import { fieldsOf, isEmpty } from './fields.ts';
import type { ResourceRow } from './resource-row.ts';

export const NAMESPACES: Resource = { apiVersion: 'v1', kind: 'Namespace', plural: 'namespaces' };

type BuiltIn = Pick<ResourceRow, 'schema' | 'rules'> & Partial<ResourceRow>;

function builtIn(resource: Resource, row: BuiltIn): ResourceRow {
  const { apiVersion } = resource;
  return {
    ...resource,
    group: apiVersion.includes('/') ? (apiVersion.split('/')[0] ?? '') : '',
    isNamespaced: true,
    hasStatus: false,
    counts: undefined,
    createsOnReplace: false,
    replacesUnconditionally: true,
    isTyped: true,
    namesItems: false,
    ...row,
  };
}

/** Empty maps of values are not stored. */
function withoutEmpty(object: ApiObject, ...fields: readonly string[]): ApiObject {
  const kept = Object.entries(object).filter(([name, value]) => !(fields.includes(name) && isEmpty(value)));
  return Object.fromEntries(kept) as unknown as ApiObject;
}

/** Plain values win over encoded ones, and are stored encoded. */
function storedSecret(object: ApiObject): ApiObject {
  const plain = Object.entries(fieldsOf(object['stringData']));
  const encoded = plain.map(([key, value]) => [key, Buffer.from(String(value)).toString('base64')]);
  const { stringData: _, ...rest } = object;
  return withoutEmpty({ ...rest, data: { ...fieldsOf(object['data']), ...Object.fromEntries(encoded) } }, 'data');
}

function activeNamespace(object: ApiObject): ApiObject {
  const { metadata } = object;
  const labels = { ...metadata.labels, 'kubernetes.io/metadata.name': metadata.name };
  const phase = metadata.deletionTimestamp === undefined ? 'Active' : 'Terminating';
  return { ...object, metadata: { ...metadata, labels }, spec: { finalizers: ['kubernetes'] }, status: { phase } };
}

/** Fields that are shown even where there is nothing in them. */
function withNulls(object: ApiObject, ...fields: readonly string[]): ApiObject {
  const shown = (value: unknown) => (isEmpty(value) ? null : (value ?? null));
  return { ...object, ...Object.fromEntries(fields.map((field) => [field, shown(object[field])])) };
}

const BUILT_IN: readonly ResourceRow[] = [
  builtIn(CONFIG_MAPS, {
    schema: CONFIG_MAP,
    rules: configMapRules,
    prepare: (object) => withoutEmpty(object, 'data', 'binaryData'),
  }),
  builtIn(SECRETS, { schema: SECRET, rules: secretRules, prepare: storedSecret }),
  builtIn(LEASES, {
    schema: LEASE,
    alwaysThere: ['spec'],
    rules: leaseRules,
    createsOnReplace: true,
    replacesUnconditionally: false,
    prepare: (object) => ({ ...object, spec: fieldsOf(object['spec']) }),
  }),
  builtIn(EVENTS, {
    schema: EVENT,
    rules: eventRules,
    createsOnReplace: true,
    validatedGroup: '',
    unowned: ['deprecatedSource'],
    prepare: (object) => withNulls(object, 'deprecatedFirstTimestamp', 'deprecatedLastTimestamp'),
  }),
  builtIn(ENDPOINT_SLICES, {
    schema: ENDPOINT_SLICE,
    rules: endpointSliceRules,
    counts: 'everything',
    prepare: (object) => withNulls(object, 'endpoints', 'ports'),
  }),
  builtIn(NAMESPACES, {
    schema: NAMESPACE,
    rules: namespaceRules,
    isNamespaced: false,
    unowned: ['spec', 'status'],
    prepare: activeNamespace,
  }),
];

export interface ResourceTable {
  readonly rows: readonly ResourceRow[];
  /** undefined: there is no such kind. */
  find(apiVersion: string, plural: string): ResourceRow | undefined;
  /** Throws where there is none of the kind. */
  ofKind(object: { readonly apiVersion: string; readonly kind: string }): ResourceRow;
}

export function resourceTable(validatesSpecs: boolean): ResourceTable {
  const rows = [...customRows(validatesSpecs), ...BUILT_IN];
  return {
    rows,
    find: (apiVersion, plural) => rows.find((row) => row.apiVersion === apiVersion && row.plural === plural),
    ofKind: ({ apiVersion, kind }) => {
      const found = rows.find((row) => row.apiVersion === apiVersion && row.kind === kind);
      if (found === undefined) throw new Error(`the API server has no ${apiVersion} ${kind}`);
      return found;
    },
  };
}
