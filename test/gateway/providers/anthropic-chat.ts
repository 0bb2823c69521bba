/** Shorthands of the tests of the provider's translation. */
import { expect } from 'vitest';
import { GatewayError } from '#gateway/errors.ts';
import { anthropic } from '#gateway/providers/anthropic/provider.ts';
import type { ChatTranslation, Json } from '#gateway/providers/provider.ts';

export const MODEL = 'claude-sonnet-4-5';
export const HI: Json = { role: 'user', content: 'Hi' };

export function translation(): ChatTranslation {
  if (anthropic.chat === undefined) throw new Error('the provider has no translation');
  return anthropic.chat;
}

/** A request with these fields, around one user message. */
export function encode(fields: Json): Json {
  return translation().encode({ model: MODEL, messages: [HI], ...fields });
}

export function encodeMessages(...messages: Json[]): Json {
  return encode({ messages });
}

/** Runs what must fail, and returns the error. */
export function failure(run: () => unknown): GatewayError {
  try {
    run();
  } catch (error) {
    expect(error).toBeInstanceOf(GatewayError);
    if (error instanceof GatewayError) return error;
  }
  throw new Error('nothing was thrown');
}

/** Every object and list below it is frozen, so that a change of the input would throw. */
export function frozen<T>(value: T): T {
  if (typeof value === 'object' && value !== null && !Object.isFrozen(value)) {
    Object.freeze(value);
    for (const inner of Object.values(value)) frozen(inner);
  }
  return value;
}
