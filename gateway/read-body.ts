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
    new BodyReader(context.request, resolve, reject).follow(context);
  });
}

/**
 * An object, not closures of one function: a closure in the context beside the promise's own made each request outlive the
 * young generation, which cost more than all the rest of reading.
 */
class BodyReader {
  private readonly request: IncomingMessage;
  private readonly resolve: (body: Buffer) => void;
  private readonly reject: (error: Error) => void;
  private readonly chunks: Buffer[] = [];
  private bytes = 0;

  constructor(request: IncomingMessage, resolve: (body: Buffer) => void, reject: (error: Error) => void) {
    this.request = request;
    this.resolve = resolve;
    this.reject = reject;
  }

  follow(context: RequestContext): void {
    context.onGone = this.onGone;
    this.request.on('data', this.onData);
    this.request.on('end', this.onEnd);
  }

  private readonly onGone = (): void => this.reject(new CallerLeft());

  private readonly onData = (chunk: Buffer): void => {
    this.bytes += chunk.length;
    if (this.bytes <= MAX_BODY_BYTES) {
      this.chunks.push(chunk);
      return;
    }
    this.chunks.length = 0;
    this.request.pause();
    this.reject(tooLarge());
  };

  private readonly onEnd = (): void => {
    const first = this.chunks[0];
    this.resolve(this.chunks.length === 1 && first !== undefined ? first : Buffer.concat(this.chunks, this.bytes));
  };
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
