/** OpenAI's chat: the whole, and its chunks. */
import { isJson } from '../../dialects/json-shape.ts';
import { inShownOrder } from '../../dialects/messages/block-order.ts';
import type { Json } from '../../providers/provider.ts';
import { without } from './added-up.ts';
import type { AnswerForm } from './answer-form.ts';
import { ChatMessage } from './chat-message.ts';
import { ChunkBuilder } from './chunk-builder.ts';
import { chunksText } from './chunks-text.ts';

export const chatForm: AnswerForm = {
  builder: () => new ChunkBuilder('chat.completion', () => new ChatMessage()),
  replay: (answer, wantsUsage) => chunksText(answer, 'chat.completion.chunk', wantsUsage, piecesOf),
};

/** Said in an order of their own. */
const ORDERED_FIELDS = new Set(['role', 'content', 'tool_calls', 'content_blocks']);
const CHOICE_FIELDS = new Set(['index', 'message', 'logprobs', 'finish_reason']);

function piecesOf(choice: Json): Json[] | undefined {
  const { message, finish_reason } = choice;
  if (!isJson(message)) return undefined;
  const deltas = [opening(message), ...saidDeltas(message)];
  const logprobs = choice['logprobs'] ?? null;
  const pieces = deltas.map((delta): Json => ({ delta, logprobs: null, finish_reason: null }));
  const last = { delta: {}, logprobs: null, finish_reason, ...without(choice, CHOICE_FIELDS) };
  return [...pieces, ...(logprobs === null ? [] : [{ delta: {}, logprobs, finish_reason: null }]), last];
}

/** As most servers begin: the role and, where text follows, an empty one. All fields that need no order come along. */
function opening(message: Json): Json {
  const rest = without(message, ORDERED_FIELDS);
  return { role: message['role'], content: typeof message['content'] === 'string' ? '' : null, ...rest };
}

/** Thinking, text and calls in the order of the message's blocks. */
function saidDeltas({ content, tool_calls: calls, content_blocks: shown }: Json): Json[] {
  const texts = typeof content === 'string' && content !== '' ? [{ type: 'text', text: content }] : [];
  const said = Array.isArray(calls) ? calls.filter(isJson) : [];
  return inShownOrder(shown, texts, said).flatMap((block, index) => {
    const call = said.indexOf(block);
    return call < 0 ? shownDeltas(block, index) : [{ tool_calls: [{ index: call, ...block }] }];
  });
}

type ShownWriter = (block: Json, index: number) => Json[];

const SHOWN: ReadonlyMap<unknown, ShownWriter> = new Map<unknown, ShownWriter>([
  ['text', ({ text }) => [{ content: text }]],
  ['redacted_thinking', (block, index) => [{ content_blocks: [{ index, content_block: block }] }]],
  [
    'thinking',
    ({ thinking, signature }, index) => [
      { content_blocks: [{ index, delta: { thinking } }] },
      { content_blocks: [{ index, delta: { signature } }] },
    ],
  ],
]);

function shownDeltas(block: Json, index: number): Json[] {
  return SHOWN.get(block['type'])?.(block, index) ?? [];
}
