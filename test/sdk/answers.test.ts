/** What both official SDKs hear, whole and streamed, from an upstream of either wire: reasons, counts, thinking, choices. */
import type Anthropic from '@anthropic-ai/sdk';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { anthropicEvent, anthropicEventObjects } from '../fakes/anthropic-wire.ts';
import { openAiChat, openAiChunks, openAiEvent } from '../fakes/openai-wire.ts';
import { json, messageStream, pieces } from '../fakes/replies.ts';
import { HI, type Said, saying } from './said.ts';
import { type Stage, startStage, WIRES, type Wire } from './stage.ts';

let stage: Stage;
beforeAll(async () => {
  stage = await startStage();
});
afterAll(() => stage.close());

const MODES = ['whole', 'streamed'] as const;
type Mode = (typeof MODES)[number];
const WAYS = WIRES.flatMap((wire) => MODES.map((mode) => [wire, mode] as const));

async function heardByOpenAi(wire: Wire, mode: Mode, said: Said, headers?: Record<string, string>) {
  stage.upstream[wire].answer(saying(wire, said, mode === 'streamed'));
  const { completions } = stage.openai(wire, headers).chat;
  const ask = { model: 'm', messages: [HI] };
  if (mode === 'whole') return completions.create(ask);
  return completions.stream({ ...ask, stream_options: { include_usage: true } }).finalChatCompletion();
}

/** Counted so far: input, output, and what of the input was cached. */
function tokens(): Promise<readonly number[]> {
  const count = (type: string) => stage.gateway.metric('modelgateway_tokens_total', { type });
  return Promise.all([count('input'), count('output'), count('cached')]);
}

function heardByAnthropic(wire: Wire, mode: Mode, said: Said): Promise<Anthropic.Message> {
  stage.upstream[wire].answer(saying(wire, said, mode === 'streamed'));
  const { messages } = stage.anthropic(wire);
  const ask = { model: 'm', max_tokens: 10, messages: [HI] };
  return mode === 'whole' ? messages.create(ask) : messages.stream(ask).finalMessage();
}

describe.each(WAYS)('over the wire of %s, %s,', (wire, mode) => {
  const REASONS: Readonly<Record<Wire, readonly (readonly [reason: string, finish: string, stop: string])[]>> = {
    openai: [
      ['stop', 'stop', 'end_turn'],
      ['length', 'length', 'max_tokens'],
      ['content_filter', 'content_filter', 'refusal'],
    ],
    anthropic: [
      ['end_turn', 'stop', 'end_turn'],
      ['stop_sequence', 'stop', 'stop_sequence'],
      ['pause_turn', 'stop', 'pause_turn'],
      ['max_tokens', 'length', 'max_tokens'],
      ['model_context_window_exceeded', 'length', 'model_context_window_exceeded'],
      ['refusal', 'content_filter', 'refusal'],
    ],
  };
  it.each(REASONS[wire])('the reason %s is %s and %s', async (reason, finish, stop) => {
    const said = {
      openai: { text: 'So.', finishReason: reason },
      anthropic: { text: 'So.', stopReason: reason },
    };
    expect((await heardByOpenAi(wire, mode, said)).choices[0]?.finish_reason).toBe(finish);
    expect((await heardByAnthropic(wire, mode, said)).stop_reason).toBe(stop);
  });

  const COUNTED: Said = {
    openai: {
      usage: {
        prompt_tokens: 20,
        completion_tokens: 7,
        total_tokens: 27,
        prompt_tokens_details: { cached_tokens: 8 },
        completion_tokens_details: { reasoning_tokens: 5 },
      },
    },
    anthropic: {
      usage: { input_tokens: 9, output_tokens: 7, cache_read_input_tokens: 8, cache_creation_input_tokens: 3 },
    },
  };
  it('cached tokens are part of the prompt for the one SDK, and apart from it for the other', async () => {
    const before = await tokens();
    expect((await heardByOpenAi(wire, mode, COUNTED)).usage).toMatchObject({
      prompt_tokens: 20,
      completion_tokens: 7,
      total_tokens: 27,
      prompt_tokens_details: { cached_tokens: 8 },
      ...(wire === 'openai' && { completion_tokens_details: { reasoning_tokens: 5 } }),
    });
    const { usage } = await heardByAnthropic(wire, mode, COUNTED);
    expect(usage).toMatchObject({
      input_tokens: wire === 'openai' ? 12 : 9,
      output_tokens: 7,
      cache_read_input_tokens: 8,
      ...(wire === 'openai' && { output_tokens_details: { thinking_tokens: 5 } }),
    });
    expect(usage.cache_creation_input_tokens).toBe(wire === 'openai' ? 0 : 3);
    const after = await tokens();
    expect(after.map((count, index) => count - (before[index] ?? 0))).toEqual([40, 14, 16]);
  });

  const NO_INPUT: Said = {
    openai: { toolCalls: [{ id: 'call_1', name: 'get_time', arguments: '{}' }] },
    anthropic: { toolUses: [{ id: 'call_1', name: 'get_time', input: {} }] },
  };
  it('a call without arguments has arguments that parse', async () => {
    const { choices } = await heardByOpenAi(wire, mode, NO_INPUT);
    expect(choices[0]?.message.tool_calls).toMatchObject([
      { id: 'call_1', function: { name: 'get_time', arguments: '{}' } },
    ]);
    expect((await heardByAnthropic(wire, mode, NO_INPUT)).content).toMatchObject([
      { type: 'tool_use', id: 'call_1', name: 'get_time', input: {} },
    ]);
  });

  const UNUSUAL = 'a "quoted" \\ back\u2028slash\n😀 é\u0000';
  it('every character of the text arrives', async () => {
    const said = { openai: { text: UNUSUAL }, anthropic: { text: UNUSUAL } };
    expect((await heardByOpenAi(wire, mode, said)).choices[0]?.message.content).toBe(UNUSUAL);
    expect((await heardByAnthropic(wire, mode, said)).content).toMatchObject([{ type: 'text', text: UNUSUAL }]);
  });
});

