/**
 * The small values that fields are made of. Every string and list is bounded, so that the CRDs are. `absent` in a field's
 * metadata is what holds where it is left out: the gateway fills it in, an inherited value may come first, so it is no default.
 */
import { z } from './words.ts';

/** Items of a list where nothing else is said. */
export const MAX_ITEMS = 100;
/** How deep a free object (`override_params`, `metadata`, a check's parameters, ...) may nest. */
export const MAX_FREE_DEPTH = 32;

/** Non-empty text of at most `max` characters. */
export function text(max: number, description: string) {
  return z.string().min(1).max(max).describe(description);
}

/** Text of a fixed form; `say` completes "must be ...". */
export function pattern(max: number, form: RegExp, say: string, description: string) {
  return z
    .string()
    .min(1)
    .max(max)
    .regex(form, { error: `must be ${say}` })
    .describe(description);
}

function fits(value: unknown, depth: number): boolean {
  if (typeof value !== 'object' || value === null) return true;
  return depth > 0 && Object.values(value).every((child) => fits(child, depth - 1));
}

/** An object of any keys and JSON values, at most 32 levels deep. */
export function freeObject(description: string) {
  return z
    .record(z.string(), z.unknown())
    .refine((value) => fits(value, MAX_FREE_DEPTH), { error: `must be nested at most ${MAX_FREE_DEPTH} levels deep` })
    .describe(description);
}

/** A list of HTTP status codes, 100 to 599. */
export function statusCodes(description: string) {
  return z.array(z.int().min(100).max(599)).max(MAX_ITEMS).describe(description);
}

/** Milliseconds of a wait, 1 ms to 24 h. `absent`: what holds where it is left out. */
export function milliseconds(description: string, absent?: number) {
  return z
    .int()
    .min(1)
    .max(86_400_000)
    .meta({ description, ...(absent !== undefined && { absent }) });
}

function isHttpUrl(value: string): boolean {
  if (!/^https?:\/\//i.test(value) || !URL.canParse(value)) return false;
  const { username, password, search, hash } = new URL(value);
  return username === '' && password === '' && search === '' && hash === '';
}

/** Base URL of an upstream: http or https, no credentials, query or fragment. */
export function httpUrl(description: string) {
  return z
    .string()
    .max(2048)
    .refine(isHttpUrl, {
      error: 'must be an http or https URL without credentials and query, such as "https://llm.internal:8000/v1"',
    })
    .meta({ description, pattern: '^[hH][tT][tT][pP][sS]?://' });
}
