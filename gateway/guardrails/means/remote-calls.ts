/** Calls that checks make: bounded in time and size, and none to a service that has just failed again and again. */
import type { IncomingHttpHeaders } from 'node:http';
import { CheckError } from '../../checks/check.ts';
import { CallerLeft } from '../../read-body.ts';
import { Breaker, type Outcome, type Permits } from '../../route/breaker.ts';
import { UpstreamCall } from '../../upstream/call.ts';
import type { Connections } from '../../upstream/connections.ts';

export interface BoundedCall {
  readonly method: 'GET' | 'POST';
  readonly url: URL;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
  readonly timeoutMs: number;
  readonly maxBytes: number;
  readonly signal: AbortSignal;
  /** Origins besides public addresses; undefined: the administrator's word, anywhere. */
  readonly listed: ReadonlySet<string> | undefined;
}

export interface BoundedAnswer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly bytes: Buffer;
  /** false: there was more than `maxBytes`. */
  readonly complete: boolean;
}

const NAME = 'The service';
const RULE = { failureThreshold: 5, cooldownMs: 10_000, statusCodes: undefined };
const MAX_ORIGINS = 1_000;
const SERVER_ERROR = 500;
/** Theirs are not for a check to choose. */
const OURS: ReadonlySet<string> = new Set(['host', 'content-length', 'connection', 'transfer-encoding', 'upgrade']);

export class RemoteCalls {
  readonly #connections: Connections;
  readonly #breakers = new Map<string, Breaker>();
  readonly #permits: Permits = { last: 0 };

  constructor(connections: Connections) {
    this.#connections = connections;
  }

  /** Rejected where nothing came of it: network, time, abort, or a circuit that is open. */
  async call(request: BoundedCall): Promise<BoundedAnswer> {
    const breaker = this.#breakerOf(request.url.origin);
    if (!breaker.admits(performance.now()))
      throw new CheckError('The service has failed again and again: it is left alone for a while.');
    this.#permits.last += 1;
    const permit = this.#permits.last;
    breaker.enter(permit, performance.now());
    let outcome: Outcome = 'failure';
    try {
      const answer = await this.#ask(request);
      outcome = answer.status >= SERVER_ERROR ? 'failure' : 'success';
      return answer;
    } catch (error) {
      if (request.signal.reason instanceof CallerLeft) outcome = 'abandoned';
      throw error;
    } finally {
      breaker.record(permit, outcome, performance.now());
    }
  }

  #breakerOf(origin: string): Breaker {
    const known = this.#breakers.get(origin);
    if (known !== undefined) return known;
    const [oldest] = this.#breakers.keys();
    if (this.#breakers.size >= MAX_ORIGINS && oldest !== undefined) this.#breakers.delete(oldest);
    const breaker = new Breaker(RULE, this.#permits);
    this.#breakers.set(origin, breaker);
    return breaker;
  }

  #ask(request: BoundedCall): Promise<BoundedAnswer> {
    const { url, method, body, timeoutMs, maxBytes, signal, listed } = request;
    const lane = this.#connections.lane(url.origin, listed);
    const asked = { method, path: url.pathname + url.search, headers: flat(request.headers), body };
    return new Promise((resolve, reject) => {
      const chunks: Buffer[] = [];
      let bytes = 0;
      let status = 0;
      let headers: IncomingHttpHeaders = {};
      const settle = (complete: boolean): void => {
        over();
        resolve({ status, headers, bytes: Buffer.concat(chunks).subarray(0, maxBytes), complete });
      };
      const call = new UpstreamCall(this.#connections, lane, asked, NAME, {
        onHead: (answered, given) => {
          status = answered;
          headers = given;
        },
        onBytes: (chunk) => {
          bytes += chunk.length;
          chunks.push(Buffer.from(chunk));
          if (bytes <= maxBytes) return;
          call.abort();
          settle(false);
        },
        onEnd: () => settle(true),
        onFailure: (error) => {
          over();
          reject(error);
        },
      });
      const giveUp = (reason: unknown): void => {
        over();
        call.abort();
        reject(reason);
      };
      const onAbort = (): void => giveUp(signal.reason);
      const timer = setTimeout(() => giveUp(new CheckError(`It took longer than ${timeoutMs} ms.`)), timeoutMs);
      const over = (): void => {
        clearTimeout(timer);
        signal.removeEventListener('abort', onAbort);
      };
      signal.addEventListener('abort', onAbort, { once: true });
      if (signal.aborted) onAbort();
      else call.start();
    });
  }
}

function flat(headers: Readonly<Record<string, string>>): string[] {
  const list = ['accept-encoding', 'identity', 'user-agent', 'model-gateway'];
  for (const [name, value] of Object.entries(headers)) {
    const lower = name.toLowerCase();
    if (!OURS.has(lower)) list.push(lower, value);
  }
  return list;
}
