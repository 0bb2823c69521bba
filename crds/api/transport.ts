/** How bytes reach an API server: over TLS in a cluster, in memory in tests of time. */

export interface ApiRequest {
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  /** With its query, e.g. `/api/v1/namespaces/default/secrets?limit=500`. */
  readonly path: string;
  readonly contentType?: string;
  /** Default: `application/json`. */
  readonly accept?: string;
  /** JSON text. */
  readonly body?: string;
  /** Gives up the request, or the answer that is being read. */
  readonly signal?: AbortSignal;
}

export interface ApiResponse {
  readonly status: number;
  /** Names in lower case. */
  readonly headers: Readonly<Record<string, string | undefined>>;
  /** As it comes; whoever stops reading gives up the connection. Throws where the connection breaks. */
  readonly body: AsyncIterable<Uint8Array>;
}

/** Rejects only where there is no answer: refused, reset, timed out, aborted. Every status is an answer. */
export interface Transport {
  send(request: ApiRequest): Promise<ApiResponse>;
  close(): Promise<void>;
}
