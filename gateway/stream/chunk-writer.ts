/**
 * Writes the pieces of a streamed answer. The first one goes through node, with the head; all others to the socket, small
 * ones as one text with their chunk's frame: node's own `write` makes a vector of four of each, which costs more than all
 * that is done with an event before, and keeps it until the next tick, so that nothing may go past it.
 */
import type { ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { type Departure, departWithTurn } from '../departures.ts';

const ONE_WRITE_BYTES = 4 * 1024;
/** So many do not wait for the turn's end. */
const FULL_CHARS = 16 * 1024;

export class ChunkWriter implements Departure {
  private readonly response: ServerResponse;
  private readonly onFull: () => void;
  private readonly onDrain: () => void;
  /** Set once node has sent the head through it; nobody else writes to it until the answer ends. */
  private socket: Socket | undefined;
  /** Small chunks with their frames, a letter a byte, that leave with this turn. */
  private waiting = '';

  /** `onFull` is called where the caller does not keep up, `onDrain` when more can be written after that. */
  constructor(response: ServerResponse, onFull: () => void, onDrain: () => void) {
    this.response = response;
    this.onFull = onFull;
    this.onDrain = onDrain;
    response.on('drain', onDrain);
  }

  write(bytes: Buffer | string): void {
    const { socket } = this;
    // A chunk without bytes would be the last one.
    if (bytes.length === 0) return;
    if (socket === undefined) return this.writeByNode(bytes);
    const text = plainText(bytes);
    if (text === undefined) {
      this.depart();
      if (!writeFramed(socket, bytes)) this.onFull();
      return;
    }
    if (this.waiting === '') departWithTurn(this);
    this.waiting += `${text.length.toString(16)}\r\n${text}\r\n`;
    if (this.waiting.length > FULL_CHARS) this.depart();
  }

  depart(): void {
    const { socket, waiting } = this;
    if (waiting === '' || socket === undefined) return;
    this.waiting = '';
    if (!socket.write(waiting, 'latin1')) this.onFull();
  }

  /** Nothing is written any more: the socket may serve another request. */
  release(): void {
    const { socket, waiting } = this;
    if (waiting !== '') socket?.write(waiting, 'latin1');
    this.waiting = '';
    socket?.off('drain', this.onDrain);
    this.socket = undefined;
  }

  private writeByNode(bytes: Buffer | string): void {
    const { response } = this;
    response.write(bytes);
    if (response.writableCorked > 0) response.uncork();
    const { socket, chunkedEncoding } = response;
    if (this.socket === undefined && socket !== null && chunkedEncoding) {
      this.socket = socket;
      socket.on('drain', this.onDrain);
    }
    if (response.writableNeedDrain) this.onFull();
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
