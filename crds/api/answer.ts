/** What an API server's answer says: a JSON document, or a failure. */
import { ApiError } from './api-error.ts';
import type { ApiRequest, ApiResponse } from './transport.ts';

const MAX_ANSWER_BYTES = 64 * 1024 * 1024;
const MAX_FAILURE_BYTES = 64 * 1024;

/** The document that a whole answer holds. Throws ApiError. */
export async function documentOf(request: ApiRequest, response: ApiResponse): Promise<unknown> {
  if (response.status >= 300) throw await failureOf(request, response);
  const text = await textOf(request, response);
  try {
    return JSON.parse(text);
  } catch (cause) {
    throw noAnswer(request, cause);
  }
}

/** The failure that an answer of status 300 and above tells. */
export async function failureOf(request: ApiRequest, response: ApiResponse): Promise<ApiError> {
  const { status, headers } = response;
  const told = statusObjectOf(await beginningOf(response));
  const seconds = headers['retry-after'] === undefined ? Number.NaN : Number(headers['retry-after']);
  const retryAfterMs = Number.isFinite(seconds) ? seconds * 1000 : undefined;
  const message = `${nameOf(request)}: ${told.message ?? `status ${status}`}`;
  return new ApiError(message, { status, reason: told.reason ?? 'Unknown', retryAfterMs });
}

/** Refused, reset, timed out, aborted, or no JSON. */
export function noAnswer(request: ApiRequest, cause: unknown): ApiError {
  if (cause instanceof ApiError) return cause;
  const message = `${nameOf(request)}: ${cause instanceof Error ? cause.message : String(cause)}`;
  return new ApiError(message, { status: 0, reason: 'NoAnswer' }, { cause });
}

/** Without its query, which differs from one try to the next. */
function nameOf({ method, path }: ApiRequest): string {
  return `${method} ${path.split('?', 1)[0]}`;
}

async function textOf(request: ApiRequest, { body }: ApiResponse): Promise<string> {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of body) {
    bytes += chunk.length;
    if (bytes > MAX_ANSWER_BYTES) {
      const message = `${nameOf(request)}: the answer is larger than ${MAX_ANSWER_BYTES} bytes`;
      throw new ApiError(message, { status: 0, reason: 'TooLarge' });
    }
    chunks.push(chunk);
  }
  return Buffer.concat(chunks, bytes).toString('utf8');
}

/** Of a failure no more than what a Status object needs, and whatever breaks meanwhile does not hide the status. */
async function beginningOf({ body }: ApiResponse): Promise<string> {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  try {
    for await (const chunk of body) {
      chunks.push(chunk);
      bytes += chunk.length;
      if (bytes > MAX_FAILURE_BYTES) break;
    }
  } catch {
    // What came is what there is.
  }
  return Buffer.concat(chunks).toString('utf8');
}

interface StatusObject {
  readonly reason?: string | undefined;
  readonly message?: string | undefined;
}

function statusObjectOf(text: string): StatusObject {
  try {
    const { reason, message } = Object(JSON.parse(text));
    return { reason: wordOf(reason), message: wordOf(message) };
  } catch {
    return {};
  }
}

function wordOf(value: unknown): string | undefined {
  return typeof value === 'string' && value !== '' ? value : undefined;
}
