/** Reading JSON of unknown shape, with errors that name the path. */
import { GatewayError } from '../errors.ts';
import type { Json } from '../providers/provider.ts';

export function isJson(value: unknown): value is Json {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** The value, or undefined for null too: the APIs take null for "not given". */
export function given(value: unknown): unknown {
  return value === null ? undefined : value;
}

/** Throws `invalid_value` naming the path; `expectation` continues the sentence, e.g. "must be a string". */
export function refuse(path: string, expectation: string): never {
  throw new GatewayError('invalid_value', `${path} ${expectation}.`, { param: path });
}

export function requireObject(value: unknown, path: string): Json {
  return isJson(value) ? value : fault(value, path, 'must be an object');
}

export function requireText(value: unknown, path: string): string {
  return typeof value === 'string' ? value : fault(value, path, 'must be a string');
}

export function requireList(value: unknown, path: string): readonly unknown[] {
  return Array.isArray(value) ? value : fault(value, path, 'must be an array');
}

function fault(value: unknown, path: string, expectation: string): never {
  if (value !== undefined) return refuse(path, expectation);
  throw new GatewayError('missing_field', `${path} is missing: it ${expectation}.`, { param: path });
}
