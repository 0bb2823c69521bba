/** What guardrails read of a stream is what they would read of the whole answer. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { readTexts } from '#gateway/checks/read-texts.ts';
import { answerTexts } from '#gateway/guardrails/answer-texts.ts';
import type { Json } from '#gateway/providers/provider.ts';
import { anthropicEventObjects, anthropicMessage } from '../fakes/anthropic-wire.ts';
import { openAiChat, openAiChunks, openAiCompletion, openAiCompletionChunks } from '../fakes/openai-wire.ts';

const words = fc
  .array(fc.stringMatching(/^[a-zé"\\]{1,8}$/), { minLength: 1, maxLength: 12 })
  .map((list) => list.join(' '));
const input = fc.dictionary(fc.stringMatching(/^[a-z]{1,5}$/), words, { maxKeys: 3 });
const calls = fc.array(input, { minLength: 1, maxLength: 3 });

const textsOf = (answer: object) =>
  readTexts(answer as Json, 'response')
    .map(({ text, part }) => ({ text, part }))
    .filter(({ text }) => text !== '');

function readStream(dialect: 'openai' | 'anthropic', events: readonly object[]) {
  const texts = answerTexts(dialect);
  for (const event of events) texts.add(event as Json);
  return textsOf(texts.body());
}

describe('the texts of a stream', () => {
  it('of a chat', () => {
    fc.assert(
      fc.property(words, fc.option(calls, { nil: undefined }), (text, given) => {
        const toolCalls = given?.map((args, index) => ({
          id: `c${index}`,
          name: 'f',
          arguments: JSON.stringify(args),
        }));
        const answer = { text, ...(toolCalls && { toolCalls }) };
        expect(readStream('openai', openAiChunks(answer))).toEqual(textsOf(openAiChat(answer)));
      }),
    );
  });

  it('of a text completion', () => {
    fc.assert(
      fc.property(words, (text) => {
        expect(readStream('openai', openAiCompletionChunks({ text }))).toEqual(textsOf(openAiCompletion({ text })));
      }),
    );
  });

  it('of a message, with thinking and tool input', () => {
    fc.assert(
      fc.property(words, words, input, (thinking, text, given) => {
        const answer = { thinking, text, toolUses: [{ id: 't', name: 'f', input: given }] };
        expect(readStream('anthropic', anthropicEventObjects(answer))).toEqual(textsOf(anthropicMessage(answer)));
      }),
    );
  });

  it('of servers that give every call the same index', () => {
    const call = (id: string | undefined, text: string) => ({
      choices: [{ index: 0, delta: { tool_calls: [{ index: 0, ...(id && { id }), function: { arguments: text } }] } }],
    });
    const events = [call('a', '{"q":'), call(undefined, '"x"}'), call('b', '{"q":"y"}')];
    expect(readStream('openai', events).map(({ text }) => text)).toEqual(['{"q":"x"}', '{"q":"y"}']);
  });

  it('of several choices, whatever else is in the events', () => {
    const choice = (index: number, content: string) => ({
      choices: [{ index, delta: { content, x: [1, null] } }],
      obfuscation: 'aa',
    });
    const events = [choice(0, 'a'), choice(1, 'c'), {}, { choices: 'no' }, { choices: [null, 7] }, choice(0, 'b')];
    expect(readStream('openai', events).map(({ text }) => text)).toEqual(['ab', 'c']);
  });

  it('thinking that is shown in blocks', () => {
    const block = (content_blocks: object[]) => ({ choices: [{ index: 0, delta: { content_blocks } }] });
    const events = [
      block([{ index: 0, delta: { thinking: 'be' } }]),
      block([{ index: 0, delta: { thinking: 'ware' } }]),
    ];
    expect(readStream('openai', events)).toEqual([{ text: 'beware', part: 'thinking' }]);
  });

  it('can be trimmed to their ends, and still counts what there was', () => {
    const texts = answerTexts('openai');
    texts.add({ choices: [{ index: 0, delta: { content: 'abcdef' } }] });
    texts.trim(2);
    texts.add({ choices: [{ index: 0, delta: { content: 'gh' } }] });
    expect([textsOf(texts.body()), texts.chars]).toEqual([[{ text: 'efgh', part: 'text' }], 8]);
  });
});
