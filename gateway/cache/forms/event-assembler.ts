import { isJson } from '../../dialects/json-shape.ts';
import type { Json, Usage } from '../../providers/provider.ts';
import { EventLines, type RawEvent } from '../../stream/event-lines.ts';
import { MAX_EVENT_BYTES } from '../../stream/pass-through.ts';
import type { AnswerBuilder, Assembler } from './answer-form.ts';

/** What an event of few words may take for its frame; the rest is part of the answer. */
const FRAME_BYTES = 512;

export class EventAssembler implements Assembler {
  readonly #builder: AnswerBuilder;
  readonly #lines = new EventLines(MAX_EVENT_BYTES);
  readonly #maxAnswerBytes: number;
  #saidBytes = 0;
  #isSound = true;
  #isEnded = false;

  /** `maxAnswerBytes`: of a whole answer that is of any use; of a longer one nothing more is read. */
  constructor(builder: AnswerBuilder, maxAnswerBytes: number) {
    this.#builder = builder;
    this.#maxAnswerBytes = maxAnswerBytes;
  }

  push(bytes: Buffer | string): void {
    if (!this.#isSound) return;
    try {
      this.#lines.push(typeof bytes === 'string' ? Buffer.from(bytes) : bytes, this.#onEvent);
    } catch {
      this.#isSound = false;
    }
  }

  whole(usage: Usage | undefined): Json | undefined {
    return this.#isSound && this.#isEnded ? this.#builder.built(usage) : undefined;
  }

  readonly #onEvent = ({ data }: RawEvent): void => {
    if (data === undefined || !this.#isSound) return;
    this.#saidBytes += Math.max(0, data.length - FRAME_BYTES);
    // Nothing may follow the end.
    if (this.#isEnded || this.#saidBytes > this.#maxAnswerBytes) this.#isSound = false;
    else this.#read(data.toString('utf8'));
  };

  #read(data: string): void {
    if (this.#builder.isEnd(data)) {
      this.#isEnded = true;
      if (data[0] !== '{') return;
    }
    const event: unknown = JSON.parse(data);
    const isRead = isJson(event) && (event['error'] === undefined || event['error'] === null);
    this.#isSound = isRead && this.#builder.add(event);
  }
}
