/** The control plane, as callers of a gateway reach it: requests go to the operator as they came, and so do its answers. */
import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from 'node:http';
import { errorText } from './answer.ts';
import { asGatewayError, GatewayError } from './errors.ts';
import type { Exchange } from './exchange.ts';
import type { GatewayState } from './gateway-state.ts';
import { newExchange } from './new-exchange.ts';
import { CallerLeft } from './read-body.ts';
import { pathOf } from './serve-plain.ts';
import { UpstreamCall } from './upstream/call.ts';
import type { Connections } from './upstream/connections.ts';
import { copyDown, OF_CONNECTION } from './upstream/headers.ts';
import { assertNoLoop, hopHeader } from './upstream/loop.ts';
import { UnaryBody } from './upstream/unary-body.ts';

const MAX_BODY_BYTES = 1024 * 1024;
/** More than the operator takes for the slowest of what it is asked. */
const TIME_LIMIT_MS = 60_000;
const RETRY_AFTER_S = '5';
/** For the log alone: the caller left before its answer. */
const CLIENT_CLOSED = 499;
const NAME = 'operator';
const METHODS: readonly string[] = ['GET', 'POST', 'PUT', 'DELETE'];
const NOT_HANDED_ON: ReadonlySet<string> = new Set([...OF_CONNECTION, 'x-request-id']);

interface Answer {
  readonly status: number;
  /** Flat list of names and values. */
  readonly headers: readonly string[];
  readonly body: Buffer | string;
}

export class OperatorLink {
  /** Requests that are under way. */
  running = 0;
  private readonly origin: string | undefined;
  private readonly connections: Connections;

  /** `origin` of the operator; undefined: there is none, and every request is answered so. */
  constructor(origin: string | undefined, connections: Connections) {
    this.origin = origin;
    this.connections = connections;
  }

  /** Never rejects. Logged and counted as any other request. */
  async serve(gateway: GatewayState, request: IncomingMessage, response: ServerResponse): Promise<void> {
    const exchange = newExchange(gateway, undefined, pathOf(request), request);
    gateway.metrics.begin();
    this.running += 1;
    const gone = new AbortController();
    response.on('close', () => gone.abort(new CallerLeft()));
    const answer = await this.ask(request, exchange, gone.signal).catch((error: unknown) => failed(exchange, error));
    if (gone.signal.aborted) exchange.status = CLIENT_CLOSED;
    else send(gateway, exchange, response, answer);
    this.running -= 1;
    gateway.metrics.settle(exchange);
    gateway.log.request(exchange);
    gateway.tracing.record(exchange);
  }

  private async ask(request: IncomingMessage, exchange: Exchange, gone: AbortSignal): Promise<Answer> {
    const { origin } = this;
    assertMethod(request);
    if (origin === undefined) throw unavailable('This gateway has no control plane: --operator-url names none.');
    assertNoLoop(request.headers);
    const body = await wholeBody(request, gone);
    return this.call(origin, request, headersUp(request, exchange), body, gone);
  }

  private call(
    origin: string,
    { method = 'GET', url = '/' }: IncomingMessage,
    headers: readonly string[],
    body: Buffer,
    gone: AbortSignal,
  ): Promise<Answer> {
    return new Promise((resolve, reject) => {
      const collected = new UnaryBody();
      let head: { readonly status: number; readonly headers: IncomingHttpHeaders } | undefined;
      const lane = this.connections.lane(origin);
      const call = new UpstreamCall(this.connections, lane, { method, path: url, headers, body }, NAME, {
        onHead: (status, answered) => {
          head = { status, headers: answered };
        },
        onBytes: (chunk) => {
          try {
            collected.add(chunk, NAME);
          } catch (error) {
            giveUp(error);
          }
        },
        onEnd: () => {
          clearTimeout(timer);
          resolve({ status: head?.status ?? 502, headers: headersDown(head?.headers ?? {}), body: collected.taken() });
        },
        onFailure: (cause) => {
          clearTimeout(timer);
          reject(cause.code === 'invalid_value' ? cause : unavailable('The operator cannot be reached.', cause));
        },
      });
      const giveUp = (error: unknown): void => {
        clearTimeout(timer);
        call.abort();
        reject(error);
      };
      const timer = setTimeout(() => giveUp(unavailable('The operator did not answer in time.')), TIME_LIMIT_MS);
      gone.addEventListener('abort', () => giveUp(gone.reason), { once: true });
      call.start();
    });
  }
}

/** Which of them a path takes is the operator's word. */
function assertMethod({ method = '' }: IncomingMessage): void {
  if (METHODS.includes(method)) return;
  const allow = METHODS.join(', ');
  throw new GatewayError('method_not_allowed', `The control plane takes ${allow} only.`, { headers: { allow } });
}

/** Bounded. Rejects with `body_too_large`, or with CallerLeft. */
function wholeBody(request: IncomingMessage, gone: AbortSignal): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    let bytes = 0;
    gone.addEventListener('abort', () => reject(gone.reason), { once: true });
    request.on('end', () => resolve(Buffer.concat(chunks, bytes)));
    request.on('data', (chunk: Buffer) => {
      bytes += chunk.length;
      if (bytes <= MAX_BODY_BYTES) {
        chunks.push(chunk);
        return;
      }
      chunks.length = 0;
      request.pause();
      reject(tooLarge());
    });
  });
}

function tooLarge(): GatewayError {
  const message = `The body is larger than ${MAX_BODY_BYTES} bytes.`;
  return new GatewayError('body_too_large', message, { headers: { connection: 'close' } });
}

function headersUp({ headers }: IncomingMessage, exchange: Exchange): string[] {
  const hopByHop = new Set((headers.connection ?? '').toLowerCase().split(/\s*,\s*/));
  const up = ['cdn-loop', hopHeader(headers), 'x-request-id', exchange.id];
  if (headers['x-gateway-trace-id'] === undefined) up.push('x-gateway-trace-id', exchange.trace.traceId);
  for (const [name, value] of Object.entries(headers)) {
    if (value === undefined || NOT_HANDED_ON.has(name) || hopByHop.has(name) || name.startsWith('x-forwarded-'))
      continue;
    for (const one of typeof value === 'string' ? [value] : value) up.push(name, one);
  }
  return up;
}

function headersDown(headers: IncomingHttpHeaders): readonly string[] {
  const down: string[] = [];
  copyDown(headers, down);
  return down;
}

function unavailable(message: string, cause?: unknown): GatewayError {
  return new GatewayError('control_plane_unavailable', message, { cause, headers: { 'retry-after': RETRY_AFTER_S } });
}

function failed(exchange: Exchange, cause: unknown): Answer {
  const error = asGatewayError(cause);
  exchange.errorCode = error.code;
  const headers = ['content-type', 'application/json', ...Object.entries(error.details.headers ?? {}).flat()];
  return { status: error.status, headers, body: errorText('openai', error, exchange.id) };
}

function send(gateway: GatewayState, exchange: Exchange, response: ServerResponse, answer: Answer): void {
  exchange.status = answer.status;
  response.writeHead(answer.status, [
    'x-request-id',
    exchange.id,
    'x-gateway-trace-id',
    exchange.trace.echoed,
    'content-length',
    String(Buffer.byteLength(answer.body)),
    ...(gateway.draining ? ['connection', 'close'] : []),
    ...answer.headers,
  ]);
  response.end(answer.body);
}
