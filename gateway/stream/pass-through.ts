/**
 * A stream whose two ends speak the same dialect: bytes go on as they came. Framing is checked event by event; the
 * inside of an event is looked into only where the dialect says who has finished and what it cost.
 */
import { GatewayError } from '../errors.ts';
import type { Provider, Usage } from '../providers/provider.ts';
import { endLines, unfinished } from './end-lines.ts';
import { canonicalBytes, EventLines, endOfEvent, type RawEvent, readEvent } from './event-lines.ts';
import type { StreamTransform } from './transform.ts';

export const MAX_EVENT_BYTES = 4 * 1024 * 1024;

const OPEN = 123;
const CLOSE = 125;
const LF = 10;
const PLAIN = 'data: {"';
const ERROR = 'data: {"error"';

/** What one dialect says in its events. One instance per stream. */
export interface EventReader {
  /** False: this event is kept from the caller. Throws a GatewayError for an error event. */
  read(event: RawEvent, data: Buffer): boolean;
  /** What an event must contain to be worth a look, each beginning with `_`; undefined: each is worth one. */
  readonly signs: readonly string[] | undefined;
  /** Name of the events that hold parts of the answer; undefined: they have none. */
  readonly contentEvent: string | undefined;
  /** The end marker was seen. */
  readonly finished: boolean;
  /** Whether a clean end of the body may stand for the end marker now. */
  mayEnd(): boolean;
  /** Bytes of the end marker for a caller whose upstream sent none. */
  readonly endMarker: string;
  readonly usage: Usage | undefined;
  readonly model: string | undefined;
}

export class PassThrough implements StreamTransform {
  begun = false;
  contentEvents = 0;
  private readonly lines = new EventLines(MAX_EVENT_BYTES);
  private readonly reader: EventReader;
  private readonly provider: Provider;
  /** Bytes of this chunk that go on: runs of neighbouring events stay one slice. */
  private out: Buffer[] = [];

  constructor(provider: Provider, reader: EventReader) {
    this.provider = provider;
    this.reader = reader;
  }

  get usage(): Usage | undefined {
    return this.reader.usage;
  }

  get model(): string | undefined {
    return this.reader.model;
  }

  get finished(): boolean {
    return this.reader.finished;
  }

  push(chunk: Buffer): Buffer | undefined {
    const bytes = this.lines.open(chunk);
    if (bytes === undefined) return undefined;
    const text = bytes.toString('latin1');
    let start = 0;
    let sign = -1;
    for (;;) {
      if (sign < start) sign = nextSign(text, start, this.reader.signs);
      const plainEnd = this.reader.finished ? start : this.endOfPlain(text, start, sign);
      if (plainEnd > start) {
        this.begun = true;
        this.add(bytes.subarray(start, plainEnd));
      }
      start = plainEnd;
      const end = start === bytes.length ? -1 : endOfEvent(bytes, start);
      if (end === -1) break;
      readEvent(bytes.subarray(start, end), this.onEvent);
      start = end;
    }
    this.lines.keep(bytes, start);
    return this.taken();
  }

  end(): Buffer | undefined {
    endLines(this.lines, this.onLastEvent, this.provider.name);
    if (!this.reader.finished) {
      if (!this.reader.mayEnd()) throw unfinished(this.provider.name);
      this.out.push(Buffer.from(this.reader.endMarker));
    }
    return this.taken();
  }

  /** End of the run of events from `start` on, before `limit`, that are `data: {...}` and no error: they go on as one. */
  private endOfPlain(text: string, start: number, limit: number): number {
    let end = start;
    for (;;) {
      const feed = text.indexOf('\n', end);
      if (feed === -1 || feed > limit || !isPlain(text, end, feed)) return end;
      this.contentEvents += 1;
      end = feed + 2;
    }
  }

  private readonly onEvent = (event: RawEvent): void => {
    if (this.reader.finished) return;
    const data = event.data;
    // Nobody is there yet whom a comment could keep waiting.
    if (data === undefined && !this.begun) return;
    if (data !== undefined && !isDataAllowed(data)) throw garbage(this.provider);
    if (data !== undefined) this.begun = true;
    if (data !== undefined && event.event === this.reader.contentEvent) this.contentEvents += 1;
    if (data !== undefined && !this.reader.read(event, data)) return;
    this.add(canonicalBytes(event));
  };

  /** An event without its blank line may be cut where an object ends: braces are not enough. */
  private readonly onLastEvent = (event: RawEvent): void => {
    const { data } = event;
    if (!this.reader.finished && data?.[0] === OPEN && !isJson(data)) throw garbage(this.provider);
    this.onEvent(event);
  };

  private add(bytes: Buffer): void {
    const last = this.out[this.out.length - 1];
    if (last !== undefined && last.buffer === bytes.buffer && last.byteOffset + last.length === bytes.byteOffset) {
      this.out[this.out.length - 1] = Buffer.from(last.buffer, last.byteOffset, last.length + bytes.length);
    } else this.out.push(bytes);
  }

  taken(): Buffer | undefined {
    const out = this.out;
    if (out.length === 0) return undefined;
    this.out = [];
    return out.length === 1 ? out[0] : Buffer.concat(out);
  }
}

/**
 * Index of the first sign at or after `from`, Infinity where there is none. Looks for the underscore alone: a search for
 * one letter costs a tenth of a search for a word.
 */
function nextSign(text: string, from: number, signs: readonly string[] | undefined): number {
  if (signs === undefined) return from;
  for (let at = text.indexOf('_', from); at !== -1; at = text.indexOf('_', at + 1))
    for (const sign of signs) if (text.startsWith(sign, at)) return at;
  return Number.POSITIVE_INFINITY;
}

function isPlain(text: string, start: number, feed: number): boolean {
  return (
    text.charCodeAt(feed + 1) === LF &&
    text.charCodeAt(feed - 1) === CLOSE &&
    text.startsWith(PLAIN, start) &&
    !text.startsWith(ERROR, start)
  );
}

/** One object, or an end marker such as `[DONE]`. */
function isDataAllowed(data: Buffer): boolean {
  if (data[0] === OPEN) return data[data.length - 1] === CLOSE;
  return data.length === 6 && data.toString('latin1', 0, 6) === '[DONE]';
}

function isJson(data: Buffer): boolean {
  try {
    JSON.parse(data.toString('utf8'));
    return true;
  } catch {
    return false;
  }
}

function garbage(provider: Provider): GatewayError {
  return new GatewayError(
    'upstream_invalid',
    `${provider.name} sent a stream event that is neither a JSON object nor the end marker.`,
    { provider: provider.name },
  );
}
