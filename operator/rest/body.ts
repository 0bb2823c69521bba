/** Bodies -> specs, in the words that a refused manifest would have. */
import { unknownKey, z } from '#crds/config/words.ts';
import { KINDS } from '#crds/kinds/kinds.ts';
import { problemsOf } from '#crds/problems.ts';
import { ControlError } from './control-error.ts';
import type { ControlKind, Spec } from './stored-object.ts';

export type Body = Readonly<Record<string, unknown>>;

/** What a body may say. */
export interface BodyRule {
  /** Names of the fields that go into the spec. */
  readonly fields: readonly string[];
  /** And of those that do not. */
  readonly besides: Readonly<Record<string, z.ZodType>>;
  /** Must be there though the kind does not ask for it. */
  readonly required?: readonly string[];
  /** Where the body calls a field of the spec otherwise: body -> spec. */
  readonly renamed?: Readonly<Record<string, string>>;
}

export interface ReadBody {
  /** By the names of the spec; null takes a field away. */
  readonly fields: Spec;
  readonly besides: Body;
}

/** Items of a list, and the fields of an object, may be null as well. */
const NULL_DEPTH = 2;

/** Throws `invalid_json` (no body), `missing_field`, `invalid_value`. */
export function readBody(body: Body | undefined, { fields, besides, required = [], renamed = {} }: BodyRule): ReadBody {
  if (body === undefined) throw new ControlError('invalid_json', 'The body is empty: send one JSON object.');
  const known = [...fields, ...Object.keys(besides)];
  const stranger = Object.keys(body).find((key) => !known.includes(key));
  if (stranger !== undefined)
    throw new ControlError('invalid_value', sentence(unknownKey(stranger, known)), { param: stranger.slice(0, 64) });
  const missing = required.find((name) => body[name] === undefined || body[name] === null);
  if (missing !== undefined) throw new ControlError('missing_field', `${missing} is required.`, { param: missing });
  const given = fields.filter((name) => body[name] !== undefined);
  return {
    fields: Object.fromEntries(given.map((name) => [renamed[name] ?? name, withoutNulls(body[name], NULL_DEPTH)])),
    besides: readBesides(body, besides),
  };
}

function readBesides(body: Body, shape: BodyRule['besides']): Body {
  const given = Object.fromEntries(
    Object.keys(shape).flatMap((name) => (body[name] == null ? [] : [[name, body[name]]])),
  );
  const read = z.object(shape).partial().safeParse(given);
  if (read.success) return read.data;
  throw refusalOf(read.error);
}

/** Throws `missing_field` or `invalid_value` for the first thing that the kind finds wrong. */
export function assertSpec(kind: ControlKind, spec: Spec, renamed: BodyRule['renamed'] = {}): void {
  const row = KINDS.find((one) => one.kind === kind);
  const checked = row?.specSchema.safeParse(spec);
  if (checked?.success === false) throw refusalOf(checked.error, renamed);
}

function refusalOf(error: z.ZodError, renamed: Readonly<Record<string, string>> = {}): ControlError {
  const [first = { path: '', message: 'is not valid' }] = problemsOf(error, '');
  const called = Object.entries(renamed).find(([, name]) => name === first.path)?.[0] ?? first.path;
  const code = first.message.startsWith('is required') ? 'missing_field' : 'invalid_value';
  return new ControlError(code, sentence(`${called} ${first.message}`), {
    param: called === '' ? undefined : called,
  });
}

/** Some problems end in a question. */
function sentence(text: string): string {
  return /[.?]$/.test(text) ? text.trimStart() : `${text.trimStart()}.`;
}

/** Those of a spec, changed as a body says. */
export function changedSpec(spec: Spec, fields: Spec): Spec {
  const merged = Object.entries({ ...spec, ...fields });
  return Object.fromEntries(merged.filter(([, value]) => value !== null));
}

function withoutNulls(value: unknown, depth: number): unknown {
  if (depth === 0 || typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) return value.map((item) => withoutNulls(item, depth - 1));
  const fields = Object.entries(value).filter(([, one]) => one !== null);
  return Object.fromEntries(fields.map(([name, one]) => [name, withoutNulls(one, depth - 1)]));
}
