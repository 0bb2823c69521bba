/** Right answers of Anthropic's messages format, for scripted upstreams. */
export interface AnthropicToolUse {
  readonly id: string;
  readonly name: string;
  readonly input: Readonly<Record<string, unknown>>;
}

export interface AnthropicUsage {
  readonly input_tokens: number;
  readonly output_tokens: number;
  readonly cache_read_input_tokens?: number;
  readonly cache_creation_input_tokens?: number;
  readonly cache_creation?: Readonly<Record<string, number>>;
  readonly output_tokens_details?: Readonly<Record<string, number>>;
}

export interface AnthropicAnswer {
  readonly thinking?: string;
  readonly text?: string;
  readonly toolUses?: readonly AnthropicToolUse[];
  readonly usage?: AnthropicUsage;
  readonly model?: string;
  readonly id?: string;
  readonly stopReason?: string;
}

export const ANTHROPIC_USAGE: AnthropicUsage = { input_tokens: 9, output_tokens: 12 };

type Block = { readonly type: string } & Readonly<Record<string, unknown>>;

function blocksOf({ thinking, text, toolUses }: AnthropicAnswer): Block[] {
  const said = text ?? (toolUses === undefined ? 'Hello!' : undefined);
  return [
    ...(thinking === undefined ? [] : [{ type: 'thinking', thinking, signature: 'c2lnbmF0dXJl' }]),
    ...(said === undefined ? [] : [{ type: 'text', text: said }]),
    ...(toolUses ?? []).map(({ id, name, input }) => ({ type: 'tool_use', id, name, input })),
  ];
}

function stopReasonOf({ stopReason, toolUses }: AnthropicAnswer): string {
  return stopReason ?? (toolUses === undefined ? 'end_turn' : 'tool_use');
}

/** A whole message: text `Hello!` unless told. */
export function anthropicMessage(answer: AnthropicAnswer = {}) {
  const { id = 'msg_1', model = 'claude-test', usage = ANTHROPIC_USAGE } = answer;
  return {
    id,
    type: 'message',
    role: 'assistant',
    model,
    content: blocksOf(answer),
    stop_reason: stopReasonOf(answer),
    stop_sequence: null,
    usage,
  };
}

export function anthropicError(type = 'api_error', message = 'It failed.') {
  return { type: 'error', error: { type, message }, request_id: 'req_1' };
}

/** The block as it starts, and the deltas that fill it. */
const STREAMED: Readonly<Record<string, (block: Block) => { start: object; deltas: object[] }>> = {
  thinking: ({ thinking, signature }) => ({
    start: { type: 'thinking', thinking: '', signature: '' },
    deltas: [
      { type: 'thinking_delta', thinking },
      { type: 'signature_delta', signature },
    ],
  }),
  text: ({ text }) => ({
    start: { type: 'text', text: '' },
    deltas: (String(text).match(/\S+\s*|^\s+/g) ?? []).map((part) => ({ type: 'text_delta', text: part })),
  }),
  tool_use: ({ type, id, name, input }) => {
    const json = JSON.stringify(input);
    const half = Math.ceil(json.length / 2);
    const pieces = ['', json.slice(0, half), json.slice(half)];
    return {
      start: { type, id, name, input: {} },
      deltas: pieces.map((partial_json) => ({ type: 'input_json_delta', partial_json })),
    };
  },
};

/** What each event says, in order, `message_stop` included. */
export function anthropicEventObjects(answer: AnthropicAnswer = {}): Block[] {
  const usage = answer.usage ?? ANTHROPIC_USAGE;
  const started = { ...anthropicMessage(answer), content: [], stop_reason: null };
  const blocks = blocksOf(answer).flatMap((block, index): Block[] => {
    const streamed = STREAMED[block.type]?.(block) ?? { start: block, deltas: [] };
    return [
      { type: 'content_block_start', index, content_block: streamed.start },
      ...streamed.deltas.map((delta) => ({ type: 'content_block_delta', index, delta })),
      { type: 'content_block_stop', index },
    ];
  });
  return [
    { type: 'message_start', message: { ...started, usage: { ...usage, output_tokens: 1 } } },
    { type: 'ping' },
    ...blocks,
    {
      type: 'message_delta',
      delta: { stop_reason: stopReasonOf(answer), stop_sequence: null },
      usage: { output_tokens: usage.output_tokens },
    },
    { type: 'message_stop' },
  ];
}

/** One event on the wire. */
export function anthropicEvent(event: Block): string {
  return `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`;
}

/** A finished stream on the wire, an item an event. */
export function anthropicEvents(answer: AnthropicAnswer = {}): string[] {
  return anthropicEventObjects(answer).map(anthropicEvent);
}
