/** What the server refuses, with the words and the Status object of the real one. */
import { defined, type Fields } from './fields.ts';

export interface Cause {
  readonly reason: string;
  readonly message: string;
  readonly field: string;
}

interface FailureOptions {
  readonly status: number;
  /** The real server leaves it out of some answers of status 500. */
  readonly reason?: string | undefined;
  readonly details?: Fields | undefined;
  readonly retryAfterSeconds?: number | undefined;
  /** Sent as text instead of a Status object. */
  readonly text?: string | undefined;
  /** Of the Status object, e.g. where an expired list can go on. */
  readonly metadata?: Fields | undefined;
}

/** What a failure is about. */
export interface Subject {
  readonly kind: string;
  readonly plural: string;
  /** '' for the core group. */
  readonly group: string;
}

export class Failure extends Error {
  readonly status: number;
  readonly retryAfterSeconds: number | undefined;
  readonly #options: FailureOptions;

  constructor(message: string, options: FailureOptions) {
    super(message);
    this.status = options.status;
    this.retryAfterSeconds = options.retryAfterSeconds;
    this.#options = options;
  }

  /** undefined: the Status object is sent. */
  get text(): string | undefined {
    return this.#options.text;
  }

  /** As it is sent. */
  get statusObject(): Fields {
    const { status, reason, details, metadata = {}, retryAfterSeconds } = this.#options;
    const told = retryAfterSeconds === undefined ? details : { ...details, retryAfterSeconds };
    const { message } = this;
    return defined({
      kind: 'Status',
      apiVersion: 'v1',
      metadata,
      status: 'Failure',
      message,
      reason,
      details: told,
      code: status,
    });
  }
}

/** `configmaps`, `leases.coordination.k8s.io`. */
export function qualified(name: string, group: string): string {
  return group === '' ? name : `${name}.${group}`;
}

function detailsOf(name: string, group: string, kind: string, causes?: readonly Cause[]): Fields {
  return defined({ name: name || undefined, group: group || undefined, kind: kind || undefined, causes });
}

export function badRequest(message: string): Failure {
  return new Failure(message, { status: 400, reason: 'BadRequest' });
}

/** A failure that the real server does not explain by a reason. */
export function internal(message: string): Failure {
  return new Failure(message, { status: 500 });
}

export function notFound({ plural, group }: Subject, name: string): Failure {
  const message = `${qualified(plural, group)} "${name}" not found`;
  return new Failure(message, { status: 404, reason: 'NotFound', details: detailsOf(name, group, plural) });
}

export function noSuchResource(): Failure {
  const message = 'the server could not find the requested resource';
  return new Failure(message, { status: 404, reason: 'NotFound', details: {} });
}

/** No such group, or no such version of it: told by the server's router, not by its API. */
export function noSuchGroup(): Failure {
  return new Failure('404 page not found', { status: 404, text: '404 page not found\n' });
}

export function methodNotAllowed(): Failure {
  const message = 'the server does not allow this method on the requested resource';
  return new Failure(message, { status: 405, reason: 'MethodNotAllowed', details: {} });
}

export function unsupportedMediaType(accepted: readonly string[]): Failure {
  const message = `the body of the request was in an unknown format - accepted media types include: ${accepted.join(', ')}`;
  return new Failure(message, { status: 415, reason: 'UnsupportedMediaType' });
}

export function alreadyExists({ plural, group }: Subject, name: string, isBeingDeleted: boolean): Failure {
  const message = `${isBeingDeleted ? 'object is being deleted: ' : ''}${qualified(plural, group)} "${name}" already exists`;
  return new Failure(message, { status: 409, reason: 'AlreadyExists', details: detailsOf(name, group, plural) });
}

export const MODIFIED = 'the object has been modified; please apply your changes to the latest version and try again';

export function conflict({ plural, group }: Subject, name: string, why: string = MODIFIED): Failure {
  const message = `Operation cannot be fulfilled on ${qualified(plural, group)} "${name}": ${why}`;
  return new Failure(message, { status: 409, reason: 'Conflict', details: detailsOf(name, group, plural) });
}

export function applyConflict(message: string, causes: readonly Cause[]): Failure {
  return new Failure(message, { status: 409, reason: 'Conflict', details: { causes } });
}

export function invalid({ kind, group }: Subject, name: string, causes: readonly Cause[]): Failure {
  const told = causes.map(({ field, message }) => `${field}: ${message}`);
  const message = `${qualified(kind, group)} "${name}" is invalid: ${told.length === 1 ? told[0] : `[${told.join(', ')}]`}`;
  return new Failure(message, { status: 422, reason: 'Invalid', details: detailsOf(name, group, kind, causes) });
}

/** A patch that makes what cannot be read, or has unknown fields that may not be, is itself invalid; other failures stay as they are. */
export function unreadable(error: unknown): unknown {
  if (!(error instanceof Failure) || error.status !== 400) return error;
  const cause = { reason: 'FieldValueInvalid', message: `Invalid value: ${error.message}`, field: 'patch' };
  return invalid({ kind: '', plural: '', group: '' }, '', [cause]);
}

export function terminating({ plural, group }: Subject, name: string, namespace: string): Failure {
  const why = `unable to create new content in namespace ${namespace} because it is being terminated`;
  const cause = {
    reason: 'NamespaceTerminating',
    message: `namespace ${namespace} is being terminated`,
    field: 'metadata.namespace',
  };
  return new Failure(`${qualified(plural, group)} "${name}" is forbidden: ${why}`, {
    status: 403,
    reason: 'Forbidden',
    details: detailsOf(name, group, plural, [cause]),
  });
}

export function expired(message: string, next?: string): Failure {
  const metadata = next === undefined ? {} : { continue: next };
  return new Failure(message, { status: 410, reason: 'Expired', metadata });
}

export function tooLarge(asked: string, current: number): Failure {
  const message = `Timeout: Too large resource version: ${asked}, current: ${current}`;
  const cause = { reason: 'ResourceVersionTooLarge', message: 'Too large resource version' };
  return new Failure(message, {
    status: 504,
    reason: 'Timeout',
    details: { causes: [cause] },
    retryAfterSeconds: 1,
  });
}
