/** How every remote check asks: JSON there, JSON back; whatever else happens is a CheckError. */
import { CheckError } from '../check.ts';
import type { CheckMeans, RemoteReply } from '../means.ts';

export interface RemoteEndpoint {
  /** Begins sentences: `The webhook`. */
  readonly name: string;
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly timeoutMs: number;
}

/** The parsed answer. Throws CheckError for network, time, a status that is not 2xx, and what is no JSON. */
export function postJson(
  means: CheckMeans,
  endpoint: RemoteEndpoint,
  body: unknown,
  signal: AbortSignal,
): Promise<unknown> {
  const { name, url, headers, timeoutMs } = endpoint;
  const request = {
    method: 'POST',
    url,
    headers: { ...headers, 'content-type': 'application/json', accept: 'application/json' },
    body: JSON.stringify(body),
    timeoutMs,
    signal,
  } as const;
  return readReply(name, () => means.call(request));
}

export async function readReply(name: string, call: () => Promise<RemoteReply>): Promise<unknown> {
  const reply = await asking(name, call);
  if (reply.status < 200 || reply.status > 299) throw new StatusError(name, reply.status);
  return parseReply(name, reply.text);
}

/** What came back, or a CheckError in the place of whatever went wrong. */
export async function asking<T>(name: string, call: () => Promise<T>): Promise<T> {
  try {
    return await call();
  } catch (error) {
    throw error instanceof CheckError ? error : new CheckError(`${name} could not be asked.`, undefined, error);
  }
}

export function parseReply(name: string, text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw new CheckError(`${name} did not answer with JSON.`);
  }
}

/** For an answer in JSON that says nothing of what was asked. */
export function unknownShape(name: string, wanted: string): CheckError {
  return new CheckError(`${name} answered in an unknown shape: it must be ${wanted}.`);
}

/** The service answered, but not with 2xx. */
export class StatusError extends CheckError {
  readonly status: number;

  constructor(name: string, status: number) {
    super(`${name} answered with status ${status}.`);
    this.status = status;
  }
}
