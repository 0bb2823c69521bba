/**
 * A running stream that guardrails look at. Guardrails that deny are asked about each window of text, and cut it; all are asked
 * about the whole once it is there, before its end marker goes out. What they looked at before is on its way already.
 */
import type { Subject } from '../checks/subject.ts';
import type { GatewayError } from '../errors.ts';
import type { Dialect, Json, Usage } from '../providers/provider.ts';
import { EventLines, type RawEvent } from '../stream/event-lines.ts';
import { MAX_EVENT_BYTES } from '../stream/pass-through.ts';
import type { StreamTransform } from '../stream/transform.ts';
import { type AnswerTexts, answerTexts } from './answer-texts.ts';
import type { Guard } from './guard.ts';

/** Characters that a window has at most, of each text; what is longer and spread over two windows is not found. */
export const WINDOW_CHARS = 8_192;
/** New characters that make a window worth asking about. */
export const STEP_CHARS = 512;
/** What is kept of an answer as a whole; checks look at no more. */
const WHOLE_CHARS = 1_048_576;

/** Who is asked, and what becomes of it. */
export interface StreamWatch {
  readonly dialect: Dialect;
  /** Asked about each window. */
  readonly windowGuards: readonly Guard[];
  /** Asked about the whole. */
  readonly wholeGuards: readonly Guard[];
  subjectOf(answer: Json): Subject;
  /** undefined: they let it pass. */
  judgeWindow(guards: readonly Guard[], window: Subject): GatewayError | undefined | Promise<GatewayError | undefined>;
  /** `tooLong`: the subject is a window, the answer as a whole was not kept. */
  judgeWhole(subject: Subject, tooLong: boolean): GatewayError | undefined | Promise<GatewayError | undefined>;
  /** The last bytes of the stream, end marker included, as the caller gets them. */
  ending(bytes: Buffer, model: string | undefined): Buffer;
  /** A denial, after so many characters went out. */
  noteDenial(sentChars: number, stream: StreamTransform): void;
}

export class WatchedStream implements StreamTransform {
  readonly #inner: StreamTransform;
  readonly #watch: StreamWatch;
  /** Ends the stream with an error event. */
  readonly #cut: (error: GatewayError) => void;
  readonly #lines = new EventLines(MAX_EVENT_BYTES);
  readonly #window: AnswerTexts | undefined;
  readonly #whole: AnswerTexts | undefined;
  #judgedChars = 0;
  #sentChars = 0;
  #isAsking = false;
  #isClosing = false;
  #tail: Buffer[] = [];
  #fault: unknown;

  constructor(inner: StreamTransform, watch: StreamWatch, cut: (error: GatewayError) => void) {
    this.#inner = inner;
    this.#watch = watch;
    this.#cut = cut;
    this.#window = watch.windowGuards.length > 0 ? answerTexts(watch.dialect) : undefined;
    this.#whole = watch.wholeGuards.length > 0 ? answerTexts(watch.dialect) : undefined;
  }

  get begun(): boolean {
    return this.#inner.begun;
  }

  get finished(): boolean {
    return this.#inner.finished;
  }

  get contentEvents(): number {
    return this.#inner.contentEvents;
  }

  get usage(): Usage | undefined {
    return this.#inner.usage;
  }

  get model(): string | undefined {
    return this.#inner.model;
  }

  push(chunk: Buffer): Buffer | undefined {
    const out = asBytes(this.#inner.push(chunk));
    if (out === undefined) return undefined;
    this.#read(out);
    if (this.#inner.finished) {
      this.#tail.push(out);
      return undefined;
    }
    this.#sentChars = this.#chars;
    return out;
  }

  /** Nothing follows: asks about the whole. A promise where somebody has to be waited for, before `end` is called. */
  closing(): Promise<void> | undefined {
    this.#isClosing = true;
    try {
      const out = asBytes(this.#inner.end());
      if (out !== undefined) {
        this.#read(out);
        this.#tail.push(out);
      }
      const judged = this.#judgeWhole();
      return judged instanceof Promise ? judged.then((error) => this.#deny(error)) : this.#deny(judged);
    } catch (error) {
      this.#fault = error;
      return undefined;
    }
  }

  end(): Buffer | undefined {
    if (this.#fault !== undefined) throw this.#fault;
    return this.#watch.ending(Buffer.concat(this.#tail), this.#inner.model);
  }

  /** What was not judged yet does not go out. */
  taken(): Buffer | undefined {
    return this.#watch.windowGuards.length > 0 ? undefined : asBytes(this.#inner.taken());
  }

  #read(out: Buffer): void {
    if (this.#window !== undefined || this.#whole !== undefined) this.#lines.push(out, this.#onEvent);
  }

  readonly #onEvent = ({ data }: RawEvent): void => {
    const event = data?.[0] === 123 ? parsed(data) : undefined;
    if (event === undefined) return;
    if (this.#whole !== undefined && this.#whole.chars <= WHOLE_CHARS) this.#whole.add(event);
    if (this.#window === undefined) return;
    this.#window.add(event);
    if (!this.#isAsking && this.#window.chars - this.#judgedChars >= STEP_CHARS) this.#judgeWindow(this.#window);
  };

  get #chars(): number {
    return (this.#window ?? this.#whole)?.chars ?? 0;
  }

  /** Throws the denial where it is known at once. */
  #judgeWindow(window: AnswerTexts): void {
    this.#judgedChars = window.chars;
    const subject = this.#watch.subjectOf(structuredClone(window.body()));
    window.trim(WINDOW_CHARS);
    const judged = this.#watch.judgeWindow(this.#watch.windowGuards, subject);
    if (!(judged instanceof Promise)) return this.#throw(judged);
    this.#isAsking = true;
    void judged.then((error) => {
      this.#isAsking = false;
      if (error === undefined || this.#isClosing) return;
      this.#noteDenial();
      this.#cut(error);
    });
  }

  #judgeWhole(): GatewayError | undefined | Promise<GatewayError | undefined> {
    if (this.#whole === undefined) return undefined;
    const tooLong = this.#whole.chars > WHOLE_CHARS;
    const texts = tooLong && this.#window !== undefined ? this.#window : this.#whole;
    return this.#watch.judgeWhole(this.#watch.subjectOf(texts.body()), tooLong);
  }

  #deny(error: GatewayError | undefined): undefined {
    if (error === undefined) return;
    this.#noteDenial();
    this.#fault = error;
  }

  #throw(error: GatewayError | undefined): void {
    if (error === undefined) return;
    this.#noteDenial();
    throw error;
  }

  #noteDenial(): void {
    this.#watch.noteDenial(this.#sentChars, this.#inner);
  }
}

function asBytes(out: Buffer | string | undefined): Buffer | undefined {
  return typeof out === 'string' ? Buffer.from(out) : out;
}

/** What is no JSON has no text; whoever frames the stream has seen to it that it is not much. */
function parsed(data: Buffer): Json | undefined {
  try {
    return JSON.parse(data.toString('utf8')) as Json;
  } catch {
    return undefined;
  }
}
