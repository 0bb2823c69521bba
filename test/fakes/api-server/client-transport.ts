/** A client's way to the server. */
import type { ApiRequest, ApiResponse, Transport } from '#crds/api/transport.ts';

type Serve = (who: string, request: ApiRequest) => Promise<ApiResponse>;

export class ClientTransport implements Transport {
  /** Identity that the journal names. */
  readonly who: string;
  readonly #serve: Serve;
  readonly #closing = new AbortController();

  constructor(who: string, serve: Serve) {
    this.who = who;
    this.#serve = serve;
  }

  /** After `close` nothing is sent, and what is under way is given up. */
  send(request: ApiRequest): Promise<ApiResponse> {
    const { signal: own } = request;
    const signal = own === undefined ? this.#closing.signal : AbortSignal.any([own, this.#closing.signal]);
    return this.#serve(this.who, { ...request, signal });
  }

  async close(): Promise<void> {
    this.#closing.abort(new Error('the client is closed'));
  }
}
