/** Reads streams in Anthropic's form for callers who speak it too. */
import { isJson } from '../dialects/json-shape.ts';
import { mergeUsage } from '../dialects/messages/usage.ts';
import { GatewayError } from '../errors.ts';
import type { Json, Provider, Usage } from '../providers/provider.ts';
import type { RawEvent } from './event-lines.ts';
import type { EventReader } from './pass-through.ts';
import { usageOfMessage } from './usage.ts';

export class MessageEvents implements EventReader {
  finished = false;
  readonly signs = undefined;
  readonly contentEvent = 'content_block_delta';
  model: string | undefined;
  readonly endMarker = 'event: message_stop\ndata: {"type":"message_stop"}\n\n';
  private counted: Json | undefined;
  private stopped = false;
  private readonly provider: Provider;

  constructor(provider: Provider) {
    this.provider = provider;
  }

  get usage(): Usage | undefined {
    return usageOfMessage(this.counted);
  }

  read(event: RawEvent, data: Buffer): boolean {
    const read = READERS.get(event.event ?? '');
    if (read !== undefined) read.call(this, this.parsed(data));
    return true;
  }

  mayEnd(): boolean {
    return this.stopped;
  }

  /** @internal */
  onStart(body: Json): void {
    const message = body['message'] as Json | undefined;
    this.model = typeof message?.['model'] === 'string' ? message['model'] : undefined;
    this.counted = message?.['usage'] as Json | undefined;
  }

  /** @internal */
  onDelta(body: Json): void {
    const usage = body['usage'];
    if (isJson(usage)) this.counted = mergeUsage(this.counted ?? {}, usage);
    if (typeof (body['delta'] as Json | undefined)?.['stop_reason'] === 'string') this.stopped = true;
  }

  /** @internal */
  onStop(): void {
    this.finished = true;
  }

  /** @internal */
  onError(body: Json): void {
    const message =
      this.provider.readProblem(body)?.message ?? `${this.provider.name} reported an error in its stream.`;
    throw new GatewayError('upstream_error', message, { provider: this.provider.name });
  }

  private parsed(data: Buffer): Json {
    try {
      return JSON.parse(data.toString('utf8')) as Json;
    } catch {
      throw new GatewayError('upstream_invalid', `${this.provider.name} sent a stream event that is not JSON.`, {
        provider: this.provider.name,
      });
    }
  }
}

/** A Map, because an upstream may call its events `__proto__`. */
const READERS: ReadonlyMap<string, (this: MessageEvents, body: Json) => void> = new Map([
  ['message_start', MessageEvents.prototype.onStart],
  ['message_delta', MessageEvents.prototype.onDelta],
  ['message_stop', MessageEvents.prototype.onStop],
  ['error', MessageEvents.prototype.onError],
]);
