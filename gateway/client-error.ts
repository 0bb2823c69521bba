/** Answers to what is no HTTP request, or only half of one: there may be no request object to answer on, only a socket. */
import type { Socket } from 'node:net';
import { errorEnvelope, GatewayError } from './errors.ts';
import type { GatewayState, TimeLimits } from './gateway-state.ts';
import { breakOff } from './serve-exchange.ts';

const REASONS: Readonly<Record<number, string>> = {
  400: 'Bad Request',
  408: 'Request Timeout',
  431: 'Request Header Fields Too Large',
};

const BY_CODE: Readonly<Record<string, (limits: TimeLimits) => GatewayError>> = {
  HPE_HEADER_OVERFLOW: () => new GatewayError('headers_too_large', 'The headers are larger than 16 KiB.'),
  ERR_HTTP_REQUEST_TIMEOUT: ({ headersMs, requestMs }) => {
    const message = `The request did not arrive in time: ${headersMs / 1000} s for the headers, ${requestMs / 1000} s for all of it.`;
    return new GatewayError('request_timeout', message, { headers: { connection: 'close' } });
  },
};

export function clientError(gateway: GatewayState, error: Error, socket: Socket): void {
  const code = (error as { code?: string }).code ?? '';
  if (code === 'ECONNRESET' || socket.destroyed || !socket.writable) {
    socket.destroy();
    return;
  }
  const problem = BY_CODE[code]?.(gateway.limits);
  const running = gateway.running.list().find(({ request }) => request.socket === socket);
  if (problem !== undefined && running !== undefined) breakOff(running, problem);
  else answerOn(socket, problem ?? new GatewayError('bad_request', 'The request is not well-formed HTTP/1.1.'));
}

function answerOn(socket: Socket, problem: GatewayError): void {
  const body = JSON.stringify(errorEnvelope(problem));
  socket.end(
    `HTTP/1.1 ${problem.status} ${REASONS[problem.status] ?? 'Error'}\r\ncontent-type: application/json\r\ncontent-length: ${Buffer.byteLength(body)}\r\nconnection: close\r\n\r\n${body}`,
    () => socket.destroy(),
  );
}
