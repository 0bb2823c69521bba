/** One connection to an upstream: one exchange at a time, one after the other. */
import type { Socket } from 'node:net';
import { connect as connectPlain, type LookupFunction } from 'node:net';
import { connect as connectTls } from 'node:tls';
import { type Departure, departWithTurn } from '../../departures.ts';
import { Slab } from '../slab.ts';
import { AnswerParser, type AnswerParts } from './answer-parser.ts';

/** Who has an exchange on a connection. After `onEnd` or `onLost` nothing more is called. */
export interface ConnectionUser extends AnswerParts {
  onLost(error: Error): void;
}

export interface Address {
  readonly secure: boolean;
  /** Name or address literal, IPv6 without brackets. */
  readonly host: string;
  readonly port: number;
  readonly lookup: LookupFunction | undefined;
  /** The last TLS session, so that the next connection need not agree on everything anew. */
  session: Buffer | undefined;
}

const CONNECT_TIMEOUT_MS = 10_000;
const PROBE_AFTER_MS = 60_000;
/** Smaller bodies go out as text together with their head: one write is cheaper than a vector of two. */
const ONE_WRITE_BYTES = 4 * 1024;

/** Every read lands here first: a socket that waits holds no memory for what may come. */
const LANDING = Buffer.allocUnsafeSlow(64 * 1024);
const slab = new Slab();

export class Connection implements Departure {
  readonly socket: Socket;
  /** How long it had been idle before the exchange that is under way, milliseconds. */
  restedMs = 0;
  /** `performance.now()` when it was last given back, and after which it is not taken again. */
  idleSince = 0;
  goodUntil = Number.POSITIVE_INFINITY;
  /** Whether any byte came in the exchange that is under way. */
  hasAnswered = false;
  private parser: AnswerParser | undefined;
  private user: ConnectionUser | undefined;
  /** The request that leaves with this turn: its head, or all of it, and its body. */
  private head = '';
  private body: Buffer | string = '';

  constructor(address: Address) {
    this.socket = open(address, this.onRead);
    const timer = setTimeout(() => this.socket.destroy(timedOut()), CONNECT_TIMEOUT_MS);
    const connected = address.secure ? 'secureConnect' : 'connect';
    this.socket.once(connected, () => clearTimeout(timer));
    this.socket.on('end', this.onFinish);
    this.socket.on('error', this.lose);
    this.socket.on('close', () => {
      clearTimeout(timer);
      this.onFinish();
    });
  }

  /** Whether the last request went out whole and the other side has not hung up: then another may follow. */
  get isQuiet(): boolean {
    return this.head === '' && this.socket.writable && this.socket.writableLength === 0;
  }

  /** Begins an exchange. `head` with the empty line that ends it; `bodyBytes` is the length of the body in UTF-8. */
  send(head: string, body: Buffer | string, bodyBytes: number, user: ConnectionUser): void {
    this.hasAnswered = false;
    this.user = user;
    this.parser = new AnswerParser(user);
    const isPlain = typeof body !== 'string' || body.length === bodyBytes;
    const isOneWrite = bodyBytes <= ONE_WRITE_BYTES && isPlain;
    this.head = isOneWrite ? head + (typeof body === 'string' ? body : body.toString('latin1')) : head;
    this.body = isOneWrite ? '' : body;
    departWithTurn(this);
  }

  depart(): void {
    const { socket, head, body } = this;
    this.head = '';
    this.body = '';
    if (socket.destroyed || head === '') return;
    if (body.length === 0) {
      socket.write(head, 'latin1');
      return;
    }
    socket.cork();
    socket.write(head, 'latin1');
    socket.write(body);
    socket.uncork();
  }

  pause(): void {
    this.socket.pause();
  }

  resume(): void {
    this.socket.resume();
  }

  /** Ends it without a word to its user. */
  destroy(): void {
    this.user = undefined;
    this.parser?.stop();
    this.socket.destroy();
  }

  private readonly onRead = (bytes: number): boolean => {
    this.hasAnswered = true;
    const chunk = slab.copyOf(LANDING, bytes);
    const { parser } = this;
    // Bytes that nobody asked for could be taken for the answer to the next request.
    if (parser === undefined || parser.isOver) {
      this.destroy();
      return true;
    }
    try {
      parser.feed(chunk);
    } catch (error) {
      this.lose(error as Error);
    }
    return true;
  };

  private readonly onFinish = (): void => {
    try {
      this.parser?.finish();
    } catch (error) {
      this.lose(error as Error);
    }
    this.destroy();
  };

  private readonly lose = (error: Error): void => {
    const user = this.parser?.isOver === false ? this.user : undefined;
    this.destroy();
    user?.onLost(error);
  };
}

function timedOut(): Error {
  return Object.assign(new Error('The connection was not made in time.'), { code: 'ETIMEDOUT' });
}

function open(address: Address, onRead: (bytes: number) => boolean): Socket {
  const { host, port, lookup, secure, session } = address;
  const options = {
    host,
    port,
    noDelay: true,
    keepAlive: true,
    keepAliveInitialDelay: PROBE_AFTER_MS,
    onread: { buffer: LANDING, callback: onRead },
    ...(lookup === undefined ? {} : { lookup }),
  };
  if (!secure) return connectPlain(options);
  const named = isName(host) ? { servername: host } : {};
  const resumed = session === undefined ? {} : { session };
  const socket = connectTls({ ...options, ...named, ...resumed, ALPNProtocols: ['http/1.1'] });
  socket.on('session', (next) => {
    address.session = next;
  });
  return socket;
}

function isName(host: string): boolean {
  return !/^[0-9.]+$|:/.test(host);
}
