/** What the server refuses of the built-in kinds besides their types. */
import { isDeepStrictEqual } from 'node:util';
import type { ApiObject } from '#crds/api/api-object.ts';
import type { Cause } from './failure.ts';
import { fieldsOf, without } from './fields.ts';
import { causeOf, immutableCause, requiredCause } from './resource-row.ts';

type Rules = (object: ApiObject, before: ApiObject | undefined) => readonly Cause[];

const DATA_KEY = /^[-._a-zA-Z0-9]+$/;
const MAX_DATA_BYTES = 1_048_576;
const MAX_NOTE_BYTES = 1_024;

const dataRules: Rules = (object, before) => {
  const named = ['data', 'binaryData'].flatMap((field) =>
    Object.keys(fieldsOf(object[field]))
      .filter((key) => !DATA_KEY.test(key) || key.length > 253 || key === '.' || key.startsWith('..'))
      .map((key) => causeOf(`${field}[${key}]`, `Invalid value: ${JSON.stringify(key)}: a valid config key is needed`)),
  );
  return [...named, ...sizeCauses(object), ...sealCauses(object, before)];
};

/** Of the values: text counts as it is, bytes as they are decoded. */
function sizeCauses(object: ApiObject): Cause[] {
  const isText = object.kind === 'ConfigMap';
  const sizeOf = (values: unknown, encoding: 'utf8' | 'base64') =>
    Object.values(fieldsOf(values)).reduce((sum: number, value) => sum + Buffer.byteLength(String(value), encoding), 0);
  const size = sizeOf(object['data'], isText ? 'utf8' : 'base64') + sizeOf(object['binaryData'], 'base64');
  const field = isText ? '[]' : 'data';
  if (size <= MAX_DATA_BYTES) return [];
  return [causeOf(field, `Too long: may not be more than ${MAX_DATA_BYTES} bytes`, 'FieldValueTooLong')];
}

function sealCauses(object: ApiObject, before: ApiObject | undefined): Cause[] {
  if (before?.['immutable'] !== true) return [];
  const opened = object['immutable'] === true ? [] : ['immutable'];
  const changed = ['data', 'binaryData'].filter((field) => !isDeepStrictEqual(object[field], before[field]));
  return [...opened, ...changed].map((field) =>
    causeOf(field, 'Forbidden: field is immutable when `immutable` is set', 'FieldValueForbidden'),
  );
}

export const configMapRules: Rules = dataRules;

export const secretRules: Rules = (object, before) => [
  ...dataRules(object, before),
  ...(before === undefined || before['type'] === object['type'] ? [] : [immutableCause('type', object['type'])]),
];

export const leaseRules: Rules = (object) => {
  const { leaseDurationSeconds, leaseTransitions } = fieldsOf(object['spec']);
  const isShort = typeof leaseDurationSeconds === 'number' && leaseDurationSeconds <= 0;
  const isNegative = typeof leaseTransitions === 'number' && leaseTransitions < 0;
  return [
    ...(isShort ? [causeOf('spec.leaseDurationSeconds', 'Invalid value: must be greater than 0')] : []),
    ...(isNegative ? [causeOf('spec.leaseTransitions', 'Invalid value: must be greater than or equal to 0')] : []),
  ];
};

const MAX_EVENT_WORD = 128;
/** Where Events are that are about what has no namespace. */
const CLUSTER_EVENT_NAMESPACES = ['default', 'kube-system'];
const EVENT_WORDS = ['reportingController', 'reportingInstance', 'action', 'reason'];

export const eventRules: Rules = (object, before) => {
  if (before !== undefined) return eventChangeCauses(object, before);
  const { namespace: about } = fieldsOf(object['regarding']);
  const isElsewhere = !about && !CLUSTER_EVENT_NAMESPACES.includes(object.metadata.namespace ?? '');
  const { reportingController } = object;
  const long = ['reason', 'action', 'reportingInstance'].filter(
    (field) => String(object[field] ?? '').length > MAX_EVENT_WORD,
  );
  const isLong = Buffer.byteLength(String(object['note'] ?? '')) > MAX_NOTE_BYTES;
  return [
    ...(isElsewhere ? [causeOf('involvedObject.namespace', 'Invalid value: does not match event.namespace')] : []),
    ...(object['eventTime'] ? [] : [requiredCause('eventTime')]),
    ...EVENT_WORDS.filter((field) => !object[field]).map(requiredCause),
    ...(reportingController ? [] : [causeOf('reportingController', 'Invalid value: ""')]),
    ...long.map((field) => causeOf(field, `Invalid value: "": can have at most ${MAX_EVENT_WORD} characters`)),
    ...seriesCauses(object['series']),
    ...(isLong ? [causeOf('message', `Invalid value: "": can have at most ${MAX_NOTE_BYTES} characters`)] : []),
    ...(['Normal', 'Warning'].includes(String(object['type'])) ? [] : [causeOf('type', 'Invalid value: ""')]),
  ];
};

function seriesCauses(series: unknown): Cause[] {
  const { count = 0 } = fieldsOf(series);
  if (series === undefined || Number(count) >= 2) return [];
  return [causeOf('series.count', 'Invalid value: "": should be at least 2')];
}

/** An Event counts up, and says no more. */
function eventChangeCauses(object: ApiObject, before: ApiObject): Cause[] {
  const fixed = Object.keys(without({ ...before, ...object }, ['metadata', 'series']));
  return fixed
    .filter((field) => !isDeepStrictEqual(object[field], before[field]))
    .map((field) => immutableCause(field === 'note' ? 'message' : field, object[field]));
}

const ADDRESS_TYPES = ['IPv4', 'IPv6', 'FQDN'];

export const endpointSliceRules: Rules = (object, before) => {
  const type = object['addressType'];
  if (before !== undefined && before['addressType'] !== type) return [immutableCause('addressType', type)];
  if (type === undefined || type === '') return [requiredCause('addressType')];
  if (!ADDRESS_TYPES.includes(String(type))) {
    return [causeOf('addressType', `Unsupported value: ${JSON.stringify(type)}`, 'FieldValueNotSupported')];
  }
  return endpointCauses(object['endpoints']);
};

function endpointCauses(endpoints: unknown): Cause[] {
  const given = Array.isArray(endpoints) ? endpoints : [];
  return given
    .map((endpoint, index) => [fieldsOf(endpoint)['addresses'], index] as const)
    .filter(([addresses]) => !Array.isArray(addresses) || addresses.length === 0)
    .map(([, index]) => requiredCause(`endpoints[${index}].addresses`));
}

export const namespaceRules: Rules = ({ metadata: { name } }) =>
  name.includes('.') ? [causeOf('metadata.name', `Invalid value: ${JSON.stringify(name)}: must not contain dots`)] : [];
