/** Streams from one dialect to the other, event by event, as the callers of each read them. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { HI, HI_MESSAGE, type Stage, startStage, target } from '../conformance/stage.ts';
import { anthropicEvents } from '../fakes/anthropic-wire.ts';
import { config } from '../fakes/objects.ts';
import { openAiEvent, openAiEvents } from '../fakes/openai-wire.ts';
import { pieces } from '../fakes/replies.ts';
import { readSse } from '../fakes/sse.ts';
import type { Upstream } from '../fakes/upstream.ts';

let stage: Stage;
beforeAll(async () => {
  stage = await startStage(1, ([upstream]) =>
    (['openai', 'anthropic'] as const)
      .flatMap((wire) => [
        config(wire, target(upstream as Upstream, { provider: wire })),
        config(`${wire}-open`, target(upstream as Upstream, { provider: wire, strict_vendor_compliance: false })),
      ])
      .join(''),
  );
});
afterAll(() => stage.close());

type Json = Record<string, unknown>;

async function chunks(parts: readonly string[], more: object = {}, name = 'anthropic'): Promise<Json[]> {
  stage.at(0).answer(pieces(parts));
  const response = await stage.gateway.chat({ ...HI, stream: true, ...more }, { 'x-gateway-config': name });
  const { events } = await readSse(response);
  expect(response.headers.get('content-type')).toContain('text/event-stream');
  expect(events.at(-1)?.data).toBe('[DONE]');
  return events.slice(0, -1).map(({ data }) => JSON.parse(data) as Json);
}

async function messages(
  parts: readonly string[],
  more: object = {},
): Promise<{ event: string | undefined; data: Json }[]> {
  stage.at(0).answer(pieces(parts));
  const headers = { 'x-gateway-config': 'openai' };
  const response = await stage.gateway.post('/v1/messages', { ...HI_MESSAGE, stream: true, ...more }, headers);
  const { events } = await readSse(response);
  return events.map(({ event, data }) => ({ event, data: JSON.parse(data) as Json }));
}

const choice = (chunk: Json | undefined) => (chunk?.['choices'] as Json[] | undefined)?.[0] ?? {};
const deltas = (all: readonly Json[]) =>
  all.map((chunk) => choice(chunk)['delta'] as Json | undefined).filter((delta) => delta !== undefined);

describe('Anthropic’s events for a caller of OpenAI’s', () => {
  it('are chunks of one completion', async () => {
    const all = await chunks(anthropicEvents({ text: 'one two', id: 'msg_9', model: 'claude-x' }));
    expect(new Set(all.map(({ id }) => id)).size).toBe(1);
    expect(new Set(all.map(({ created }) => created)).size).toBe(1);
    for (const chunk of all) expect(chunk).toMatchObject({ object: 'chat.completion.chunk', model: 'claude-x' });
    expect(deltas(all)[0]).toMatchObject({ role: 'assistant' });
    expect(
      deltas(all)
        .map(({ content }) => content ?? '')
        .join(''),
    ).toBe('one two');
    expect(choice(all.at(-1))['finish_reason']).toBe('stop');
    expect(all.slice(0, -1).every((chunk) => choice(chunk)['finish_reason'] === null)).toBe(true);
  });

  it.each([
    ['end_turn', 'stop'],
    ['stop_sequence', 'stop'],
    ['max_tokens', 'length'],
    ['tool_use', 'tool_calls'],
    ['refusal', 'content_filter'],
    ['model_context_window_exceeded', 'length'],
  ])('end with %s as %s', async (stopReason, finish) => {
    const all = await chunks(anthropicEvents({ text: 'x', stopReason }));
    expect(choice(all.at(-1))['finish_reason']).toBe(finish);
  });

  it('number the calls of tools from 0, and give their arguments in pieces', async () => {
    const toolUses = [
      { id: 'a', name: 'f', input: { city: 'Rome' } },
      { id: 'b', name: 'g', input: {} },
    ];
    const all = await chunks(anthropicEvents({ text: 'Let me see.', toolUses }));
    const calls = deltas(all).flatMap((delta) => (delta['tool_calls'] as Json[] | undefined) ?? []);
    const heads = calls.filter((call) => call['id'] !== undefined);
    expect(heads).toMatchObject([
      { index: 0, id: 'a', type: 'function', function: { name: 'f' } },
      { index: 1, id: 'b', type: 'function', function: { name: 'g' } },
    ]);
    const args = (index: number) =>
      calls
        .filter((call) => call['index'] === index)
        .map((call) => (call['function'] as Json)['arguments'] ?? '')
        .join('');
    expect(JSON.parse(args(0))).toEqual({ city: 'Rome' });
    expect(JSON.parse(args(1) || '{}')).toEqual({});
  });

  it('tell usage in a last chunk of its own, to who asked', async () => {
    const usage = { input_tokens: 10, output_tokens: 5, cache_read_input_tokens: 3, cache_creation_input_tokens: 2 };
    const all = await chunks(anthropicEvents({ text: 'x', usage }), { stream_options: { include_usage: true } });
    expect(all.at(-1)).toMatchObject({
      choices: [],
      usage: { prompt_tokens: 15, completion_tokens: 5, total_tokens: 20, prompt_tokens_details: { cached_tokens: 3 } },
    });
    const others = await chunks(anthropicEvents({ text: 'x', usage }));
    expect(JSON.stringify(others)).not.toContain('prompt_tokens');
  });

  it('show thinking only with strict compliance off', async () => {
    const wire = anthropicEvents({ thinking: 'Hm.', text: 'x' });
    expect(JSON.stringify(await chunks(wire))).not.toMatch(/Hm\.|content_blocks/);
    const open = JSON.stringify(await chunks(wire, {}, 'anthropic-open'));
    expect(open).toContain('content_blocks');
    expect(open).toContain('Hm.');
  });

  it('may hold pings and events of kinds that are yet to come', async () => {
    const wire = anthropicEvents({ text: 'one two' });
    const odd = ['event: ping\ndata: {"type":"ping"}\n\n', 'event: new_thing\ndata: {"type":"new_thing","x":1}\n\n'];
    const all = await chunks([...wire.slice(0, 3), ...odd, ...wire.slice(3)]);
    expect(
      deltas(all)
        .map(({ content }) => content ?? '')
        .join(''),
    ).toBe('one two');
  });
});

describe('OpenAI’s chunks for a caller of Anthropic’s', () => {
  it('are the events of one message, in their order', async () => {
    const all = await messages(openAiEvents({ text: 'one two', model: 'gpt-x' }));
    const kinds = all.map(({ event }) => event).filter((kind) => kind !== 'ping' && kind !== 'content_block_delta');
    expect(kinds).toEqual([
      'message_start',
      'content_block_start',
      'content_block_stop',
      'message_delta',
      'message_stop',
    ]);
    for (const { event, data } of all) expect(data['type']).toBe(event);
    expect(all[0]?.data).toMatchObject({
      message: { type: 'message', role: 'assistant', model: 'gpt-x', content: [], stop_reason: null },
    });
    const words = all
      .filter(({ event }) => event === 'content_block_delta')
      .map(({ data }) => (data['delta'] as Json)['text']);
    expect(words.join('')).toBe('one two');
  });

  it.each([
    ['stop', 'end_turn'],
    ['length', 'max_tokens'],
    ['tool_calls', 'tool_use'],
    ['content_filter', 'refusal'],
  ])('end with %s as %s', async (finishReason, stop) => {
    const all = await messages(openAiEvents({ text: 'x', finishReason }));
    const end = all.find(({ event }) => event === 'message_delta');
    expect(end?.data).toMatchObject({ delta: { stop_reason: stop }, usage: { output_tokens: 12 } });
  });

  it('make a block of each call, one after the other', async () => {
    const toolCalls = [
      { id: 'a', name: 'f', arguments: '{"city":"Rome"}' },
      { id: 'b', name: 'g', arguments: '{}' },
    ];
    const all = await messages(openAiEvents({ text: 'Let me see.', toolCalls }));
    const starts = all.filter(({ event }) => event === 'content_block_start').map(({ data }) => data);
    expect(starts).toMatchObject([
      { index: 0, content_block: { type: 'text' } },
      { index: 1, content_block: { type: 'tool_use', id: 'a', name: 'f', input: {} } },
      { index: 2, content_block: { type: 'tool_use', id: 'b', name: 'g', input: {} } },
    ]);
    const json = (index: number) =>
      all
        .filter(({ event, data }) => event === 'content_block_delta' && data['index'] === index)
        .map(({ data }) => (data['delta'] as Json)['partial_json'] ?? '')
        .join('');
    expect(JSON.parse(json(1))).toEqual({ city: 'Rome' });
    const open = new Set<unknown>();
    for (const { event, data } of all) {
      if (event === 'content_block_start') {
        expect(open.size).toBe(0);
        open.add(data['index']);
      }
      if (event === 'content_block_stop') open.delete(data['index']);
    }
    expect(open.size).toBe(0);
  });

  it('ask the upstream for usage', async () => {
    await messages(openAiEvents());
    expect(stage.at(0).json(-1)).toMatchObject({ stream: true, stream_options: { include_usage: true } });
  });

  it('may end without an end marker, once every choice has finished', async () => {
    const finished = openAiEvent({
      id: 'x',
      model: 'm',
      choices: [{ index: 0, delta: { content: 'a' }, finish_reason: 'stop' }],
    });
    expect((await messages([finished])).at(-1)?.event).toBe('message_stop');
  });

  it('that break off end with an error event of Anthropic’s', async () => {
    const all = await messages(openAiEvents({ text: 'one two three' }).slice(0, 3));
    expect(all.at(-1)).toMatchObject({
      event: 'error',
      data: { type: 'error', error: { type: expect.any(String), message: expect.any(String) } },
    });
    expect(all.map(({ event }) => event)).not.toContain('message_stop');
  });
});
