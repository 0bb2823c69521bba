/** Our own control headers, checked: 400 naming the header. */
import type { IncomingHttpHeaders } from 'node:http';
import { GatewayError } from '../errors.ts';

export interface RequestHeaders {
  readonly config: string | undefined;
  readonly provider: string | undefined;
  readonly virtualKey: string | undefined;
  readonly customHost: string | undefined;
  readonly requestTimeoutMs: number | undefined;
  /** Lower-case names; undefined: the config's. */
  readonly forwardHeaders: readonly string[] | undefined;
  /** false: strict compliance is off. */
  readonly strict: boolean | undefined;
  readonly metadata: Readonly<Record<string, string>> | undefined;
  /** Which part of the workspace's cache it is; undefined: the one of its metadata. */
  readonly cacheNamespace: string | undefined;
  /** A new answer is wanted, whatever is kept. */
  readonly forceRefresh: boolean;
}

/** Of a request that says nothing of it. */
export const NO_CONTROL: RequestHeaders = {
  config: undefined,
  provider: undefined,
  virtualKey: undefined,
  customHost: undefined,
  requestTimeoutMs: undefined,
  forwardHeaders: undefined,
  strict: undefined,
  metadata: undefined,
  cacheNamespace: undefined,
  forceRefresh: false,
};

const PREFIX = 'x-gateway-';
const MAX_METADATA_VALUE = 128;
const MAX_CACHE_NAMESPACE = 256;

type Reader = (value: string, name: string) => Partial<RequestHeaders>;

const READERS: Readonly<Record<string, Reader>> = {
  'x-gateway-config': (config) => ({ config }),
  'x-gateway-provider': (provider) => ({ provider }),
  'x-gateway-virtual-key': (virtualKey) => ({ virtualKey: virtualKey.replace(/^@/, '') }),
  'x-gateway-custom-host': (customHost) => ({ customHost }),
  'x-gateway-request-timeout': (value, name) => ({ requestTimeoutMs: positiveInteger(value, name) }),
  'x-gateway-forward-headers': (value) => ({ forwardHeaders: namesOf(value) }),
  'x-gateway-strict-vendor-compliance': (value, name) => ({ strict: truth(value, name) }),
  'x-gateway-metadata': (value, name) => ({ metadata: metadataOf(value, name) }),
  'x-gateway-cache-namespace': (value, name) => ({ cacheNamespace: shortText(value, name) }),
  'x-gateway-cache-force-refresh': (value, name) => ({ forceRefresh: truth(value, name) }),
};

/** Throws `invalid_value` naming the header. Requests without any of them cost one look at each header's first letters. */
export function readControlHeaders(headers: IncomingHttpHeaders): RequestHeaders {
  let read: RequestHeaders = NO_CONTROL;
  for (const name in headers) {
    if (!name.startsWith(PREFIX)) continue;
    const value = headers[name];
    const reader = Object.hasOwn(READERS, name) ? READERS[name] : undefined;
    if (reader !== undefined && typeof value === 'string' && value !== '') read = { ...read, ...reader(value, name) };
  }
  return read;
}

function positiveInteger(value: string, name: string): number {
  const number = Number(value);
  if (!/^\d+$/.test(value) || number < 1 || number > 2 ** 31 - 1)
    throw wrong(name, 'must be a positive integer of milliseconds');
  return number;
}

function truth(value: string, name: string): boolean {
  if (value !== 'true' && value !== 'false') throw wrong(name, 'must be true or false');
  return value === 'true';
}

function shortText(value: string, name: string): string {
  if (value.length > MAX_CACHE_NAMESPACE) throw wrong(name, `may have at most ${MAX_CACHE_NAMESPACE} characters`);
  return value;
}

function namesOf(value: string): string[] {
  return value
    .split(',')
    .map((name) => name.trim().toLowerCase())
    .filter((name) => name !== '');
}

function metadataOf(value: string, name: string): Record<string, string> {
  let parsed: unknown;
  try {
    parsed = JSON.parse(value);
  } catch {
    throw wrong(name, 'must be a JSON object');
  }
  if (typeof parsed !== 'object' || parsed === null || Array.isArray(parsed))
    throw wrong(name, 'must be a JSON object');
  const metadata: Record<string, string> = Object.create(null);
  for (const [key, entry] of Object.entries(parsed)) metadata[key] = metadataValue(entry, key, name);
  return metadata;
}

function metadataValue(entry: unknown, key: string, name: string): string {
  if (typeof entry !== 'string' && typeof entry !== 'number' && typeof entry !== 'boolean') {
    throw wrong(name, `must hold strings only: the value of "${key.slice(0, 64)}" is none`);
  }
  const text = String(entry);
  if (text.length > MAX_METADATA_VALUE)
    throw wrong(name, `may hold values of at most ${MAX_METADATA_VALUE} characters: "${key.slice(0, 64)}" is longer`);
  if (/[\r\n\0]/.test(text)) throw wrong(name, `may hold no line ends: "${key.slice(0, 64)}" has one`);
  return text;
}

function wrong(name: string, what: string): GatewayError {
  return new GatewayError('invalid_value', `The header ${name} ${what}.`, { param: name });
}
