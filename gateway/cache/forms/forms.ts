/** Endpoints whose answers can be streams, by their words. */
import type { AnswerForm, Assembler } from './answer-form.ts';
import { chatForm } from './chat-form.ts';
import { completionForm } from './completion-form.ts';
import { EventAssembler } from './event-assembler.ts';
import { messageForm } from './message-form.ts';

export const ANSWER_FORMS: ReadonlyMap<string, AnswerForm> = new Map([
  ['chatComplete', chatForm],
  ['complete', completionForm],
  ['messages', messageForm],
]);

/** Reads a stream of this form while it goes to its caller. `maxAnswerBytes`: what is larger is not worth it. */
export function assemblerOf(form: AnswerForm, maxAnswerBytes: number): Assembler {
  return new EventAssembler(form.builder(), maxAnswerBytes);
}
