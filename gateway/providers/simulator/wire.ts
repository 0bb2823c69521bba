/** Answers in OpenAI's wire format: whole bodies and the events of streams. */
import type { Json } from '../provider.ts';
import type { Answer } from './answers.ts';

function eachChoice<T>(answer: Answer, make: (index: number) => T): T[] {
  return Array.from({ length: answer.choices }, (_, index) => make(index));
}

function messageOf(answer: Answer): Json {
  const message = { role: 'assistant', content: answer.toolCalls.length > 0 ? null : answer.text, refusal: null };
  return answer.toolCalls.length > 0 ? { ...message, tool_calls: answer.toolCalls } : message;
}

export function chatBody(answer: Answer): Json {
  return {
    id: `chatcmpl-${answer.id}`,
    object: 'chat.completion',
    created: answer.created,
    model: answer.model,
    choices: eachChoice(answer, (index) => ({
      index,
      message: messageOf(answer),
      logprobs: null,
      finish_reason: answer.finishReason,
    })),
    usage: answer.usage,
  };
}

export function completionBody(answer: Answer): Json {
  return {
    id: `cmpl-${answer.id}`,
    object: 'text_completion',
    created: answer.created,
    model: answer.model,
    choices: eachChoice(answer, (index) => ({
      text: answer.text,
      index,
      logprobs: null,
      finish_reason: answer.finishReason,
    })),
    usage: answer.usage,
  };
}

/** Words with the blanks that follow them: joined again they are the text. */
function wordsOf(text: string): string[] {
  return text.match(/\S+\s*|^\s+/g) ?? [];
}

function deltasOf(answer: Answer): Json[] {
  if (answer.toolCalls.length === 0) return wordsOf(answer.text).map((content) => ({ content }));
  return answer.toolCalls.flatMap(({ id, type, function: called }, index) => {
    const half = Math.ceil(called.arguments.length / 2);
    const pieces = [called.arguments.slice(0, half), called.arguments.slice(half)];
    return [
      { tool_calls: [{ index, id, type, function: { name: called.name, arguments: '' } }] },
      ...pieces.map((piece) => ({ tool_calls: [{ index, function: { arguments: piece } }] })),
    ];
  });
}

/** The data of each event, the end marker included. */
function framed(chunks: readonly Json[]): string[] {
  return [...chunks.map((chunk) => JSON.stringify(chunk)), '[DONE]'];
}

function withUsage(chunks: Json[], head: Json, answer: Answer, wanted: boolean): Json[] {
  return wanted ? [...chunks, { ...head, choices: [], usage: answer.usage }] : chunks;
}

export function chatEvents(answer: Answer, usage: boolean): string[] {
  const { id, created, model } = answer;
  const head = { id: `chatcmpl-${id}`, object: 'chat.completion.chunk', created, model };
  const chunks = (delta: Json, finish_reason: string | null = null) =>
    eachChoice(answer, (index) => ({ ...head, choices: [{ index, delta, logprobs: null, finish_reason }] }));
  const content = answer.toolCalls.length > 0 ? null : '';
  const all = [
    ...chunks({ role: 'assistant', content }),
    ...deltasOf(answer).flatMap((delta) => chunks(delta)),
    ...chunks({}, answer.finishReason),
  ];
  return framed(withUsage(all, head, answer, usage));
}

export function completionEvents(answer: Answer, usage: boolean): string[] {
  const { id, created, model } = answer;
  const head = { id: `cmpl-${id}`, object: 'text_completion', created, model };
  const chunks = (text: string, finish_reason: string | null = null) =>
    eachChoice(answer, (index) => ({ ...head, choices: [{ text, index, logprobs: null, finish_reason }] }));
  const all = [...wordsOf(answer.text).flatMap((word) => chunks(word)), ...chunks('', answer.finishReason)];
  return framed(withUsage(all, head, answer, usage));
}
