/** Whole answers and streams, made of each other. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { AnswerForm } from '#gateway/cache/forms/answer-form.ts';
import { ANSWER_FORMS, assemblerOf } from '#gateway/cache/forms/forms.ts';
import { CLIENT_DIALECTS } from '#gateway/dialects/client-dialects.ts';
import { GatewayError } from '#gateway/errors.ts';
import { decodeAnswer } from '#gateway/providers/anthropic/decode-answer.ts';
import { MessageStreamDecoder } from '#gateway/providers/anthropic/stream-decoder.ts';
import type { Json, Usage } from '#gateway/providers/provider.ts';
import { anthropicEvents, anthropicMessage } from '../fakes/anthropic-wire.ts';
import {
  DEFAULT_USAGE,
  openAiChat,
  openAiChunks,
  openAiCompletion,
  openAiCompletionChunks,
  openAiEvent,
  openAiEvents,
} from '../fakes/openai-wire.ts';
import { parseSse } from '../fakes/sse.ts';
import { chatAnswer, completionAnswer, messageAnswer } from './answers.ts';

const MAX_BYTES = 1024 * 1024;

function formOf(endpointType: string): AnswerForm {
  const form = ANSWER_FORMS.get(endpointType);
  if (form === undefined) throw new Error(`${endpointType} has no form`);
  return form;
}

function assembled(endpointType: string, parts: readonly (string | Buffer)[], usage?: Usage): Json | undefined {
  const assembler = assemblerOf(formOf(endpointType), MAX_BYTES);
  for (const part of parts) assembler.push(part);
  return assembler.whole(usage);
}

/** The text in pieces, cut at the places that `cuts` say in thousandths of its bytes. */
function pieces(text: string, cuts: readonly number[]): Buffer[] {
  const bytes = Buffer.from(text);
  const places = [0, ...cuts.map((cut) => Math.floor((cut * bytes.length) / 1000)), bytes.length].sort((a, b) => a - b);
  return places.slice(1).map((end, at) => bytes.subarray(places[at], end));
}

const cuts = fc.array(fc.nat(1000), { maxLength: 6 });
const FORMS = [
  ['chatComplete', chatAnswer],
  ['complete', completionAnswer],
  ['messages', messageAnswer],
] as const satisfies [string, fc.Arbitrary<Json>][];

describe.each(FORMS)('an answer of %s', (type, answers) => {
  const arbitrary: fc.Arbitrary<Json> = answers;

  it('that is replayed and put together again is the same, however the bytes are cut', () => {
    fc.assert(
      fc.property(arbitrary, cuts, (answer, places) => {
        const stream = formOf(type).replay(answer, true) ?? '';
        expect(assembled(type, pieces(stream, places))).toEqual(answer);
      }),
      { numRuns: 300 },
    );
  });

  it('whose caller was not told its usage has what was counted', () => {
    fc.assert(
      fc.property(arbitrary, (answer) => {
        const stream = formOf(type).replay(answer, false) ?? '';
        const counted = answer['usage'] as Usage | undefined;
        expect(assembled(type, [stream], counted)).toEqual(answer);
      }),
    );
  });

  it('is not put together from any part of its stream', () => {
    fc.assert(
      fc.property(arbitrary, fc.nat(999), (answer, part) => {
        const bytes = Buffer.from(formOf(type).replay(answer, true) ?? '');
        // Without the last line feed the last event is there, but its end is not.
        const length = Math.min(bytes.length - 1, Math.floor((part * bytes.length) / 1000));
        expect(assembled(type, [bytes.subarray(0, length)])).toBeUndefined();
      }),
    );
  });

  it('is not put together where an event is missing its inside, an error comes, or something follows the end', () => {
    fc.assert(
      fc.property(arbitrary, (answer) => {
        const stream = formOf(type).replay(answer, true) ?? '';
        const cut = stream.indexOf('\n\n') + 2;
        const error = 'data: {"type":"error","error":{"message":"cut"}}\n\n';
        for (const event of [error, 'data: {"type":\n\n', 'data: []\n\n', 'data: {}\n\n'])
          expect(assembled(type, [stream.slice(0, cut), event, stream.slice(cut)])).toBeUndefined();
        expect(assembled(type, [stream, 'data: {"choices":[],"type":"ping"}\n\n'])).toBeUndefined();
        expect(assembled(type, [stream, stream])).toBeUndefined();
      }),
    );
  });

  it('comments change nothing', () => {
    fc.assert(
      fc.property(arbitrary, (answer) => {
        const stream = formOf(type).replay(answer, true) ?? '';
        expect(assembled(type, [': hello\n\n', stream.replaceAll('\n\n', '\n\n: ping\n\n')])).toEqual(answer);
      }),
    );
  });

  it('nothing was said: nothing is put together', () => {
    expect(assembled(type, [])).toBeUndefined();
    expect(assembled(type, ['data: [DONE]\n\n'])).toBeUndefined();
    expect(assembled(type, ['event: message_stop\ndata: {"type":"message_stop"}\n\n'])).toBeUndefined();
  });

  it('what is no answer is not replayed', () => {
    for (const wrong of [{}, { choices: [] }, { choices: [{}] }, { choices: [1] }, { content: 'x' }, { content: [] }])
      expect(formOf(type).replay(wrong, true)).toBeUndefined();
  });
});

