/** Message -> chat completion. */
import { isJson } from '../../dialects/json-shape.ts';
import { hubUsage } from '../../dialects/messages/usage.ts';
import type { Json, TranslateOptions } from '../provider.ts';
import { upstreamInvalid } from './problem.ts';

const FINISH_REASONS: Readonly<Record<string, string>> = {
  end_turn: 'stop',
  stop_sequence: 'stop',
  pause_turn: 'stop',
  max_tokens: 'length',
  model_context_window_exceeded: 'length',
  tool_use: 'tool_calls',
  refusal: 'content_filter',
};

/** A reason that the provider adds later is an end like any other. */
export function finishReason(stopReason: unknown): string {
  return typeof stopReason === 'string' && Object.hasOwn(FINISH_REASONS, stopReason)
    ? (FINISH_REASONS[stopReason] ?? 'stop')
    : 'stop';
}

/** Throws `upstream_invalid` where the answer is no message. */
export function decodeAnswer(answer: Json, options: TranslateOptions): Json {
  const { id, model, content, usage } = answer;
  if (typeof id !== 'string' || typeof model !== 'string') throw upstreamInvalid('answered without id or model');
  if (!Array.isArray(content) || !content.every(isJson))
    throw upstreamInvalid('answered without a list of content blocks');
  if (!isJson(usage)) throw upstreamInvalid('answered without usage');
  return {
    id,
    object: 'chat.completion',
    created: Math.floor(Date.now() / 1000),
    model,
    choices: [
      {
        index: 0,
        message: decodeMessage(content, options),
        logprobs: null,
        finish_reason: finishReason(answer.stop_reason),
      },
    ],
    usage: hubUsage(usage),
  };
}

function decodeMessage(blocks: readonly Json[], { strict }: TranslateOptions): Json {
  const toolCalls = blocks.filter((block) => block.type === 'tool_use').map(toolCall);
  const text = blocks
    .filter((block) => block.type === 'text')
    .map(textOf)
    .join('');
  return {
    role: 'assistant',
    content: text === '' && toolCalls.length > 0 ? null : text,
    refusal: null,
    ...(toolCalls.length > 0 && { tool_calls: toolCalls }),
    ...(!strict && { content_blocks: blocks.flatMap(shownBlock) }),
  };
}

function textOf(block: Json): string {
  if (typeof block.text !== 'string') throw upstreamInvalid('answered with a text block that has no text');
  return block.text;
}

function toolCall(block: Json): Json {
  if (typeof block.id !== 'string' || typeof block.name !== 'string') {
    throw upstreamInvalid('answered with a tool_use block that has no id or name');
  }
  return {
    id: block.id,
    type: 'function',
    function: { name: block.name, arguments: JSON.stringify(block.input ?? {}) },
  };
}

/** All that a caller has to give back for a tool loop with thinking to go on: order matters, so calls are shown too. */
const SHOWN: Readonly<Record<string, (block: Json) => Json>> = {
  text: ({ text }) => ({ type: 'text', text }),
  thinking: ({ thinking, signature }) => ({ type: 'thinking', thinking, signature }),
  redacted_thinking: ({ data }) => ({ type: 'redacted_thinking', data }),
  tool_use: ({ id, name, input }) => ({ type: 'tool_use', id, name, input: input ?? {} }),
};

function shownBlock(block: Json): Json[] {
  const show = typeof block.type === 'string' && Object.hasOwn(SHOWN, block.type) ? SHOWN[block.type] : undefined;
  return show === undefined ? [] : [show(block)];
}
