/** Fields of the built-in kinds, as far as this project writes and reads them. */
import type { Schema } from './schema.ts';

const text: Schema = { type: 'string' };
const count: Schema = { type: 'integer' };
const flag: Schema = { type: 'boolean' };
const texts: Schema = { type: 'object', additionalProperties: text };
const bytes: Schema = {
  type: 'object',
  additionalProperties: {
    type: 'string',
    pattern: '^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$',
  },
};
const microTime: Schema = {
  type: 'string',
  pattern: '^\\d{4}-\\d\\d-\\d\\dT\\d\\d:\\d\\d:\\d\\d\\.\\d{6}(?:Z|[+-]\\d\\d:\\d\\d)$',
};
const anyTime: Schema = { type: 'string', format: 'date-time', nullable: true };
const object = (properties: Readonly<Record<string, Schema>>): Schema => ({ type: 'object', properties });
const list = (items: Schema): Schema => ({ type: 'array', items });
const reference: Schema = {
  ...object({
    apiVersion: text,
    kind: text,
    namespace: text,
    name: text,
    uid: text,
    resourceVersion: text,
    fieldPath: text,
  }),
  'x-kubernetes-map-type': 'atomic',
};

export const CONFIG_MAP: Schema = object({ data: texts, binaryData: bytes, immutable: flag });

export const SECRET: Schema = object({
  data: bytes,
  stringData: texts,
  immutable: flag,
  type: { ...text, default: 'Opaque' },
});

export const LEASE: Schema = object({
  spec: object({
    acquireTime: microTime,
    holderIdentity: text,
    leaseDurationSeconds: count,
    leaseTransitions: count,
    preferredHolder: text,
    renewTime: microTime,
    strategy: text,
  }),
});

export const EVENT: Schema = object({
  action: text,
  deprecatedCount: count,
  deprecatedFirstTimestamp: anyTime,
  deprecatedLastTimestamp: anyTime,
  deprecatedSource: { ...object({ component: text, host: text }), default: {} },
  eventTime: { ...microTime, nullable: true },
  note: text,
  reason: text,
  regarding: { ...reference, default: {} },
  related: reference,
  reportingController: text,
  reportingInstance: text,
  series: object({ count, lastObservedTime: microTime }),
  type: text,
});

const endpoint = object({
  addresses: list(text),
  conditions: { ...object({ ready: flag, serving: flag, terminating: flag }), default: {} },
  deprecatedTopology: texts,
  hostname: text,
  nodeName: text,
  targetRef: reference,
  zone: text,
});
const port = object({ appProtocol: text, name: text, port: count, protocol: { ...text, default: 'TCP' } });

export const ENDPOINT_SLICE: Schema = object({ addressType: text, endpoints: list(endpoint), ports: list(port) });

export const NAMESPACE: Schema = object({
  spec: object({ finalizers: list(text) }),
  status: object({ phase: text }),
});

const owner = object({
  apiVersion: text,
  kind: text,
  name: text,
  uid: text,
  controller: flag,
  blockOwnerDeletion: flag,
});

/** What a writer decides of an object's metadata. */
export const METADATA: Schema = object({
  generateName: text,
  labels: texts,
  annotations: texts,
  finalizers: { ...list(text), 'x-kubernetes-list-type': 'set' },
  ownerReferences: {
    ...list({ ...owner, 'x-kubernetes-map-type': 'atomic' }),
    'x-kubernetes-list-type': 'map',
    'x-kubernetes-list-map-keys': ['uid'],
  },
});