describe('streams of OpenAI’s chat as servers write them', () => {
  const said = { text: 'Hello there, caller!' };

  it('give what the same server says without a stream', () => {
    expect(assembled('chatComplete', openAiEvents(said))).toEqual(openAiChat(said));
  });

  it('with tool calls in pieces too', () => {
    const toolCalls = ['Rome', 'Oslo'].map((city, at) => ({
      id: `call_${at}`,
      name: 'get_weather',
      arguments: JSON.stringify({ city }),
    }));
    expect(assembled('chatComplete', openAiEvents({ toolCalls, text: 'I look.' }))).toEqual(
      openAiChat({ toolCalls, text: 'I look.' }),
    );
  });

  it('have no usage where nobody counted', () => {
    const whole = assembled('chatComplete', openAiEvents({ ...said, includeUsage: false }));
    const { usage, ...rest } = openAiChat(said);
    expect(whole).toEqual(rest);
    expect(assembled('chatComplete', openAiEvents({ ...said, includeUsage: false }), DEFAULT_USAGE)?.['usage']).toEqual(
      usage,
    );
  });

  it('that stop at their length are complete: that is all that was asked for', () => {
    expect(assembled('chatComplete', openAiEvents({ ...said, finishReason: 'length' }))).toEqual(
      openAiChat({ ...said, finishReason: 'length' }),
    );
  });

  it('without a finish reason are not', () => {
    const events = openAiChunks(said).map((chunk) => openAiEvent(JSON.stringify(chunk).replace(/"stop"/, 'null')));
    expect(assembled('chatComplete', [...events, openAiEvent('[DONE]')])).toBeUndefined();
  });

  it('in which a choice never came are not', () => {
    const events = openAiEvents(said).map((event) => event.replaceAll('"index":0', '"index":1'));
    expect(assembled('chatComplete', events)).toBeUndefined();
  });

  it('of servers that give every call the same index keep the calls apart', () => {
    const delta = (id: string, text: string) =>
      openAiEvent({
        id: 'x',
        choices: [{ index: 0, delta: { tool_calls: [{ index: 0, id, function: { name: 'f', arguments: text } }] } }],
      });
    const end = openAiEvent({ id: 'x', choices: [{ index: 0, delta: {}, finish_reason: 'tool_calls' }] });
    const whole = assembled('chatComplete', [delta('a', '{}'), delta('b', '{"x":1}'), end, openAiEvent('[DONE]')]);
    expect(JSON.stringify(whole?.['choices'])).toContain(
      JSON.stringify([
        { id: 'a', function: { name: 'f', arguments: '{}' } },
        { id: 'b', function: { name: 'f', arguments: '{"x":1}' } },
      ]),
    );
  });

  it.each([
    ['a field of the message that nobody knows how to add up', { audio: { data: 'AAAA' } }],
    ['a call that goes on without having begun', { tool_calls: [{ index: 3, function: { arguments: '}' } }] }],
    ['calls that are none', { tool_calls: 'x' }],
    ['text that is none', { content: 7 }],
    ['blocks that are none', { content_blocks: [7] }],
  ])('that hold %s are not kept', (_what, delta) => {
    const events = openAiEvents(said);
    const odd = openAiEvent({ id: 'x', choices: [{ index: 0, delta, finish_reason: null }] });
    expect(assembled('chatComplete', [...events.slice(0, 2), odd, odd, ...events.slice(2)])).toBeUndefined();
  });

  it('a field of which nobody knows more is kept where it comes once', () => {
    const events = openAiEvents(said);
    const odd = openAiEvent({ choices: [{ index: 0, delta: { annotations: [{ type: 'url' }] } }] });
    const whole = assembled('chatComplete', [...events.slice(0, 2), odd, ...events.slice(2)]);
    expect(whole?.['choices']).toMatchObject([{ message: { annotations: [{ type: 'url' }] } }]);
  });

  it('that are longer than could be kept are given up', () => {
    const assembler = assemblerOf(formOf('chatComplete'), 1000);
    for (const event of openAiEvents({ text: 'x'.repeat(2000) })) assembler.push(event);
    expect(assembler.whole(undefined)).toBeUndefined();
  });

  it('of many small pieces are not taken to be long for their frames', () => {
    const text = 'word '.repeat(100);
    const assembler = assemblerOf(formOf('chatComplete'), 1000);
    for (const event of openAiEvents({ text })) assembler.push(event);
    expect(assembler.whole(undefined)).toEqual(openAiChat({ text }));
  });
});

