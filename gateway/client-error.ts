/** Answers to what is no HTTP request: there is no request object to answer on, only a socket. */
import type { Socket } from 'node:net';
import { errorEnvelope, GatewayError } from './errors.ts';

const REASONS: Readonly<Record<number, string>> = {
  400: 'Bad Request',
  408: 'Request Timeout',
  431: 'Request Header Fields Too Large',
};

const BY_CODE: Readonly<Record<string, () => GatewayError>> = {
  HPE_HEADER_OVERFLOW: () => new GatewayError('headers_too_large', 'The headers are larger than 16 KiB.'),
  ERR_HTTP_REQUEST_TIMEOUT: () =>
    new GatewayError(
      'request_timeout',
      'The request did not arrive in time: 10 s for the headers, 30 s for all of it.',
    ),
};

export function clientError(error: Error, socket: Socket): void {
  const code = (error as { code?: string }).code ?? '';
  if (code === 'ECONNRESET' || socket.destroyed || !socket.writable) {
    socket.destroy();
    return;
  }
  const problem = BY_CODE[code]?.() ?? new GatewayError('bad_request', 'The request is not well-formed HTTP/1.1.');
  const body = JSON.stringify(errorEnvelope(problem));
  socket.end(
    `HTTP/1.1 ${problem.status} ${REASONS[problem.status] ?? 'Error'}\r\ncontent-type: application/json\r\ncontent-length: ${Buffer.byteLength(body)}\r\nconnection: close\r\n\r\n${body}`,
    () => socket.destroy(),
  );
}
