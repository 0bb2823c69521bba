/** A client that sends bytes as they are: for requests that no HTTP library would write. */
import { connect } from 'node:net';

export interface RawAnswer {
  readonly status: number;
  /** Lower-case names. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

export interface RawExchange {
  /** Everything that came back. */
  readonly text: string;
  /** Status of each answer, in order. */
  readonly statuses: readonly number[];
  readonly first: RawAnswer | undefined;
  /** Whether the server closed the connection within the time. */
  readonly closed: boolean;
}

export interface RawOptions {
  /** Before each part but the first. */
  readonly gapMs?: number;
  /** How long to listen after the last byte sent, unless the server closes first. */
  readonly waitMs?: number;
  /** Send FIN after the last part. */
  readonly halfClose?: boolean;
}

function readAnswer(text: string): RawAnswer | undefined {
  const head = /^HTTP\/1\.[01] (\d{3})[^\r\n]*\r\n([\s\S]*?)\r\n\r\n([\s\S]*)$/.exec(text);
  if (head === null) return undefined;
  const lines = (head[2] ?? '').split('\r\n').filter((line) => line !== '');
  const headers = lines.map((line): [string, string] => {
    const colon = line.indexOf(':');
    return [line.slice(0, colon).toLowerCase(), line.slice(colon + 1).trim()];
  });
  return { status: Number(head[1]), headers: Object.fromEntries(headers), body: head[3] ?? '' };
}

function readExchange(text: string, closed: boolean): RawExchange {
  const statuses = [...text.matchAll(/HTTP\/1\.[01] (\d{3}) /g)].map((match) => Number(match[1]));
  return { text, statuses, first: readAnswer(text), closed };
}

/** Sends `parts` over one connection and returns what came back. Never rejects but for a refused connection. */
export function rawExchange(
  origin: string,
  parts: string | readonly (string | Uint8Array)[],
  options: RawOptions = {},
): Promise<RawExchange> {
  const { hostname, port } = new URL(origin);
  const { gapMs = 0, waitMs = 1_000, halfClose = false } = options;
  const list = typeof parts === 'string' ? [parts] : parts;
  return new Promise((resolve, reject) => {
    const socket = connect({ host: hostname, port: Number(port), noDelay: true });
    const received: Buffer[] = [];
    let connected = false;
    const finish = (closed: boolean) => {
      socket.destroy();
      resolve(readExchange(Buffer.concat(received).toString('latin1'), closed));
    };
    const sendFrom = (index: number) => {
      const part = list[index];
      if (part === undefined) {
        if (halfClose) socket.end();
        setTimeout(() => finish(socket.destroyed), waitMs);
        return;
      }
      if (!socket.destroyed) socket.write(part);
      setTimeout(() => sendFrom(index + 1), index + 1 < list.length ? gapMs : 0);
    };
    socket.on('data', (bytes) => received.push(Buffer.from(bytes)));
    socket.once('connect', () => {
      connected = true;
      sendFrom(0);
    });
    socket.once('end', () => finish(true));
    socket.once('error', (error) => (connected ? finish(true) : reject(error)));
  });
}

/** The text of a well-formed POST of JSON, to be bent by a test. */
export function rawPost(path: string, body: string, headers: Readonly<Record<string, string>> = {}): string {
  const all = {
    host: 'gateway',
    'content-type': 'application/json',
    'content-length': String(Buffer.byteLength(body)),
    ...headers,
  };
  const lines = Object.entries(all).map(([name, value]) => `${name}: ${value}\r\n`);
  return `POST ${path} HTTP/1.1\r\n${lines.join('')}\r\n${body}`;
}
