/** An HTTPS server on loopback that says what reached it. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { createServer } from 'node:https';
import type { AddressInfo, Socket } from 'node:net';
import type { TLSSocket } from 'node:tls';
import type { Certified } from './certificate.ts';

export interface Seen {
  readonly method: string;
  readonly path: string;
  readonly headers: IncomingMessage['headers'];
  readonly httpVersion: string;
  readonly body: string;
  /** Common name of the certificate that the client has shown. */
  readonly client: string | undefined;
}

export interface TlsServer {
  readonly origin: string;
  readonly seen: readonly Seen[];
  /** Connections accepted so far. */
  readonly accepted: number;
  readonly open: number;
  close(): Promise<void>;
}

type Handle = (seen: Seen, response: ServerResponse) => void;

export async function startTlsServer(identity: Certified, clientCa: string, handle: Handle): Promise<TlsServer> {
  const seen: Seen[] = [];
  const sockets = new Set<Socket>();
  let accepted = 0;
  const options = { ...identity, ca: clientCa, requestCert: true, rejectUnauthorized: false };
  const server = createServer(options, async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk);
    const { method = '', url: path = '', headers, httpVersion } = request;
    const { subject } = (request.socket as TLSSocket).getPeerCertificate();
    const name: unknown = subject?.CN;
    const one = { method, path, headers, httpVersion, body: Buffer.concat(chunks).toString(), client: name as string };
    seen.push(one);
    handle(one, response);
  });
  server.keepAliveTimeout = 60_000;
  server.on('secureConnection', (socket: Socket) => {
    accepted += 1;
    sockets.add(socket);
    socket.on('error', () => undefined);
    socket.once('close', () => sockets.delete(socket));
  });
  server.on('tlsClientError', () => undefined);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return {
    origin: `https://127.0.0.1:${port}`,
    seen,
    get accepted() {
      return accepted;
    },
    get open() {
      return sockets.size;
    },
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}
