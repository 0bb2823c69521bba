/** Query parameters: each at most once, and what each may be. What nobody knows is not looked at. */
import { ControlError } from './control-error.ts';

export interface PageBounds {
  readonly smallest: number;
  readonly largest: number;
}

export interface Page<T> {
  readonly items: readonly T[];
  readonly total: number;
}

const PAGE_SIZE = 100;
/** 0 counts alone. */
export const ANY_PAGE: PageBounds = { smallest: 0, largest: Number.MAX_SAFE_INTEGER };

/** Throws `invalid_value`. undefined: absent, or empty. */
export function parameter(query: URLSearchParams, name: string): string | undefined {
  const values = query.getAll(name);
  if (values.length > 1) throw new ControlError('invalid_value', `${name} must be given once.`, { param: name });
  return values[0] === '' ? undefined : values[0];
}

/** Throws `invalid_value`. */
export function wordOf(query: URLSearchParams, name: string, words: readonly string[]): string | undefined {
  const value = parameter(query, name);
  if (value === undefined || words.includes(value)) return value;
  throw new ControlError('invalid_value', `${name} must be one of ${words.join(', ')}.`, { param: name });
}

/** Throws `invalid_value`. */
export function flagOf(query: URLSearchParams, name: string): boolean {
  return wordOf(query, name, ['true', 'false']) === 'true';
}

/** `current_page` counts from 0; a page beyond the last is empty. Throws `invalid_value`. */
export function pageOf<T>(query: URLSearchParams, items: readonly T[], bounds: PageBounds = ANY_PAGE): Page<T> {
  const size = integerOf(query, 'page_size', bounds) ?? PAGE_SIZE;
  const page = integerOf(query, 'current_page', ANY_PAGE) ?? 0;
  return { items: items.slice(page * size, (page + 1) * size), total: items.length };
}

function integerOf(query: URLSearchParams, name: string, { smallest, largest }: PageBounds): number | undefined {
  const text = parameter(query, name);
  if (text === undefined) return undefined;
  const value = /^\d{1,15}$/.test(text) ? Number(text) : Number.NaN;
  if (value >= smallest && value <= largest) return value;
  const range = largest === ANY_PAGE.largest ? `of at least ${smallest}` : `from ${smallest} to ${largest}`;
  throw new ControlError('invalid_value', `${name} must be an integer ${range}.`, { param: name });
}
