/** Error bodies of the servers that speak OpenAI's wire format: many shapes, one meaning. */
import type { UpstreamProblem } from '../provider.ts';

type Fields = Readonly<Record<string, unknown>>;

function isObject(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function text(value: unknown): string | undefined {
  if (typeof value === 'string') return value === '' ? undefined : value;
  return typeof value === 'number' ? String(value) : undefined;
}

/** FastAPI's list of validation errors: `[{loc: ["body", "n"], msg, type}]`. */
function readValidation(list: readonly unknown[]): { message: string; param: string | undefined } | undefined {
  const first = list.find(isObject);
  const message = text(first?.msg) ?? text(first?.message);
  if (message === undefined) return undefined;
  const place = Array.isArray(first?.loc) ? first.loc.filter((part: unknown) => part !== 'body') : [];
  return { message, param: place.length === 0 ? undefined : place.join('.') };
}

/** The message wherever it is: text, a list of validation errors, or an object around one of them. */
function readMessage(value: unknown): { message: string; param?: string | undefined } | undefined {
  if (Array.isArray(value)) return readValidation(value);
  if (isObject(value)) return readMessage(value.message ?? value.detail ?? value.error);
  const message = text(value);
  return message === undefined ? undefined : { message };
}

/**
 * Reads `{error: {message, type, code, param}}`, `{error: "text"}`, `{message, type, code, param}` and `{detail}` (text or
 * FastAPI's list). undefined for anything else. Numeric codes become text.
 */
export function readOpenAiProblem(body: unknown): UpstreamProblem | undefined {
  if (!isObject(body)) return undefined;
  const fields = isObject(body.error) ? body.error : body;
  const found = readMessage(body.error ?? body.message ?? body.detail);
  if (found === undefined) return undefined;
  return {
    message: found.message,
    type: text(fields.type),
    code: text(fields.code),
    param: text(fields.param) ?? found.param,
  };
}
