/** Which texts a check looks at, and how much. */
import { CheckError } from './check.ts';
import type { Subject } from './subject.ts';

/** UTF-16 units that a check looks at together: more is an error, since nobody may wait for it. */
export const MAX_TEXT = 1_048_576;

/**
 * What is demanded must stand in the last message; what is forbidden may stand nowhere, neither in what was said before nor in
 * tool calls or thinking. Throws CheckError for more than MAX_TEXT.
 */
export function looked(subject: Subject, forbids: boolean): readonly string[] {
  return bounded(forbids ? subject.texts.map(({ text }) => text) : [subject.last]);
}

/** The texts, where they are not too long together. Throws CheckError. */
export function bounded(texts: readonly string[], max = MAX_TEXT): readonly string[] {
  let length = 0;
  for (const text of texts) length += text.length;
  if (length > max) {
    throw new CheckError(`The text is too long for this check: it looks at ${max} characters, there are ${length}.`, {
      window: max,
      length,
    });
  }
  return texts;
}
