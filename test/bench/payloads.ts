/** What goes over the wire: requests of a chosen size, answers of 600 bytes, streams of 50 events. */
import { openAiChat, openAiChunks, openAiEvent } from '../fakes/openai-wire.ts';
import type { Workload } from './contestant.ts';

export const EVENTS = 50;
export const EVENT_GAP_MS = 50;

/** A chat request of about `bytes` bytes. */
export function requestBody(bytes: number, workload: Workload): string {
  const make = (content: string) =>
    JSON.stringify({
      model: 'gpt-test',
      messages: [
        { role: 'system', content: 'You are a helpful assistant.' },
        { role: 'user', content },
      ],
      temperature: 0.7,
      ...(workload === 'unary' ? {} : { stream: true }),
    });
  const filler = 'Tell me something that I do not know yet. ';
  const missing = Math.max(0, bytes - make('').length);
  return make(filler.repeat(Math.ceil(missing / filler.length)).slice(0, missing));
}

/** An answer of about 600 bytes. */
export const UNARY_ANSWER: string = JSON.stringify(openAiChat({ text: 'All work and no play. '.repeat(11).trim() }));

/** 48 words and the chunks around them: 50 events before the end marker. */
export const STREAM_EVENTS: readonly string[] = openAiChunks({
  text: Array.from({ length: EVENTS - 2 }, () => 'word').join(' '),
  includeUsage: false,
}).map(openAiEvent);

export const END_MARKER: string = openAiEvent('[DONE]');
