/** Replays, read by the official SDKs. */
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import Anthropic from '@anthropic-ai/sdk';
import fc from 'fast-check';
import OpenAI from 'openai';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ANSWER_FORMS } from '#gateway/cache/forms/forms.ts';
import type { Json } from '#gateway/providers/provider.ts';
import { chatAnswer, completionAnswer, messageAnswer } from './answers.ts';

/** What the server answers next. */
let stream = '';
let server: Server;
let openai: OpenAI;
let anthropic: Anthropic;

beforeAll(async () => {
  server = createServer((request, response) => {
    request.resume();
    response.writeHead(200, { 'content-type': 'text/event-stream' }).end(stream);
  }).listen(0, '127.0.0.1');
  await new Promise((resolve) => server.once('listening', resolve));
  const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  openai = new OpenAI({ baseURL: `${origin}/v1`, apiKey: 'key', maxRetries: 0 });
  anthropic = new Anthropic({ baseURL: origin, apiKey: 'key', maxRetries: 0 });
});
afterAll(() => new Promise((resolve) => server.close(resolve)));

function replayed(type: string, answer: Json, wantsUsage: boolean): void {
  stream = ANSWER_FORMS.get(type)?.replay(answer, wantsUsage) ?? '';
}

const PARAMS = { model: 'any', messages: [{ role: 'user' as const, content: 'Hi' }] };

describe('a replayed chat completion', () => {
  it('is to the SDK what the whole answer says', async () => {
    await fc.assert(
      fc.asyncProperty(chatAnswer, async (answer) => {
        replayed('chatComplete', answer, true);
        const heard = await openai.chat.completions
          .stream({ ...PARAMS, stream_options: { include_usage: true } })
          .finalChatCompletion()
          .catch(expectedRefusal);
        if (heard === undefined) return;
        expect(heard.id).toBe(answer.id);
        expect(heard.usage ?? undefined).toEqual(answer.usage);
        for (const [index, choice] of answer.choices.entries()) {
          const { message, finish_reason, logprobs } = heard.choices[index] ?? {};
          expect(finish_reason).toBe(choice.finish_reason);
          expect(logprobs ?? null).toEqual(choice.logprobs);
          expect(message?.content ?? '').toBe(choice.message.content ?? '');
          expect(message?.refusal ?? '').toBe(choice.message.refusal ?? '');
          expect(callsOf(message)).toEqual(callsOf(choice.message));
        }
      }),
      { numRuns: 60 },
    );
  });

  it('shows usage to whoever asked alone', async () => {
    const answer = {
      ...fc.sample(chatAnswer, 1)[0],
      usage: { prompt_tokens: 1, completion_tokens: 2, total_tokens: 3 },
    };
    for (const include_usage of [true, false]) {
      replayed('chatComplete', answer, include_usage);
      const chunks = await openai.chat.completions.create({
        ...PARAMS,
        stream: true,
        stream_options: { include_usage },
      });
      const told: unknown[] = [];
      for await (const chunk of chunks) if (chunk.usage !== undefined) told.push(chunk.usage);
      expect(told.at(-1)).toEqual(include_usage ? answer.usage : undefined);
      expect(told.slice(0, -1).every((usage) => usage === null)).toBe(true);
    }
  });
});

/** The SDK's own helper refuses answers that its caller must not take for whole. */
function expectedRefusal(error: Error): undefined {
  expect(error.constructor.name).toMatch(/^(?:LengthFinishReasonError|ContentFilterFinishReasonError)$/);
}

function callsOf(message: object | undefined): unknown[] {
  const calls = message !== undefined && 'tool_calls' in message ? message.tool_calls : undefined;
  return ((calls ?? []) as OpenAI.ChatCompletionMessageFunctionToolCall[]).map(
    ({ id, function: { name, arguments: text } }) => [id, name, text],
  );
}

describe('a replayed text completion', () => {
  it('is to the SDK what the whole answer says', async () => {
    await fc.assert(
      fc.asyncProperty(completionAnswer, async (answer) => {
        replayed('complete', answer, true);
        const chunks = await openai.completions.create({ model: 'any', prompt: 'Hi', stream: true });
        const texts = answer.choices.map(() => '');
        const finished: unknown[] = [];
        for await (const chunk of chunks) {
          for (const { index, text, finish_reason } of chunk.choices) {
            texts[index] += text;
            if (finish_reason !== null) finished[index] = finish_reason;
          }
        }
        expect(texts).toEqual(answer.choices.map(({ text }) => text));
        expect(finished).toEqual(answer.choices.map(({ finish_reason }) => finish_reason));
      }),
      { numRuns: 30 },
    );
  });
});

describe('a replayed message', () => {
  it('is to the SDK what the whole answer says', async () => {
    await fc.assert(
      fc.asyncProperty(messageAnswer, async (answer) => {
        replayed('messages', answer, false);
        const heard = await anthropic.beta.messages.stream({ ...PARAMS, max_tokens: 10 }).finalMessage();
        const { content, id, stop_reason, stop_sequence, usage } = heard;
        expect([id, stop_reason, stop_sequence]).toEqual([answer.id, answer.stop_reason, answer.stop_sequence]);
        expect(usage).toMatchObject(answer.usage);
        expect(JSON.parse(JSON.stringify(content))).toEqual(answer.content);
      }),
      { numRuns: 60 },
    );
  });
});
