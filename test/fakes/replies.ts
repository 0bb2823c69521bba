/** What a scripted upstream can do with a request. A reply has no state: it may be used again. */
import type { OutgoingHttpHeaders, ServerResponse } from 'node:http';
import { setTimeout } from 'node:timers/promises';
import { gzipSync } from 'node:zlib';
import { type AnthropicAnswer, anthropicEvents, anthropicMessage } from './anthropic-wire.ts';
import { type OpenAiAnswer, openAiChat, openAiError, openAiEvents } from './openai-wire.ts';
import type { Call } from './upstream.ts';

export interface Reply {
  send(response: ServerResponse, call: Call): void | Promise<void>;
}

export interface Pace {
  /** Before each piece. */
  readonly gapMs?: number;
  readonly status?: number;
  readonly headers?: OutgoingHttpHeaders;
  /** What follows the last piece; default `end`. */
  readonly ending?: 'end' | 'stall' | 'reset';
}

/** Resolves when more can be written, or nobody is there to read it. */
function writable(response: ServerResponse): Promise<void> {
  return new Promise((resolve) => {
    const done = () => {
      response.off('drain', done).off('close', done);
      resolve();
    };
    response.on('drain', done).on('close', done);
  });
}

/** What was written leaves first, then the connection breaks with a reset. */
function reset(response: ServerResponse): void {
  response.write('', () => setImmediate(() => response.socket?.resetAndDestroy()));
}

/** Writes pieces one by one, each in a packet of its own where `gapMs` is set. */
export function pieces(parts: readonly (string | Uint8Array)[], pace: Pace = {}): Reply {
  return {
    async send(response) {
      response.socket?.setNoDelay(true);
      response.writeHead(pace.status ?? 200, pace.headers ?? { 'content-type': 'text/event-stream' });
      response.flushHeaders();
      for (const part of parts) {
        if (pace.gapMs !== undefined) await setTimeout(pace.gapMs);
        if (response.destroyed) return;
        response.write(part);
      }
      if (pace.ending === 'reset') reset(response);
      else if (pace.ending !== 'stall') response.end();
    },
  };
}

/** Body text of any type. */
export function text(status: number, body: string, headers: OutgoingHttpHeaders = {}): Reply {
  return {
    send(response) {
      response.writeHead(status, {
        'content-type': 'text/plain',
        'content-length': Buffer.byteLength(body),
        ...headers,
      });
      response.end(body);
    },
  };
}

export function json(status: number, body: unknown, headers: OutgoingHttpHeaders = {}): Reply {
  return text(status, JSON.stringify(body), { 'content-type': 'application/json', ...headers });
}

/** 200 with a chat completion. */
export function chat(answer: OpenAiAnswer = {}): Reply {
  return json(200, openAiChat(answer));
}

/** A finished stream of chat completion chunks. */
export function chatStream(answer: OpenAiAnswer = {}, pace: Pace = {}): Reply {
  return pieces(openAiEvents(answer), pace);
}

export function message(answer: AnthropicAnswer = {}): Reply {
  return json(200, anthropicMessage(answer));
}

/** A finished stream of Anthropic's events. */
export function messageStream(answer: AnthropicAnswer = {}, pace: Pace = {}): Reply {
  return pieces(anthropicEvents(answer), pace);
}

/** An error in OpenAI's shape. */
export function problem(status: number, message = 'It failed.', code: string | null = null): Reply {
  return json(status, openAiError(message, status >= 500 ? 'server_error' : 'invalid_request_error', code));
}

/** The same reply, later. */
export function after(delayMs: number, reply: Reply): Reply {
  return {
    async send(response, call) {
      await setTimeout(delayMs);
      if (!response.destroyed) await reply.send(response, call);
    },
  };
}

/** A reply that waits until the test opens the gate. */
export function gated(reply: Reply): { readonly reply: Reply; open(): void } {
  const gate = Promise.withResolvers<void>();
  const send = async (response: ServerResponse, call: Call) => {
    await gate.promise;
    if (!response.destroyed) await reply.send(response, call);
  };
  return { reply: { send }, open: () => gate.resolve() };
}

/** Accepts and never answers. */
export const hangBeforeHeaders: Reply = { send: () => undefined };

/** Sends status and headers, and never a body byte. */
export const hangAfterHeaders: Reply = pieces([], { ending: 'stall' });

/** Breaks the connection before any answer. */
export const resetBeforeHeaders: Reply = {
  send(response) {
    response.socket?.resetAndDestroy();
  },
};

/** Headers with a length, half of the body, and a reset. */
export function resetMidBody(body: string): Reply {
  const headers = { 'content-type': 'application/json', 'content-length': Buffer.byteLength(body) };
  return pieces([body.slice(0, body.length / 2)], { headers, ending: 'reset' });
}

/** The same piece over and over until the caller leaves; as fast as it is read unless `gapMs` is set. */
export function neverEnding(piece: string, { gapMs, headers }: Pace = {}): Reply {
  return {
    async send(response) {
      response.writeHead(200, headers ?? { 'content-type': 'text/event-stream' });
      while (!response.destroyed) {
        const goesOn = response.write(piece);
        if (gapMs !== undefined) await setTimeout(gapMs);
        else if (!goesOn) await writable(response);
      }
    },
  };
}

/** A JSON object of `bytes` bytes, written as it is read. */
export function huge(bytes: number): Reply {
  const block = 'x'.repeat(65_536);
  return {
    async send(response) {
      response.writeHead(200, { 'content-type': 'application/json' });
      response.write('{"x":"');
      for (let sent = 0; sent < bytes && !response.destroyed; sent += block.length) {
        if (!response.write(block)) await writable(response);
      }
      response.end('"}');
    },
  };
}

export function redirect(location: string, status = 302): Reply {
  return text(status, '', { location });
}

/** Compressed although nobody asked for it. */
export function gzipped(body: unknown): Reply {
  const bytes = gzipSync(JSON.stringify(body));
  return pieces([bytes], { headers: { 'content-type': 'application/json', 'content-encoding': 'gzip' } });
}

/** Bytes straight to the socket, HTTP head included; what follows is as with `pieces`. */
export function rawBytes(parts: readonly (string | Uint8Array)[], { gapMs, ending }: Pace = {}): Reply {
  return {
    async send(response) {
      const { socket } = response;
      if (socket === null) return;
      socket.setNoDelay(true);
      for (const part of parts) {
        if (gapMs !== undefined) await setTimeout(gapMs);
        if (socket.destroyed) return;
        socket.write(part);
      }
      if (ending === 'reset') socket.write('', () => setImmediate(() => socket.resetAndDestroy()));
      else if (ending !== 'stall') socket.end();
    },
  };
}

/** Cuts bytes at the given offsets: the pieces joined are the input. */
export function cutAt(bytes: Uint8Array | string, offsets: readonly number[]): Uint8Array[] {
  const whole = typeof bytes === 'string' ? Buffer.from(bytes) : bytes;
  const cuts = [0, ...new Set(offsets.filter((at) => at > 0 && at < whole.length)), whole.length];
  const edges = cuts.toSorted((a, b) => a - b);
  return edges.slice(1).map((end, index) => whole.subarray(edges[index], end));
}
