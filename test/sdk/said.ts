/** What an upstream of either wire says, in that wire's own words. */
import type { AnthropicAnswer } from '../fakes/anthropic-wire.ts';
import type { OpenAiAnswer } from '../fakes/openai-wire.ts';
import { chat, chatStream, message, messageStream, type Reply } from '../fakes/replies.ts';
import type { Wire } from './stage.ts';

export interface Said {
  readonly openai: OpenAiAnswer;
  readonly anthropic: AnthropicAnswer;
}

/** A PNG of one pixel, in base64. */
export const PIXEL = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';

export const HI = { role: 'user', content: 'Hi' } as const;

export const TEXT: Said = { openai: { text: 'Good day.' }, anthropic: { text: 'Good day.' } };

/** A call of `get_weather` for each city, ids `call_1`, `call_2`, ...; `text` before them. */
export function calls(cities: readonly string[], text?: string): Said {
  const words = text === undefined ? {} : { text };
  const head = (index: number) => ({ id: `call_${index + 1}`, name: 'get_weather' });
  return {
    openai: {
      ...words,
      toolCalls: cities.map((city, index) => ({ ...head(index), arguments: JSON.stringify({ city }) })),
    },
    anthropic: { ...words, toolUses: cities.map((city, index) => ({ ...head(index), input: { city } })) },
  };
}

/** The reply of an upstream of that wire. */
export function saying(wire: Wire, said: Said, stream: boolean): Reply {
  if (wire === 'openai') return stream ? chatStream(said.openai) : chat(said.openai);
  return stream ? messageStream(said.anthropic) : message(said.anthropic);
}