describe('a call of whose arguments nothing is said', () => {
  const call = { id: 'call_1', name: 'get_time', input: {} };

  it('has arguments that parse for the openai SDK', async () => {
    const events = anthropicEventObjects({ toolUses: [call] }).filter(({ type }) => type !== 'content_block_delta');
    stage.upstream.anthropic.answer(pieces(events.map(anthropicEvent)));
    const stream = stage.openai('anthropic').chat.completions.stream({ model: 'm', messages: [HI] });
    const { choices } = await stream.finalChatCompletion();
    expect(choices[0]?.message.tool_calls).toMatchObject([{ function: { name: 'get_time', arguments: '{}' } }]);
  });

  it.each(MODES)('has an empty input for the anthropic SDK: %s', async (mode) => {
    const said = { openai: { toolCalls: [{ id: 'call_1', name: 'get_time', arguments: '' }] }, anthropic: {} };
    const { content, stop_reason: stop } = await heardByAnthropic('openai', mode, said);
    expect(content).toMatchObject([{ type: 'tool_use', ...call }]);
    expect(stop).toBe('tool_use');
  });
});

describe('thinking', () => {
  const THOUGHTS: Said = { openai: {}, anthropic: { thinking: 'Hm.', text: 'Good day.' } };
  const OPEN = { 'x-gateway-strict-vendor-compliance': 'false' };

  it.each(MODES)('is kept from the openai SDK: %s', async (mode) => {
    const answer = await heardByOpenAi('anthropic', mode, THOUGHTS);
    expect(answer.choices[0]?.message.content).toBe('Good day.');
    expect(JSON.stringify(answer)).not.toContain('Hm.');
  });

  it('is shown to the openai SDK with strict compliance off', async () => {
    const answer = await heardByOpenAi('anthropic', 'whole', THOUGHTS, OPEN);
    expect(answer.choices[0]?.message).toMatchObject({
      content: 'Good day.',
      content_blocks: [
        { type: 'thinking', thinking: 'Hm.', signature: 'c2lnbmF0dXJl' },
        { type: 'text', text: 'Good day.' },
      ],
    });
  });

  it('is shown to the openai SDK with strict compliance off, in deltas', async () => {
    stage.upstream.anthropic.answer(messageStream(THOUGHTS.anthropic));
    const ask = { model: 'm', messages: [HI], stream: true as const };
    const shown: unknown[] = [];
    let text = '';
    for await (const { choices } of await stage.openai('anthropic', OPEN).chat.completions.create(ask)) {
      const delta: { content?: string | null; content_blocks?: unknown[] } = choices[0]?.delta ?? {};
      shown.push(...(delta.content_blocks ?? []));
      text += delta.content ?? '';
    }
    expect(text).toBe('Good day.');
    expect(shown).toEqual([
      { index: 0, delta: { thinking: 'Hm.' } },
      { index: 0, delta: { signature: 'c2lnbmF0dXJl' } },
    ]);
  });

  it('that goes back with a tool call is heard by an upstream that knows it', async () => {
    const said: Said = { openai: {}, anthropic: { thinking: 'Hm.', toolUses: [{ id: 'c', name: 'f', input: {} }] } };
    const { choices } = await heardByOpenAi('anthropic', 'whole', said, OPEN);
    const assistant = choices[0]?.message;
    if (assistant === undefined) throw new Error('There was no answer.');
    const messages = [HI, assistant, { role: 'tool' as const, tool_call_id: 'c', content: 'noon' }];
    await stage.openai('anthropic', OPEN).chat.completions.create({ model: 'm', messages });
    expect(stage.upstream.anthropic.json(-1)['messages']).toEqual([
      HI,
      {
        role: 'assistant',
        content: [
          { type: 'thinking', thinking: 'Hm.', signature: 'c2lnbmF0dXJl' },
          { type: 'tool_use', id: 'c', name: 'f', input: {} },
        ],
      },
      { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'c', content: 'noon' }] },
    ]);
  });

  it.each(MODES)('in the words of other makers is thinking for the anthropic SDK: %s', async (mode) => {
    const [role, ...rest] = openAiChunks({ text: 'So.' });
    const thought = { ...role, choices: [{ index: 0, delta: { reasoning_content: 'Hm.' }, finish_reason: null }] };
    const whole = openAiChat({ text: 'So.' });
    const message = { ...whole.choices[0]?.message, reasoning_content: 'Hm.' };
    stage.upstream.openai.answer(
      mode === 'whole'
        ? json(200, { ...whole, choices: [{ ...whole.choices[0], message }] })
        : pieces([role ?? {}, thought, ...rest, '[DONE]'].map(openAiEvent)),
    );
    const ask = { model: 'm', max_tokens: 10, messages: [HI] };
    const { messages } = stage.anthropic('openai');
    const { content } = await (mode === 'whole' ? messages.create(ask) : messages.stream(ask).finalMessage());
    expect(content).toMatchObject([
      { type: 'thinking', thinking: 'Hm.' },
      { type: 'text', text: 'So.' },
    ]);
  });
});

