/**
 * A process: streams that take their time. The `paced` port sends an event every 50 ms and ends after 50; the `held` port
 * sends one event and then nothing. Raw sockets, ready-made bytes, and turns spread evenly, so that neither this process nor
 * a beat of its own shows in what is measured. Prints its two ports as JSON.
 */
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net';
import { END_MARKER, EVENT_GAP_MS, EVENTS, STREAM_EVENTS } from './payloads.ts';

const HEAD = 'HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n';

function chunk(text: string): Buffer {
  return Buffer.from(`${Buffer.byteLength(text).toString(16)}\r\n${text}\r\n`);
}

const PIECES = STREAM_EVENTS.map(chunk);
const FIRST = Buffer.concat([Buffer.from(HEAD), PIECES[0] ?? Buffer.alloc(0)]);
const LAST = Buffer.concat([chunk(END_MARKER), Buffer.from('0\r\n\r\n')]);

/** Streams whose turn comes at the same millisecond of the 50. */
const slots: Map<Socket, number>[] = Array.from({ length: EVENT_GAP_MS }, () => new Map());
let nextSlot = 0;

function advance(slot: Map<Socket, number>): void {
  for (const [socket, sent] of slot) {
    const piece = PIECES[sent];
    if (sent < EVENTS && piece !== undefined) {
      socket.write(piece);
      slot.set(socket, sent + 1);
    } else {
      slot.delete(socket);
      socket.write(LAST);
    }
  }
}

const startedAt = performance.now();
let turn = 0;
setInterval(() => {
  for (const due = Math.floor(performance.now() - startedAt); turn < due; turn++) {
    const slot = slots[turn % EVENT_GAP_MS];
    if (slot !== undefined) advance(slot);
  }
}, 1);

function begin(socket: Socket, paced: boolean): void {
  socket.write(FIRST);
  if (paced) slots[nextSlot++ % EVENT_GAP_MS]?.set(socket, 1);
}

/** Requests come one at a time: one is complete when its body is. */
function serve(socket: Socket, paced: boolean): void {
  let text = '';
  socket.setNoDelay(true);
  socket.on('error', () => undefined);
  socket.once('close', () => {
    for (const slot of slots) slot.delete(socket);
  });
  socket.on('data', (bytes) => {
    text += bytes.toString('latin1');
    const end = text.indexOf('\r\n\r\n');
    const length = Number(/^content-length: *(\d+)/im.exec(text)?.[1] ?? 0);
    if (end < 0 || text.length < end + 4 + length) return;
    text = '';
    begin(socket, paced);
  });
}

function listen(paced: boolean): Promise<Server> {
  const server = createServer((socket) => serve(socket, paced));
  return new Promise((resolve) => server.listen({ port: 0, host: '127.0.0.1', backlog: 8192 }, () => resolve(server)));
}

const ports = (await Promise.all([listen(true), listen(false)])).map(
  (server) => (server.address() as AddressInfo).port,
);
console.log(JSON.stringify({ paced: ports[0], held: ports[1] }));
