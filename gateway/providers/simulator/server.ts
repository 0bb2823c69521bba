/** A local HTTP server that speaks OpenAI's wire format and misbehaves on demand: see `models.ts`. */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout } from 'node:timers/promises';
import type { Json } from '../provider.ts';
import { type Answer, answerOf, isObject } from './answers.ts';
import { embeddingBody } from './embedding.ts';
import { type Behaviour, behaviourOf, SIMULATOR_MODELS } from './models.ts';
import { chatBody, chatEvents, completionBody, completionEvents } from './wire.ts';

export interface Simulator {
  /** E.g. `http://127.0.0.1:43123`; its API begins with `/v1`. */
  readonly origin: string;
  /** Breaks what is running, and ends when the port is free. */
  close(): Promise<void>;
}

interface Form {
  whole(body: Json, answer: Answer): Json;
  events(answer: Answer, usage: boolean): string[];
}

const FORMS: Readonly<Record<string, Form>> = {
  '/v1/chat/completions': { whole: (_, answer) => chatBody(answer), events: chatEvents },
  '/v1/completions': { whole: (_, answer) => completionBody(answer), events: completionEvents },
  '/v1/embeddings': { whole: (body) => embeddingBody(body), events: () => [] },
};

const MODELS = JSON.stringify({
  object: 'list',
  data: SIMULATOR_MODELS.map(({ name }) => ({ id: name, object: 'model', created: 0, owned_by: 'simulator' })),
});
const GARBAGE = '<html><body>It works!</body></html>';
/** Longer than any client keeps a pooled connection, so that it is the client that closes. */
const KEEP_ALIVE_MS = 600_000;

/** Keeps no process alive: a name may ask for minutes. */
function wait(ms: number): Promise<void> {
  return setTimeout(ms, undefined, { ref: false });
}

async function readText(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks).toString();
}

function parse(text: string): Json | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return isObject(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

function sendJson(response: ServerResponse, status: number, text: string, headers: Record<string, string> = {}): void {
  response.writeHead(status, {
    'content-type': 'application/json',
    'content-length': Buffer.byteLength(text),
    ...headers,
  });
  response.end(text);
}

function sendProblem(response: ServerResponse, behaviour: Behaviour): void {
  const { status = 500, errorCode = null, retryAfterS } = behaviour;
  const type = status === 429 ? 'rate_limit_error' : status >= 500 ? 'server_error' : 'invalid_request_error';
  const message = errorCode ?? `The simulator was asked for status ${status}.`;
  const headers: Record<string, string> = status < 400 ? { location: '/v1/elsewhere' } : {};
  if (retryAfterS !== undefined) headers['retry-after'] = String(retryAfterS);
  sendJson(response, status, JSON.stringify({ error: { message, type, code: errorCode, param: null } }), headers);
}

/** Ends an answer as the behaviour says, after what was right of it. */
function spoilEnd(response: ServerResponse, spoil: Behaviour['spoil'], garbage: string): void {
  if (spoil === 'garbage') response.end(garbage);
  // What was written must leave before the connection breaks: else a client could miss the right part.
  if (spoil === 'cut') response.write('', () => setImmediate(() => response.destroy()));
}

function sendWhole(response: ServerResponse, text: string, { spoil, spoilAfter }: Behaviour): void {
  if (spoil === undefined) {
    sendJson(response, 200, text);
    return;
  }
  response.writeHead(200, { 'content-type': 'application/json' });
  response.write(spoilAfter === 0 && spoil === 'garbage' ? '' : text.slice(0, text.length / 2));
  spoilEnd(response, spoil, GARBAGE);
}

async function sendEvents(response: ServerResponse, events: readonly string[], behaviour: Behaviour): Promise<void> {
  const { spoil, spoilAfter = 0, gapMs } = behaviour;
  response.writeHead(200, { 'content-type': 'text/event-stream; charset=utf-8', 'cache-control': 'no-cache' });
  response.flushHeaders();
  for (const data of spoil === undefined ? events : events.slice(0, spoilAfter)) {
    if (gapMs !== undefined) await wait(gapMs);
    if (response.destroyed) return;
    response.write(`data: ${data}\n\n`);
  }
  if (spoil === undefined) response.end();
  else spoilEnd(response, spoil, spoilAfter === 0 ? GARBAGE : 'data: {"choices": [{"ind\n\n');
}

/** Counts the failures of `flaky-<n>`: true while this request must fail. */
class Flakiness {
  readonly #failed = new Map<string, number>();

  fails(model: string, failures: number | undefined): boolean {
    if (failures === undefined) return false;
    const failed = this.#failed.get(model) ?? 0;
    this.#failed.set(model, failed < failures ? failed + 1 : 0);
    return failed < failures;
  }
}

async function answer(request: IncomingMessage, response: ServerResponse, flakiness: Flakiness): Promise<void> {
  const path = (request.url ?? '').split('?', 1)[0] ?? '';
  const raw = await readText(request);
  if (request.method === 'GET' && path === '/v1/models') return sendJson(response, 200, MODELS);
  const form = FORMS[path];
  if (form === undefined) return sendProblem(response, { status: 404, errorCode: 'unknown_path' });
  if (request.method !== 'POST') return sendProblem(response, { status: 405, errorCode: 'method_not_allowed' });
  const body = parse(raw);
  if (body === undefined) return sendProblem(response, { status: 400, errorCode: 'invalid_json' });
  const model = String(body.model ?? 'echo');
  const behaviour = behaviourOf(model);
  if (behaviour.delayMs !== undefined) await wait(behaviour.delayMs);
  if (behaviour.status !== undefined) return sendProblem(response, behaviour);
  if (flakiness.fails(model, behaviour.failures)) return sendProblem(response, { status: 503 });
  const said = answerOf(raw, body, behaviour);
  if (body.stream !== true || path === '/v1/embeddings') {
    return sendWhole(response, JSON.stringify(form.whole(body, said)), behaviour);
  }
  const usage = isObject(body.stream_options) && body.stream_options.include_usage === true;
  return sendEvents(response, form.events(said, usage), behaviour);
}

/** Starts it on a free port of 127.0.0.1. */
export async function startSimulator(): Promise<Simulator> {
  const flakiness = new Flakiness();
  const server = createServer({ keepAliveTimeout: KEEP_ALIVE_MS, requestTimeout: 0 }, (request, response) => {
    answer(request, response, flakiness).catch((error: unknown) => response.destroy(error as Error));
  });
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(0, '127.0.0.1', resolve);
  });
  const { port } = server.address() as AddressInfo;
  return {
    origin: `http://127.0.0.1:${port}`,
    close: () =>
      new Promise((resolve, reject) => {
        server.close((error) => (error === undefined ? resolve() : reject(error)));
        server.closeAllConnections();
      }),
  };
}
