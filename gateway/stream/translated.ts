/** A stream whose two ends speak different dialects: every event is parsed, turned into hub chunks, and written anew. */
import type { StreamEncoder } from '../dialects/dialect.ts';
import type { Json, ServerSentEvent, StreamDecoder, Usage } from '../providers/provider.ts';
import { endLines, unfinished } from './end-lines.ts';
import { EventLines, type RawEvent } from './event-lines.ts';
import { MAX_EVENT_BYTES } from './pass-through.ts';
import type { StreamTransform } from './transform.ts';

export class Translated implements StreamTransform {
  model: string | undefined;
  begun = false;
  contentEvents = 0;
  private readonly lines = new EventLines(MAX_EVENT_BYTES);
  private readonly decoder: StreamDecoder;
  private readonly encoder: StreamEncoder;
  private readonly keepUsage: boolean;
  private readonly provider: string;
  private out = '';

  constructor(provider: string, decoder: StreamDecoder, encoder: StreamEncoder, keepUsage: boolean) {
    this.provider = provider;
    this.decoder = decoder;
    this.encoder = encoder;
    this.keepUsage = keepUsage;
  }

  get usage(): Usage | undefined {
    return this.decoder.usage;
  }

  get finished(): boolean {
    return this.decoder.finished;
  }

  push(chunk: Buffer): string | undefined {
    this.lines.push(chunk, this.onEvent);
    return this.taken();
  }

  end(): string | undefined {
    endLines(this.lines, this.onEvent, this.provider);
    if (!this.decoder.finished) {
      if (!this.decoder.mayEnd()) throw unfinished(this.provider);
      for (const chunk of this.decoder.end()) this.write(chunk);
    }
    this.out += this.encoder.end();
    return this.taken();
  }

  private readonly onEvent = (event: RawEvent): void => {
    if (event.data === undefined) return;
    const data = event.data.toString('utf8');
    for (const chunk of this.decoder.decode({ event: event.event, data } satisfies ServerSentEvent)) this.write(chunk);
  };

  private write(chunk: Json): void {
    this.model ??= typeof chunk['model'] === 'string' ? chunk['model'] : undefined;
    const choices = chunk['choices'];
    const isUsageAlone = Array.isArray(choices) && choices.length === 0;
    if (!isUsageAlone) this.contentEvents += 1;
    if (isUsageAlone && !this.keepUsage) return;
    this.begun = true;
    this.out += this.encoder.encode(chunk);
  }

  taken(): string | undefined {
    const out = this.out;
    this.out = '';
    return out === '' ? undefined : out;
  }
}
