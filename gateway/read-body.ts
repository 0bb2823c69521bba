/** Reads a request body, bounded, and refuses what is no JSON by its headers. */
import type { IncomingMessage } from 'node:http';
import { GatewayError } from './errors.ts';
import type { RequestContext } from './request-context.ts';

/** JSON request at most. */
export const MAX_BODY_BYTES = 32 * 1024 * 1024;

const JSON_TYPE = /^application\/json\s*(;|$)/i;

/** Throws `unsupported_media_type` or `body_too_large` before a byte is read. */
export function assertJsonRequest(request: IncomingMessage): void {
  const { headers } = request;
  const type = headers['content-type'];
  if (type === undefined || (type !== 'application/json' && !JSON_TYPE.test(type)))
    throw unsupported('The content-type must be application/json.');
  const encoding = headers['content-encoding'];
  if (encoding !== undefined && encoding !== 'identity')
    throw unsupported('The body must come without content-encoding.');
  const length = headers['content-length'];
  if (length !== undefined && Number(length) > MAX_BODY_BYTES) throw tooLarge();
}

/** Resolves with the whole body; rejects with `body_too_large`, or with CallerLeft. */
export function readBody(context: RequestContext): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const { request } = context;
    const chunks: Buffer[] = [];
    let bytes = 0;
    context.onGone = () => reject(new CallerLeft());
    request.on('data', (chunk: Buffer) => {
      bytes += chunk.length;
      if (bytes <= MAX_BODY_BYTES) return chunks.push(chunk);
      chunks.length = 0;
      request.pause();
      return reject(tooLarge());
    });
    request.on('end', () => {
      const first = chunks[0];
      resolve(chunks.length === 1 && first !== undefined ? first : Buffer.concat(chunks, bytes));
    });
  });
}

/** The caller closed the connection before its request was whole. */
export class CallerLeft extends Error {}

function tooLarge(): GatewayError {
  return new GatewayError('body_too_large', `The body is larger than ${MAX_BODY_BYTES} bytes.`, {
    headers: { connection: 'close' },
  });
}

function unsupported(message: string): GatewayError {
  return new GatewayError('unsupported_media_type', message);
}
