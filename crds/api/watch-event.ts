/** A line of a watch -> what happened. */
import { ApiError } from './api-error.ts';
import type { ApiObject, Resource } from './api-object.ts';
import { slimObject } from './slim-object.ts';

export type WatchEvent =
  | { readonly type: 'set' | 'delete'; readonly object: ApiObject; readonly version: string }
  | { readonly type: 'bookmark'; readonly version: string };

type Read = (object: unknown, resource: Resource, metadataOnly: boolean) => WatchEvent;

const READERS: Readonly<Record<string, Read>> = {
  ADDED: (...given) => changeOf('set', ...given),
  MODIFIED: (...given) => changeOf('set', ...given),
  DELETED: (...given) => changeOf('delete', ...given),
  BOOKMARK: (object) => ({ type: 'bookmark', version: versionOf(object) }),
  ERROR: (object) => {
    throw failureIn(object);
  },
};

/** Throws ApiError: `BrokenLine`, `UnknownEvent`, `UnknownKind`, or what an ERROR event says. */
export function watchEventOf(line: string, resource: Resource, metadataOnly: boolean): WatchEvent {
  const { type, object } = parsed(line);
  const read = Object.hasOwn(READERS, String(type)) ? READERS[String(type)] : undefined;
  if (read === undefined) throw fault('UnknownEvent', `a watch event has the unknown type ${quoted(type)}`);
  return read(object, resource, metadataOnly);
}

/** A failure of the stream itself, which the server did not name. */
export function fault(reason: string, message: string, cause?: unknown): ApiError {
  return new ApiError(message, { status: 0, reason }, { cause });
}

function parsed(line: string): { readonly type?: unknown; readonly object?: unknown } {
  try {
    return Object(JSON.parse(line));
  } catch (cause) {
    throw fault('BrokenLine', `a watch event is no JSON: ${quoted(line)}`, cause);
  }
}

function changeOf(type: 'set' | 'delete', value: unknown, resource: Resource, metadataOnly: boolean): WatchEvent {
  const { apiVersion, kind } = Object(value);
  const isMeant = apiVersion === resource.apiVersion && kind === resource.kind;
  if (!isMeant && !(metadataOnly && kind === 'PartialObjectMetadata')) {
    const wanted = `${resource.apiVersion} ${resource.kind}`;
    throw fault('UnknownKind', `a watch of ${wanted} brought ${quoted(`${apiVersion} ${kind}`)}`);
  }
  const version = versionOf(value);
  const object = slimObject(resource, value, { metadataOnly });
  if (object === undefined) throw fault('BrokenLine', 'a watch event has an object without metadata.name');
  return { type, object, version };
}

function versionOf(value: unknown): string {
  const version = Object(Object(value).metadata).resourceVersion;
  if (typeof version === 'string' && version !== '') return version;
  throw fault('BrokenLine', 'a watch event has an object without metadata.resourceVersion');
}

function failureIn(status: unknown): ApiError {
  const { code, reason, message, details } = Object(status);
  const seconds = Object(details).retryAfterSeconds;
  return new ApiError(`the watch ended: ${message ?? reason ?? 'no reason was given'}`, {
    status: typeof code === 'number' ? code : 500,
    reason: typeof reason === 'string' ? reason : 'Unknown',
    retryAfterMs: typeof seconds === 'number' && seconds > 0 ? seconds * 1000 : undefined,
  });
}

function quoted(value: unknown): string {
  return JSON.stringify(String(value).slice(0, 80));
}
