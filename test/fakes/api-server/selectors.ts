/** Label and field selectors, in the notation of the API. */
import type { ApiObject } from '#crds/api/api-object.ts';
import { badRequest } from './failure.ts';

export type Selects = (object: ApiObject) => boolean;

type Requirement = (value: string | undefined) => boolean;

const TOKEN = /\s*(?:(!=|==|[=!<>(),])|([^\s=!<>(),]+))/gy;

/** Words and signs of a selector, and '' at its end. */
class Tokens {
  readonly #tokens: string[];
  #at = 0;

  constructor(text: string) {
    this.#tokens = [...text.matchAll(TOKEN)].map(([, sign, word]) => sign ?? word ?? '');
  }

  get next(): string {
    return this.#tokens[this.#at] ?? '';
  }

  take(): string {
    const token = this.next;
    this.#at += 1;
    return token;
  }

  /** Whether it was there; taken if so. */
  has(token: string): boolean {
    if (this.next !== token) return false;
    this.#at += 1;
    return true;
  }

  get isWord(): boolean {
    return /^[^=!<>(),]+$/.test(this.next);
  }
}

const SETS: Readonly<Record<string, (values: readonly string[]) => Requirement>> = {
  in: (values) => (value) => value !== undefined && values.includes(value),
  notin: (values) => (value) => value === undefined || !values.includes(value),
};

const SIGNS: Readonly<Record<string, (wanted: string) => Requirement>> = {
  '=': (wanted) => (value) => value === wanted,
  '==': (wanted) => (value) => value === wanted,
  '!=': (wanted) => (value) => value !== wanted,
  '>': (wanted) => (value) => value !== undefined && Number(value) > Number(wanted),
  '<': (wanted) => (value) => value !== undefined && Number(value) < Number(wanted),
};

/** Throws Failure 400. */
export function labelSelector(text: string): Selects {
  const tokens = new Tokens(text);
  const parts: Selects[] = [];
  while (tokens.next !== '') {
    parts.push(labelPart(tokens));
    if (tokens.next === '') break;
    if (!tokens.has(','))
      throw badRequest(`unable to parse requirement: found '${tokens.next}', expected: ',' or 'end of string'`);
    if (!tokens.isWord && tokens.next !== '!')
      throw badRequest(`found '${tokens.next}', expected: identifier after ','`);
  }
  return (object) => parts.every((part) => part(object));
}

function labelPart(tokens: Tokens): Selects {
  const isAbsence = tokens.has('!');
  if (!tokens.isWord) throw badRequest(`found '${tokens.next}', expected: !, identifier, or 'end of string'`);
  const key = tokens.take();
  const requirement = isAbsence ? (value: string | undefined) => value === undefined : requirementOf(tokens);
  return ({ metadata: { labels = {} } }) => requirement(Object.hasOwn(labels, key) ? labels[key] : undefined);
}

function requirementOf(tokens: Tokens): Requirement {
  if (tokens.next === '' || tokens.next === ',') return (value) => value !== undefined;
  const operator = tokens.take();
  const set = Object.hasOwn(SETS, operator) ? SETS[operator] : undefined;
  if (set !== undefined) return set(valuesOf(tokens));
  const sign = Object.hasOwn(SIGNS, operator) ? SIGNS[operator] : undefined;
  if (sign !== undefined) return sign(tokens.isWord ? tokens.take() : '');
  throw badRequest(`unable to parse requirement: found '${operator}', expected: in, notin, =, ==, !=, gt, lt`);
}

function valuesOf(tokens: Tokens): string[] {
  if (!tokens.has('(')) throw badRequest(`unable to parse requirement: found '${tokens.next}', expected: '('`);
  const values: string[] = [];
  for (;;) {
    values.push(tokens.isWord ? tokens.take() : '');
    if (tokens.has(')')) return values;
    if (!tokens.has(',')) throw badRequest(`unable to parse requirement: found '${tokens.next}', expected: ',' or ')'`);
  }
}

const FIELDS: Readonly<Record<string, (object: ApiObject) => string>> = {
  'metadata.name': ({ metadata }) => metadata.name,
  'metadata.namespace': ({ metadata }) => metadata.namespace ?? '',
};

/** Knows metadata.name and metadata.namespace. Throws Failure 400. */
export function fieldSelector(text: string): Selects {
  const parts = text
    .split(',')
    .filter((part) => part !== '')
    .map((part) => {
      const [, field = '', sign = '', wanted = ''] = /^([^=!]+)(==?|!=)(.*)$/.exec(part) ?? [];
      if (field === '') throw badRequest(`invalid selector: '${part}'; can't understand '${part}'`);
      const read = Object.hasOwn(FIELDS, field) ? FIELDS[field] : undefined;
      if (read === undefined) throw badRequest(`field label not supported: ${field}`);
      return (object: ApiObject) => (read(object) === wanted) === (sign !== '!=');
    });
  return (object) => parts.every((part) => part(object));
}