describe('streams of text completions', () => {
  it('give what the same server says without a stream', () => {
    const events = [...openAiCompletionChunks({ text: 'Hello there!' }), '[DONE]'].map(openAiEvent);
    expect(assembled('complete', events)).toEqual(openAiCompletion({ text: 'Hello there!' }));
  });
});

describe('streams of messages', () => {
  const said = { text: 'Good day.', toolUses: [{ id: 'toolu_1', name: 'get_weather', input: { city: 'Rome' } }] };

  it('give what the same server says without a stream', () => {
    const whole = assembled('messages', anthropicEvents(said));
    const { content, stop_reason } = anthropicMessage(said);
    expect(whole).toMatchObject({ content, stop_reason });
  });

  it('whose block never ends, or whose delta has none, are not kept', () => {
    const events = anthropicEvents(said);
    expect(
      assembled(
        'messages',
        events.filter((event) => !event.includes('content_block_stop')),
      ),
    ).toBeUndefined();
    expect(
      assembled(
        'messages',
        events.filter((event) => !event.includes('content_block_start')),
      ),
    ).toBeUndefined();
    expect(
      assembled(
        'messages',
        events.filter((event) => !event.includes('message_start')),
      ),
    ).toBeUndefined();
    expect(
      assembled(
        'messages',
        events.filter((event) => !event.includes('message_delta')),
      ),
    ).toBeUndefined();
  });

  it('with a delta that nobody knows are not kept', () => {
    const events = anthropicEvents(said).map((event) => event.replace('text_delta', 'dance_delta'));
    expect(assembled('messages', events)).toBeUndefined();
  });
});

