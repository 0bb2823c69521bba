/** A request -> its answer: the one table of what the server can be asked for. */
import type { ApiRequest } from '#crds/api/transport.ts';
import type { Availability } from './availability.ts';
import { type ByteStream, textStream } from './byte-stream.ts';
import { Failure, methodNotAllowed } from './failure.ts';
import type { Fields } from './fields.ts';
import type { Journal } from './journal.ts';
import { presentationOf } from './presentation.ts';
import { readList, readOne } from './reads.ts';
import type { ResourceTable } from './resources.ts';
import { type Target, targetOf } from './target.ts';
import type { Watches } from './watches.ts';
import type { Writes, WriteVerb } from './writes.ts';

export type ReadVerb = 'get' | 'list' | 'watch';

export interface Answer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Fields | ByteStream;
}

export interface ServerParts {
  readonly table: ResourceTable;
  readonly view: Availability;
  readonly writes: Writes;
  readonly watches: Watches;
  readonly journal: Journal;
}

interface Asked {
  readonly who: string;
  readonly request: ApiRequest;
  readonly target: Target;
}

const VERBS: Readonly<Record<Exclude<ApiRequest['method'], 'GET'>, Verb>> = {
  POST: 'create',
  PUT: 'replace',
  PATCH: 'patch',
  DELETE: 'delete',
};

export type Verb = ReadVerb | WriteVerb | 'unknown';

function verbOf({ method, contentType }: ApiRequest, { name, query }: Target): Verb {
  if (contentType === 'application/apply-patch+yaml') return 'apply';
  if (method !== 'GET') return VERBS[method];
  if (name !== undefined) return 'get';
  return ['true', '1'].includes(query.get('watch') ?? '') ? 'watch' : 'list';
}

/** What a request is about, for the journal. */
export interface RequestSubject {
  readonly verb: Verb;
  /** Plural; '' where the path names no kind. */
  readonly resource: string;
  readonly namespace: string | undefined;
  readonly name: string | undefined;
}

export function subjectOf(request: ApiRequest, table: ResourceTable): RequestSubject {
  try {
    const target = targetOf(request.path, table);
    const { row, namespace, name } = target;
    return { verb: verbOf(request, target), resource: row.plural, namespace, name };
  } catch {
    return { verb: 'unknown', resource: '', namespace: undefined, name: undefined };
  }
}

type Handler = (parts: ServerParts, asked: Asked) => Answer;

const READERS: Readonly<Record<ReadVerb, Handler>> = {
  get: ({ view }, { target, request }) =>
    whole(200, readOne(view.of(target.row), target, presentationOf(request.accept))),
  list: ({ view }, { target, request }) =>
    whole(200, readList(view.of(target.row), target, presentationOf(request.accept))),
  watch: ({ watches }, { who, target, request }) => ({
    status: 200,
    headers: JSON_HEADERS,
    body: watches.open(who, target, presentationOf(request.accept)).stream,
  }),
};

const JSON_HEADERS = { 'content-type': 'application/json' };

/** Never throws for what a client did: a Failure is an answer. */
export function answerTo(parts: ServerParts, who: string, request: ApiRequest): Answer {
  try {
    const target = targetOf(request.path, parts.table);
    const verb = verbOf(request, target);
    const read = Object.hasOwn(READERS, verb) ? READERS[verb as ReadVerb] : undefined;
    return read === undefined ? write(parts, { who, request, target }) : read(parts, { who, request, target });
  } catch (error) {
    if (error instanceof Failure) return failureAnswer(error);
    throw error;
  }
}

function write({ writes, journal }: ServerParts, { who, request, target }: Asked): Answer {
  if (request.method === 'GET') throw methodNotAllowed();
  const presentation = presentationOf(request.accept);
  const { status, document, verb, before, after, isChange, unknown } = writes.write(target, request);
  const { row, namespace, subresource, query } = target;
  const name = (after ?? before)?.metadata.name ?? '';
  const fieldManager = query.get('fieldManager') ?? '';
  const resource = row.plural;
  journal.add({ who, fieldManager, verb, resource, subresource, namespace, name, before, after, isChange });
  const warnings = query.get('fieldValidation') === 'Ignore' ? [] : unknown;
  const warning = warnings.map((path) => `299 - "unknown field ${JSON.stringify(path).replaceAll('"', '\\"')}"`);
  const headers = warning.length === 0 ? JSON_HEADERS : { ...JSON_HEADERS, warning: warning.join(', ') };
  const isStatus = document['kind'] === 'Status';
  return { status, headers, body: isStatus ? document : presentation.object(document as never) };
}

function whole(status: number, body: Fields): Answer {
  return { status, headers: JSON_HEADERS, body };
}

export function failureAnswer(failure: Failure): Answer {
  const { status, retryAfterSeconds, statusObject, text } = failure;
  const retry = retryAfterSeconds === undefined ? {} : { 'retry-after': String(retryAfterSeconds) };
  if (text !== undefined)
    return { status, headers: { 'content-type': 'text/plain; charset=utf-8' }, body: textStream(text) };
  return { status, headers: { ...JSON_HEADERS, ...retry }, body: statusObject };
}
