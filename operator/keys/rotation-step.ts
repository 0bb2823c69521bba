/** What is to be written next into the Secret of a key. Pure; the only memory is the Secret. */
import type { SecretObject } from '../world.ts';
import { digestOf, KEY_FIELDS, type KeyState } from './key-state.ts';
import { transitionIn } from './rotation-word.ts';

/** A key that this program made, as its ApiKey and its Secret are now. */
export interface IssuedKey {
  /** Of the ApiKey. */
  readonly namespace: string;
  readonly name: string;
  readonly secret: SecretObject;
  readonly state: KeyState;
  /** Word of the annotation that asks for a rotation; undefined: none. */
  readonly word: string | undefined;
  /** Unix milliseconds; undefined: never. */
  readonly dueAtMs: number | undefined;
  /** For how long the former key works. */
  readonly transitionMs: number;
}

/** Fields of a Secret to be set; undefined: to be taken away. */
export type SecretChanges = Readonly<Record<string, string | undefined>>;

export interface Moment {
  readonly nowMs: number;
  /** Every replica serves the next key, and there is one. */
  readonly isServed: boolean;
  /** Somebody waits for a rotation. */
  readonly wanted: { readonly transitionMs?: number | undefined } | undefined;
}

/** undefined: nothing is to be done now. */
export function stepOf(
  key: IssuedKey,
  { nowMs, isServed, wanted }: Moment,
  newKey: () => string,
): SecretChanges | undefined {
  const { state } = key;
  if (state.next !== undefined) return isServed ? switching(key, state.next, nowMs) : undefined;
  const isAsked = wanted !== undefined || isAskedByWord(key);
  if (state.previous !== undefined && !isAsked) return nowMs < state.previous.expiresAtMs ? undefined : ENDING;
  if (!isAsked && (key.dueAtMs === undefined || nowMs < key.dueAtMs)) return undefined;
  const word = isAskedByWord(key) ? key.word : undefined;
  return beginning(newKey(), wanted === undefined ? transitionIn(word) : wanted.transitionMs);
}

/** Unix milliseconds when there is something to do without anything else happening; undefined: never. */
export function wakeAt({ state, dueAtMs }: IssuedKey): number | undefined {
  return state.next === undefined ? (state.previous?.expiresAtMs ?? dueAtMs) : undefined;
}

export function isAskedByWord({ word, state }: IssuedKey): boolean {
  return word !== undefined && word !== state.word;
}

function beginning(next: string, transitionMs: number | undefined): SecretChanges {
  return {
    [KEY_FIELDS.next]: next,
    [KEY_FIELDS.nextTransition]: transitionMs === undefined ? undefined : String(transitionMs),
  };
}

function switching({ state, transitionMs, word }: IssuedKey, next: string, nowMs: number): SecretChanges {
  const isCutShort = state.previous !== undefined && nowMs < state.previous.expiresAtMs;
  return {
    [KEY_FIELDS.current]: next,
    [KEY_FIELDS.next]: undefined,
    [KEY_FIELDS.nextTransition]: undefined,
    [KEY_FIELDS.previousDigest]: digestOf(state.current),
    [KEY_FIELDS.previousExpiry]: timeOf(nowMs + (state.nextTransitionMs ?? transitionMs)),
    [KEY_FIELDS.rotatedAt]: timeOf(nowMs),
    [KEY_FIELDS.cutShortAt]: isCutShort ? timeOf(nowMs) : undefined,
    // Only now: what was asked for is done, however often the next key was lost on the way.
    ...(word === undefined ? {} : { [KEY_FIELDS.word]: word }),
  };
}

const ENDING: SecretChanges = {
  [KEY_FIELDS.previousDigest]: undefined,
  [KEY_FIELDS.previousExpiry]: undefined,
  [KEY_FIELDS.cutShortAt]: undefined,
};

function timeOf(epochMs: number): string {
  return new Date(epochMs).toISOString();
}
