/** Words for the annotation that asks for a rotation: each another one, and some say for how long the former key shall work. */
import { randomUUID } from 'node:crypto';

const TRANSITION = /\+(\d{1,10})ms$/;
/** As in a rotation policy: half an hour to thirty days. */
const SHORTEST_MS = 30 * 60_000;
const LONGEST_MS = 30 * 24 * 60 * 60_000;

/** One that was not there before. `transitionMs` undefined: as the ApiKey says. */
export function rotationWord(transitionMs?: number): string {
  return transitionMs === undefined ? randomUUID() : `${randomUUID()}+${transitionMs}ms`;
}

/** Milliseconds; undefined: the word says nothing of it, or nothing that a rotation policy could. */
export function transitionIn(word: string | undefined): number | undefined {
  const transitionMs = Number(TRANSITION.exec(word ?? '')?.[1] ?? Number.NaN);
  return transitionMs >= SHORTEST_MS && transitionMs <= LONGEST_MS ? transitionMs : undefined;
}
