/** The two ways in which an endpoint answers, a stream or a whole, made of each other. */
import type { Json, Usage } from '../../providers/provider.ts';

/**
 * Builds the whole answer from the stream that a caller got: what a caller without `stream` would have got. One instance per
 * stream. It never throws: what it cannot put together faithfully is not complete.
 */
export interface Assembler {
  /** Bytes as they went to the caller, in any pieces. */
  push(bytes: Buffer | string): void;
  /**
   * Once nothing follows. undefined: the stream did not end as it should, or holds something that cannot be added up. `usage`:
   * as it was counted, for a stream whose caller was not told.
   */
  whole(usage: Usage | undefined): Json | undefined;
}

/** Reads the events of one dialect; `EventAssembler` frames them. */
export interface AnswerBuilder {
  /** `event`: one object, parsed. False: it makes the answer impossible to put together. */
  add(event: Json): boolean;
  /** undefined: something is missing. */
  built(usage: Usage | undefined): Json | undefined;
  /** Whether `data` that is no JSON ends the stream. */
  isEnd(data: string): boolean;
}

export interface AnswerForm {
  builder(): AnswerBuilder;
  /**
   * The whole answer as a finished stream, end marker included. `wantsUsage`: the caller asked for the usage chunk; dialects
   * that always tell it do. undefined: it is no answer of this form.
   */
  replay(answer: Json, wantsUsage: boolean): string | undefined;
}
