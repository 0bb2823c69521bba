/** The SDKs' own stream helpers in all four combinations: events in order, streams that break, streams that are left. */
import Anthropic from '@anthropic-ai/sdk';
import OpenAI from 'openai';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { anthropicEvents } from '../fakes/anthropic-wire.ts';
import { openAiEvents } from '../fakes/openai-wire.ts';
import { pieces } from '../fakes/replies.ts';
import { waitFor } from '../fakes/wait-for.ts';
import { calls, HI, type Said, saying } from './said.ts';
import { COMBINATIONS, type Stage, startStage, type Wire } from './stage.ts';

let stage: Stage;
beforeAll(async () => {
  stage = await startStage();
});
afterAll(() => stage.close());

const ERRORS = { openai: OpenAI, anthropic: Anthropic } as const;
const ASK = { model: 'm', messages: [HI] };

/** What both helpers have in common, and what was heard of them. */
interface Helper {
  readonly texts: string[];
  readonly inputs: string[];
  abort(): void;
  /** Whole text at the end. */
  end(): Promise<string>;
}

const HELPERS: Readonly<Record<'openai' | 'anthropic', (wire: Wire) => Helper>> = {
  openai(wire) {
    const texts: string[] = [];
    const inputs: string[] = [];
    const stream = stage
      .openai(wire)
      .chat.completions.stream(ASK)
      .on('content', (delta) => texts.push(delta))
      .on('tool_calls.function.arguments.delta', ({ arguments_delta: delta }) => inputs.push(delta));
    const end = async () => (await stream.finalChatCompletion()).choices[0]?.message.content ?? '';
    return { texts, inputs, abort: () => stream.abort(), end };
  },
  anthropic(wire) {
    const texts: string[] = [];
    const inputs: string[] = [];
    const stream = stage
      .anthropic(wire)
      .messages.stream({ ...ASK, max_tokens: 10 })
      .on('text', (delta) => texts.push(delta))
      .on('inputJson', (delta) => inputs.push(delta));
    const end = async () => {
      const { content } = await stream.finalMessage();
      return content.map((block) => (block.type === 'text' ? block.text : '')).join('');
    };
    return { texts, inputs, abort: () => stream.abort(), end };
  },
};

function eventsOf(wire: Wire, said: Said): string[] {
  return wire === 'openai' ? openAiEvents(said.openai) : anthropicEvents(said.anthropic);
}

const WORDS: Said = { openai: { text: 'one two three' }, anthropic: { text: 'one two three' } };
const CALLS = calls(['Rome', 'Oslo'], 'Let me see. ');
/** Events after the last that says something: finish, usage and end marker; block stop, message delta and message stop. */
const CLOSING_EVENTS = 3;

describe.each(COMBINATIONS)('the helper of the %s SDK over the wire of %s', (sdk, wire) => {
  const failureOf = async (helper: Helper) => helper.end().catch((error: unknown) => error);

  it('hears each word once, in order', async () => {
    stage.upstream[wire].answer(saying(wire, WORDS, true));
    const helper = HELPERS[sdk](wire);
    expect(await helper.end()).toBe('one two three');
    expect(helper.texts.filter((text) => text !== '')).toEqual(['one ', 'two ', 'three']);
  });

  it('hears the arguments of two calls in pieces', async () => {
    stage.upstream[wire].answer(saying(wire, CALLS, true));
    const helper = HELPERS[sdk](wire);
    expect(await helper.end()).toBe('Let me see. ');
    expect(helper.inputs.join('')).toBe('{"city":"Rome"}{"city":"Oslo"}');
    expect(helper.inputs.filter((piece) => piece !== '')).toHaveLength(4);
  });

  it('hears the first word before the last is said', async () => {
    stage.upstream[wire].answer(pieces(eventsOf(wire, WORDS).slice(0, -CLOSING_EVENTS - 1), { ending: 'stall' }));
    const helper = HELPERS[sdk](wire);
    const failure = failureOf(helper);
    await waitFor(() => helper.texts.join('').startsWith('one '), 'the first word');
    helper.abort();
    expect(await failure).toBeInstanceOf(ERRORS[sdk].APIUserAbortError);
  });

  it('leaves, and so does the gateway upstream', async () => {
    const upstream = stage.upstream[wire];
    const before = upstream.calls.length;
    const cut = await stage.gateway.metric('modelgateway_requests_total', { status: '499' });
    upstream.answer(pieces(eventsOf(wire, WORDS).slice(0, -CLOSING_EVENTS - 1), { ending: 'stall' }));
    const helper = HELPERS[sdk](wire);
    const failure = failureOf(helper);
    await waitFor(() => helper.texts.join('') !== '', 'a word');
    helper.abort();
    expect(await failure).toBeInstanceOf(ERRORS[sdk].APIUserAbortError);
    await waitFor(() => upstream.calls[before]?.abortedAt !== undefined, 'the upstream call to be aborted');
    await waitFor(
      async () => (await stage.gateway.metric('modelgateway_requests_total', { status: '499' })) === cut + 1,
      'the request to be counted as left',
    );
  });

  it('leaves before anything is said', async () => {
    const upstream = stage.upstream[wire];
    const before = upstream.calls.length;
    upstream.answer(pieces([], { ending: 'stall' }));
    const helper = HELPERS[sdk](wire);
    const failure = failureOf(helper);
    await upstream.called(before + 1);
    helper.abort();
    expect(await failure).toBeInstanceOf(ERRORS[sdk].APIUserAbortError);
    await waitFor(() => upstream.calls[before]?.abortedAt !== undefined, 'the upstream call to be aborted');
  });

  it.each([
    ['in the middle of the text', WORDS, -CLOSING_EVENTS],
    ['in the middle of a call', CALLS, -CLOSING_EVENTS - 1],
    ['between two calls', CALLS, wire === 'openai' ? -CLOSING_EVENTS - 3 : -CLOSING_EVENTS - 4],
  ] as const)('throws where the upstream cuts it %s', async (_what, said, end) => {
    for (const ending of ['end', 'reset'] as const) {
      stage.upstream[wire].answer(pieces(eventsOf(wire, said).slice(0, end), { ending }));
      const failure = await failureOf(HELPERS[sdk](wire));
      expect(failure).toBeInstanceOf(ERRORS[sdk].APIError);
      expect(failure).not.toBeInstanceOf(ERRORS[sdk].APIUserAbortError);
    }
  });

  it('throws an error with a status where the upstream cuts it before the first event', async () => {
    stage.upstream[wire].answer(pieces([]));
    const failure = await failureOf(HELPERS[sdk](wire));
    expect(failure).toBeInstanceOf(ERRORS[sdk].InternalServerError);
    expect(failure).toMatchObject({ status: 502 });
  });

  it('says what the upstream said when it broke off', async () => {
    const events = eventsOf(wire, WORDS).slice(0, -CLOSING_EVENTS - 1);
    const last =
      wire === 'openai'
        ? 'data: {"error":{"message":"Too busy now.","type":"server_error","code":null,"param":null}}\n\n'
        : 'event: error\ndata: {"type":"error","error":{"type":"overloaded_error","message":"Too busy now."}}\n\n';
    stage.upstream[wire].answer(pieces([...events, last]));
    expect(String(await failureOf(HELPERS[sdk](wire)))).toContain('Too busy now.');
  });

  it('is content with a stream that finished without the end marker', async () => {
    stage.upstream[wire].answer(pieces(eventsOf(wire, WORDS).slice(0, -1)));
    expect(await HELPERS[sdk](wire).end()).toBe('one two three');
  });
});