describe('several choices with their probabilities', () => {
  const LOGPROBS = { content: [{ token: 'A', logprob: -0.5, bytes: [65], top_logprobs: [] }], refusal: null };
  const ask = { model: 'm', messages: [HI], n: 2, logprobs: true };

  it('are heard whole', async () => {
    const one = openAiChat({ text: 'A' });
    const choices = [0, 1].map((index) => ({ ...one.choices[0], index, logprobs: LOGPROBS }));
    stage.upstream.openai.answer(json(200, { ...one, choices }));
    const answer = await stage.openai('openai').chat.completions.create(ask);
    expect(answer.choices).toEqual(choices);
  });

  it('are heard streamed, though they finish apart', async () => {
    const [head] = openAiChunks({});
    const chunk = (index: number, delta: object, finish_reason: string | null = null) => ({
      ...head,
      choices: [{ index, delta, logprobs: 'content' in delta ? LOGPROBS : null, finish_reason }],
    });
    const chunks = [
      chunk(0, { role: 'assistant', content: 'A' }),
      chunk(0, {}, 'stop'),
      chunk(1, { role: 'assistant', content: 'B' }),
      chunk(1, { content: 'C' }),
      chunk(1, {}, 'length'),
    ];
    stage.upstream.openai.answer(pieces([...chunks, '[DONE]'].map(openAiEvent)));
    const answer = await stage.openai('openai').chat.completions.stream(ask).finalChatCompletion();
    expect(
      answer.choices.map(({ message, finish_reason, logprobs }) => [
        message.content,
        finish_reason,
        logprobs?.content?.length,
      ]),
    ).toEqual([
      ['A', 'stop', 1],
      ['BC', 'length', 2],
    ]);
  });
});
