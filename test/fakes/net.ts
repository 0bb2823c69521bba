/** A TCP proxy with faults: between a client and a server, on loopback. */
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';

/** `none`: pass; `black-hole`: take and drop everything; `reset`: break at once; `refuse`: break new connections alone. */
export type Fault = 'none' | 'black-hole' | 'reset' | 'refuse';

export interface NetProxy {
  readonly origin: string;
  readonly port: number;
  /** Connections accepted so far. */
  readonly accepted: number;
  /** Faults act at once, on open connections too. */
  setFault(fault: Fault): void;
  close(): Promise<void>;
}

export interface NetOptions {
  /** Milliseconds that each packet takes, per direction. */
  readonly delayMs?: number;
  /** Each byte from the server goes on alone. */
  readonly everyByte?: boolean;
}

function forward(
  from: Socket,
  to: Socket,
  passes: () => boolean,
  { delayMs = 0, everyByte = false }: NetOptions,
): void {
  const write = (bytes: Buffer) => {
    if (to.destroyed || !passes()) return;
    if (!everyByte) to.write(bytes);
    else for (const byte of bytes) to.write(Buffer.of(byte));
  };
  const later = (act: () => void) => (delayMs > 0 ? setTimeout(act, delayMs) : act());
  from.on('data', (bytes: Buffer) => later(() => write(bytes)));
  from.on('end', () => later(() => passes() && to.end()));
  from.on('error', () => undefined);
  from.on('close', () => later(() => passes() && to.destroy()));
}

class FaultyProxy implements NetProxy {
  accepted = 0;
  readonly #sockets = new Set<Socket>();
  readonly #target: URL;
  readonly #options: NetOptions;
  #fault: Fault = 'none';
  readonly #server = createServer({ noDelay: true, allowHalfOpen: true }, (client) => this.#accept(client));

  constructor(target: string, options: NetOptions) {
    this.#target = new URL(target);
    this.#options = options;
  }

  #accept(client: Socket): void {
    this.accepted++;
    this.#keep(client);
    if (this.#fault === 'refuse' || this.#fault === 'reset') {
      client.resetAndDestroy();
      return;
    }
    const host = this.#target.hostname;
    const server = connect({ host, port: Number(this.#target.port), noDelay: true, allowHalfOpen: true });
    this.#keep(server);
    const passes = () => this.#fault !== 'black-hole';
    forward(client, server, passes, { ...this.#options, everyByte: false });
    forward(server, client, passes, this.#options);
  }

  #keep(socket: Socket): void {
    this.#sockets.add(socket);
    socket.on('error', () => undefined);
    socket.once('close', () => this.#sockets.delete(socket));
  }

  async listen(): Promise<this> {
    await new Promise<void>((resolve) => this.#server.listen(0, '127.0.0.1', resolve));
    return this;
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  get origin(): string {
    return `http://127.0.0.1:${this.port}`;
  }

  setFault(fault: Fault): void {
    this.#fault = fault;
    if (fault === 'reset') for (const socket of this.#sockets) socket.resetAndDestroy();
  }

  close(): Promise<void> {
    return new Promise((resolve) => {
      this.#server.close(() => resolve());
      for (const socket of this.#sockets) socket.destroy();
    });
  }
}

/** Starts a proxy to `target` (`http://host:port`) on a free port of 127.0.0.1. */
export function startNetProxy(target: string, options: NetOptions = {}): Promise<NetProxy> {
  return new FaultyProxy(target, options).listen();
}
