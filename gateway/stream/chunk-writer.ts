/**
 * Writes the pieces of a streamed answer. The first one goes through node, with the head; all others to the socket, small
 * ones as one text with their chunk's frame: node's own `write` makes a vector of four of each, which costs more than all
 * that is done with an event before, and keeps it until the next tick, so that nothing may go past it.
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
    // A chunk without bytes would be the last one.
    if (bytes.length === 0) return true;
    if (socket === undefined) return this.writeByNode(bytes);
    const text = plainText(bytes);
    if (text === undefined) return writeFramed(socket, bytes);
    return socket.write(`${text.length.toString(16)}\r\n${text}\r\n`, 'latin1');
  }

  /** Nothing is written any more: the socket may serve another request. */
  release(): void {
    this.socket?.off('drain', this.onDrain);
    this.socket = undefined;
  }

  private writeByNode(bytes: Buffer | string): boolean {
    const { response } = this;
    response.write(bytes);
    if (response.writableCorked > 0) response.uncork();
    const { socket, chunkedEncoding } = response;
    if (this.socket === undefined && socket !== null && chunkedEncoding) {
      this.socket = socket;
      socket.on('drain', this.onDrain);
    }
    return !response.writableNeedDrain;
  }
}

function writeFramed(socket: Socket, bytes: Buffer | string): boolean {
  socket.cork();
  socket.write(`${Buffer.byteLength(bytes).toString(16)}\r\n`, 'latin1');
  socket.write(bytes);
  const goesOn = socket.write('\r\n', 'latin1');
  socket.uncork();
  return goesOn;
}

/** A letter a byte; undefined where that cannot be, or is not worth it. */
function plainText(bytes: Buffer | string): string | undefined {
  if (bytes.length > ONE_WRITE_BYTES) return undefined;
  if (typeof bytes !== 'string') return bytes.toString('latin1');
  return Buffer.byteLength(bytes) === bytes.length ? bytes : undefined;
}
