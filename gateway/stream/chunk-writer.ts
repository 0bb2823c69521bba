/**
 * Writes the pieces of a streamed answer. Small pieces go to the socket as one text with their chunk's frame: node's own
 * `write` makes a vector of four of each, which costs more than all that is done with an event before.
 */
import type { ServerResponse } from 'node:http';
import type { Socket } from 'node:net';

const ONE_WRITE_BYTES = 4 * 1024;

export class ChunkWriter {
  private readonly response: ServerResponse;
  private readonly onDrain: () => void;
  /** Set once node has sent the head through it; nobody else writes to it until the answer ends. */
  private socket: Socket | undefined;

  /** `onDrain` is called when more can be written after `write` said no. */
  constructor(response: ServerResponse, onDrain: () => void) {
    this.response = response;
    this.onDrain = onDrain;
    response.on('drain', onDrain);
  }

  /** False: the caller does not keep up, wait for `onDrain`. */
  write(bytes: Buffer | string): boolean {
    const { socket } = this;
    const text = socket === undefined ? undefined : plainText(bytes);
    if (socket === undefined || text === undefined) return this.writeByNode(bytes);
    return socket.write(`${text.length.toString(16)}\r\n${text}\r\n`, 'latin1');
  }

  /** Nothing is written any more: the socket may serve another request. */
  release(): void {
    this.socket?.off('drain', this.onDrain);
    this.socket = undefined;
  }

  private writeByNode(bytes: Buffer | string): boolean {
    const goesOn = this.response.write(bytes);
    const { socket, chunkedEncoding } = this.response;
    if (this.socket === undefined && socket !== null && chunkedEncoding) {
      this.socket = socket;
      socket.on('drain', this.onDrain);
    }
    return goesOn;
  }
}

/** A letter a byte; undefined where that cannot be, or is not worth it. */
function plainText(bytes: Buffer | string): string | undefined {
  if (bytes.length > ONE_WRITE_BYTES || bytes.length === 0) return undefined;
  if (typeof bytes !== 'string') return bytes.toString('latin1');
  return Buffer.byteLength(bytes) === bytes.length ? bytes : undefined;
}
