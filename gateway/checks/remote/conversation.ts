/** What remote checks are told of a subject. */
import { bounded } from '../scope.ts';
import type { Subject, SubjectText } from '../subject.ts';

/** Services are sent less than local checks look at: 256 KiB of UTF-16. */
const MAX_SENT = 262_144;

/** Texts that say something, each once. Throws CheckError where they are too long together. */
export function textsToSend(subject: Subject): readonly SubjectText[] {
  const texts = subject.texts.filter(({ repeats, text }) => !repeats && text.trim() !== '');
  bounded(
    texts.map(({ text }) => text),
    MAX_SENT,
  );
  return texts;
}

/** Who said what, a paragraph each. */
export function transcript(texts: readonly SubjectText[]): string {
  return texts.map(({ role, text }) => `${role}: ${text}`).join('\n\n');
}