describe('streams that the gateway has translated', () => {
  /** A message of Anthropic's as this gateway streams it to callers of the chat. */
  function translated(message: Json, strict: boolean): string {
    const decoder = new MessageStreamDecoder({ strict });
    const encoder = CLIENT_DIALECTS.openai.encoder({});
    const events = parseSse(formOf('messages').replay(message, true) ?? '');
    const chunks = events.flatMap((event) => decoder.decode(event));
    return chunks.map((chunk) => encoder.encode(chunk)).join('') + encoder.end();
  }

  it.each([true, false])('give what it says without a stream (strict: %s)', (strict) => {
    fc.assert(
      fc.property(messageAnswer, (message) => {
        fc.pre(strict || hasThinking(message));
        const whole = assembled('chatComplete', [translated(message, strict)]);
        const unary = decodeAnswer(message, { strict });
        expect(comparable(whole)).toEqual(comparable(unary));
      }),
      { numRuns: 300 },
    );
  });

  /** Times differ, and an answer without text says so in one of two ways. */
  function comparable(answer: Json | undefined): unknown {
    const [choice] = (answer?.['choices'] ?? []) as { message: Json }[];
    const { content, content_blocks: blocks = [], ...message } = choice?.message ?? {};
    const shown = shownOf(blocks as Json[]);
    return { ...answer, created: 0, choices: [{ ...choice, message: { ...message, content: content ?? '', shown } }] };
  }

  /** Empty blocks say nothing in a stream; texts that follow each other are one there. */
  function shownOf(blocks: readonly Json[]): Json[] {
    const shown: Json[] = [];
    for (const block of blocks.filter((one) => !isEmpty(one))) {
      const last = shown.at(-1);
      if (block['type'] === 'text' && last?.['type'] === 'text') last['text'] = `${last['text']}${block['text']}`;
      else shown.push({ ...block });
    }
    return shown;
  }

  function isEmpty({ type, text, thinking, signature }: Json): boolean {
    return type === 'text' ? text === '' : type === 'thinking' && `${thinking}${signature}` === '';
  }

  function hasThinking({ content }: { content: readonly object[] }): boolean {
    return content.some((block) => 'thinking' in block && `${block.thinking}` !== '');
  }

  it('to messages give what it says without a stream', () => {
    fc.assert(
      fc.property(chatAnswer, (answer) => {
        const [choice] = answer.choices;
        const calls = choice?.message && 'tool_calls' in choice.message ? choice.message.tool_calls : undefined;
        fc.pre(choice !== undefined && !('function_call' in choice.message) && answer.usage !== undefined);
        const encoder = CLIENT_DIALECTS.anthropic.encoder({});
        const events = parseSse(formOf('chatComplete').replay({ ...answer, choices: [choice] }, true) ?? '');
        const chunks = events.filter(({ data }) => data !== '[DONE]').map(({ data }) => JSON.parse(data) as Json);
        const stream = chunks.map((chunk) => encoder.encode(chunk)).join('') + encoder.end();
        const unary = CLIENT_DIALECTS.anthropic.encodeAnswer({ ...answer, choices: [choice] });
        const whole = assembled('messages', [stream]);
        expect(whole?.['stop_reason']).toBe(unary['stop_reason']);
        expect(whole?.['usage']).toEqual(unary['usage']);
        expect(usesOf(whole)).toEqual(usesOf(unary));
        expect(usesOf(whole).length).toBe(calls?.length ?? 0);
      }),
    );
  });

  function usesOf(message: Json | undefined): unknown[] {
    return ((message?.['content'] ?? []) as Json[]).filter(({ type }) => type === 'tool_use');
  }

  it.each(['openai', 'anthropic'] as const)('and have failed are not kept (%s)', (dialect) => {
    const { errorEvent } = CLIENT_DIALECTS[dialect];
    const type = dialect === 'openai' ? 'chatComplete' : 'messages';
    const events = dialect === 'openai' ? openAiEvents() : anthropicEvents();
    const failed = errorEvent(new GatewayError('upstream_cut', 'It broke off.'));
    for (let at = 0; at <= events.length; at += 1)
      expect(assembled(type, [...events.slice(0, at), failed])).toBeUndefined();
  });
});
