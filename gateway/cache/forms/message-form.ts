/** Anthropic's messages: the whole, and its events. */
import { isJson } from '../../dialects/json-shape.ts';
import { eventText } from '../../dialects/messages/block-queue.ts';
import type { Json } from '../../providers/provider.ts';
import type { AnswerForm } from './answer-form.ts';
import { MessageBuilder } from './message-builder.ts';

export const messageForm: AnswerForm = {
  builder: () => new MessageBuilder(),
  replay,
};

/** Told at the end, null until then. */
const LATE_FIELDS = ['stop_reason', 'stop_sequence', 'stop_details', 'container'] as const;
const LATE_COUNTS = [
  'input_tokens',
  'cache_creation_input_tokens',
  'cache_read_input_tokens',
  'output_tokens',
  'output_tokens_details',
  'server_tool_use',
] as const;

function replay(message: Json): string | undefined {
  const { content, usage } = message;
  if (!Array.isArray(content) || !content.every(isJson) || !isJson(usage)) return undefined;
  const late = picked(message, LATE_FIELDS);
  const start = { ...message, ...nulls(late), content: [], usage };
  const blocks = content.map(blockText).join('');
  return (
    eventText({ type: 'message_start', message: start }) +
    blocks +
    eventText({ type: 'message_delta', delta: late, usage: picked(usage, LATE_COUNTS) }) +
    eventText({ type: 'message_stop' })
  );
}

function blockText(block: Json, index: number): string {
  const { start, deltas } = opened(block);
  let text = eventText({ type: 'content_block_start', index, content_block: start });
  for (const delta of deltas) text += eventText({ type: 'content_block_delta', index, delta });
  return text + eventText({ type: 'content_block_stop', index });
}

interface OpenedBlock {
  readonly start: Json;
  readonly deltas: readonly Json[];
}

const OPENERS: ReadonlyMap<unknown, (block: Json) => OpenedBlock> = new Map([
  ['text', openText],
  ['thinking', openThinking],
  ['tool_use', openCall],
  ['server_tool_use', openCall],
  ['mcp_tool_use', openCall],
]);

/** Blocks of other types come whole. */
function opened(block: Json): OpenedBlock {
  return OPENERS.get(block['type'])?.(block) ?? { start: block, deltas: [] };
}

function openText(block: Json): OpenedBlock {
  const { text, citations } = block;
  const cited = Array.isArray(citations) ? citations : [];
  const start = { ...block, text: '', ...(Array.isArray(citations) && { citations: [] }) };
  const deltas = cited.map((citation): Json => ({ type: 'citations_delta', citation }));
  return { start, deltas: text === '' ? deltas : [{ type: 'text_delta', text }, ...deltas] };
}

function openThinking(block: Json): OpenedBlock {
  const { thinking, signature } = block;
  return {
    start: { ...block, thinking: '', signature: '' },
    deltas: [
      { type: 'thinking_delta', thinking },
      { type: 'signature_delta', signature },
    ].filter(({ thinking: said, signature: signed }) => (said ?? signed ?? '') !== ''),
  };
}

function openCall(block: Json): OpenedBlock {
  return {
    start: { ...block, input: {} },
    deltas: [{ type: 'input_json_delta', partial_json: JSON.stringify(block['input'] ?? {}) }],
  };
}

function picked(from: Json, fields: readonly string[]): Json {
  const some: Json = {};
  for (const field of fields) if (Object.hasOwn(from, field)) some[field] = from[field];
  return some;
}

function nulls(fields: Json): Json {
  return Object.fromEntries(Object.keys(fields).map((field) => [field, null]));
}
