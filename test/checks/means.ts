/** Means of checks for tests: calls are real ones over loopback, the rest is scripted. */
import { request } from 'undici';
import type { CheckMeans, Completion, Download, Downloaded, Moderation, RemoteCall } from '#gateway/checks/means.ts';

export interface TestMeans extends CheckMeans {
  readonly lines: Record<string, unknown>[];
  readonly calls: RemoteCall[];
  readonly completions: Completion[];
  readonly moderations: Moderation[];
  readonly downloads: Download[];
}

async function call({ url, method = 'POST', headers, body, signal }: RemoteCall) {
  const answer = await request(url, { method, headers, signal, ...(body !== undefined && { body }) });
  return { status: answer.statusCode, headers: {}, text: await answer.body.text() };
}

async function download({ url, maxBytes, signal }: Download): Promise<Downloaded> {
  const answer = await request(url, { signal });
  const bytes = await answer.body.bytes();
  return { status: answer.statusCode, bytes: bytes.subarray(0, maxBytes), complete: bytes.byteLength <= maxBytes };
}

const nobody = () => Promise.reject(new Error('nobody answers'));

/** A promise that ends with the signal alone. */
export function hanging(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => {
    signal.addEventListener('abort', () => reject(signal.reason));
  });
}

export function testMeans(overrides: Partial<CheckMeans> = {}): TestMeans {
  const lines: Record<string, unknown>[] = [];
  const calls: RemoteCall[] = [];
  const completions: Completion[] = [];
  const moderations: Moderation[] = [];
  const downloads: Download[] = [];
  const means: CheckMeans = {
    call,
    download,
    resolves: nobody,
    complete: nobody,
    moderate: nobody,
    record: (fields) => lines.push(fields),
    now: Date.now,
    keyPrefix: 'mgw_',
    ...overrides,
  };
  return {
    ...means,
    lines,
    calls,
    completions,
    moderations,
    downloads,
    call: (given) => {
      calls.push(given);
      return means.call(given);
    },
    complete: (given) => {
      completions.push(given);
      return means.complete(given);
    },
    moderate: (given) => {
      moderations.push(given);
      return means.moderate(given);
    },
    download: (given) => {
      downloads.push(given);
      return means.download(given);
    },
  };
}
