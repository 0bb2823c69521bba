/** An API server that answers as the test says, in memory. */
import type { ApiObject } from '#crds/api/api-object.ts';
import type { ApiRequest, ApiResponse, Transport } from '#crds/api/transport.ts';

export type Answer = (request: ApiRequest) => ApiResponse | Promise<ApiResponse>;

export class ScriptedTransport implements Transport {
  readonly requests: ApiRequest[] = [];
  #answer: Answer;

  constructor(answer: Answer) {
    this.#answer = answer;
  }

  /** From the next request on. */
  answerWith(answer: Answer): void {
    this.#answer = answer;
  }

  async send(request: ApiRequest): Promise<ApiResponse> {
    this.requests.push(request);
    return this.#answer(request);
  }

  async close(): Promise<void> {}
}

export function queryOf({ path }: ApiRequest): Readonly<Record<string, string>> {
  return Object.fromEntries(new URL(path, 'http://api').searchParams);
}

export function json(body: unknown, status = 200, headers: Readonly<Record<string, string>> = {}): ApiResponse {
  return { status, headers, body: bodyOf(JSON.stringify(body)) };
}

export function failure(
  code: number,
  reason: string,
  { message = `it is ${reason}`, headers = {} }: { message?: string; headers?: Readonly<Record<string, string>> } = {},
): ApiResponse {
  return json({ kind: 'Status', apiVersion: 'v1', status: 'Failure', code, reason, message }, code, headers);
}

export async function* bodyOf(...texts: readonly string[]): AsyncGenerator<Uint8Array> {
  for (const text of texts) yield Buffer.from(text);
}

/** Never answers; gives up with the request. */
export function silence({ signal }: ApiRequest): Promise<never> {
  return new Promise((_, reject) => signal?.addEventListener('abort', () => reject(signal.reason)));
}

/** An answer that the test writes bit by bit. Ends where the request is given up. */
export class Stream {
  readonly #request: ApiRequest;
  readonly #waiting: (Uint8Array | Error | undefined)[] = [];
  #wake: () => void = () => {};

  constructor(request: ApiRequest) {
    this.#request = request;
    request.signal?.addEventListener('abort', () => this.break(request.signal?.reason));
  }

  get request(): ApiRequest {
    return this.#request;
  }

  get response(): ApiResponse {
    return { status: 200, headers: {}, body: this.#body() };
  }

  write(bytes: string | Uint8Array): void {
    this.#push(typeof bytes === 'string' ? Buffer.from(bytes) : bytes);
  }

  end(): void {
    this.#push(undefined);
  }

  break(error: Error): void {
    this.#push(error);
  }

  #push(one: Uint8Array | Error | undefined): void {
    this.#waiting.push(one);
    this.#wake();
  }

  async *#body(): AsyncGenerator<Uint8Array> {
    for (;;) {
      while (this.#waiting.length === 0) {
        await new Promise<void>((resolve) => {
          this.#wake = resolve;
        });
      }
      const one = this.#waiting.shift();
      if (one === undefined) return;
      if (one instanceof Error) throw one;
      yield one;
    }
  }
}

export interface ObjectFields {
  readonly name?: string;
  readonly namespace?: string;
  readonly uid?: string;
  readonly [field: string]: unknown;
}

/** A ConfigMap; what is not its identity is its metadata's. */
export function configMap(version: number | string, { name = 'a', namespace = 'n', uid, ...more }: ObjectFields = {}) {
  const metadata = { name, namespace, uid: uid ?? `uid-of-${name}`, resourceVersion: String(version), ...more };
  return { apiVersion: 'v1', kind: 'ConfigMap', metadata, data: { version: String(version) } } satisfies ApiObject;
}

export function listOf(version: number | string, items: readonly unknown[] = [], next?: string) {
  return {
    kind: 'ConfigMapList',
    apiVersion: 'v1',
    metadata: { resourceVersion: String(version), ...(next === undefined ? {} : { continue: next }) },
    items,
  };
}

export function line(type: string, object: unknown): string {
  return `${JSON.stringify({ type, object })}\n`;
}

export function bookmark(version: number): string {
  return line('BOOKMARK', { kind: 'ConfigMap', apiVersion: 'v1', metadata: { resourceVersion: String(version) } });
}
