/** What goes to the caller of a stream: kept to be put together, and told to those who take part. */

import type { StreamListener } from '../stream/stream-terms.ts';
import type { CacheTurn } from './cache-turn.ts';
import type { Assembler } from './forms/answer-form.ts';
import { ANSWER_FORMS, assemblerOf } from './forms/forms.ts';

export class StreamTap implements StreamListener {
  /** Its end went out, too. */
  ended = false;
  readonly assembler: Assembler | undefined;
  readonly #turn: CacheTurn;

  constructor(turn: CacheTurn, maxAnswerBytes: number) {
    this.#turn = turn;
    const form = ANSWER_FORMS.get(turn.context.endpoint.type);
    this.assembler = form === undefined || turn.noStore ? undefined : assemblerOf(form, maxAnswerBytes);
  }

  push(out: Buffer | string): void {
    this.assembler?.push(out);
    this.#turn.lead?.push(out, out.length);
  }

  end(): void {
    this.ended = true;
  }

  /** The caller left; true: the stream must go on all the same. */
  goesOn(): boolean {
    return this.#turn.goesOn();
  }
}
