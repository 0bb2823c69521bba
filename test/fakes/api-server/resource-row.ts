/** What the server knows of a kind. */
import type { ApiObject, Resource } from '#crds/api/api-object.ts';
import type { Cause, Subject } from './failure.ts';
import type { Schema } from './schema.ts';

export interface ResourceRow extends Resource, Subject {
  readonly isNamespaced: boolean;
  /** Whether `status` is written by a subresource, and by nothing else. */
  readonly hasStatus: boolean;
  /** What makes a new generation; undefined: the kind has none. */
  readonly counts: 'spec' | 'everything' | undefined;
  /** Whether PUT creates what is missing. */
  readonly createsOnReplace: boolean;
  /** Whether PUT may leave the resourceVersion out. */
  readonly replacesUnconditionally: boolean;
  /** Of everything but apiVersion, kind and metadata. */
  readonly schema: Schema;
  /** Whether what the schema refuses cannot even be read (400), or is read and found invalid (422). */
  readonly isTyped: boolean;
  /** Whether a list's items say of which kind they are. */
  readonly namesItems: boolean;
  /** Fills in what the server itself decides. */
  readonly prepare?: (object: ApiObject) => ApiObject;
  /** Group that a refusal names, where it is another than the kind's. */
  readonly validatedGroup?: string;
  /** Whether the schema has rules that are no schema. */
  readonly hasRules?: boolean;
  /** Fields that are there whoever writes: what is in them is owned, they are not. */
  readonly alwaysThere?: readonly string[];
  /** Fields that nobody owns, with all that is in them. */
  readonly unowned?: readonly string[];
  /** What is wrong besides the schema. `before`: what it replaces. */
  readonly rules: (object: ApiObject, before: ApiObject | undefined) => readonly Cause[];
}

export function causeOf(field: string, message: string, reason = 'FieldValueInvalid'): Cause {
  return { reason, message, field };
}

export function requiredCause(field: string): Cause {
  return causeOf(field, 'Required value', 'FieldValueRequired');
}

export function immutableCause(field: string, value: unknown): Cause {
  return causeOf(field, `Invalid value: ${JSON.stringify(value)}: field is immutable`);
}
