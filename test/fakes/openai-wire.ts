/** Right answers of OpenAI's wire format, for scripted upstreams. */
export interface WireUsage {
  readonly prompt_tokens: number;
  readonly completion_tokens: number;
  readonly total_tokens: number;
  readonly prompt_tokens_details?: Readonly<Record<string, number | Readonly<Record<string, number>>>>;
  readonly completion_tokens_details?: Readonly<Record<string, number>>;
}

export interface WireToolCall {
  readonly id: string;
  readonly name: string;
  /** JSON text. */
  readonly arguments: string;
}

export interface OpenAiAnswer {
  readonly text?: string;
  readonly toolCalls?: readonly WireToolCall[];
  readonly usage?: WireUsage;
  readonly model?: string;
  readonly id?: string;
  readonly finishReason?: string;
  /** Streams: whether the usage chunk is sent; default true. */
  readonly includeUsage?: boolean;
}

export const DEFAULT_USAGE: WireUsage = { prompt_tokens: 9, completion_tokens: 12, total_tokens: 21 };
const CREATED = 1_700_000_000;

function finishReasonOf({ finishReason, toolCalls }: OpenAiAnswer): string {
  return finishReason ?? (toolCalls === undefined ? 'stop' : 'tool_calls');
}

function wireCalls(calls: readonly WireToolCall[]): object[] {
  return calls.map(({ id, name, arguments: text }) => ({ id, type: 'function', function: { name, arguments: text } }));
}

/** A chat completion: text `Hello!` unless told. */
export function openAiChat(answer: OpenAiAnswer = {}) {
  const { toolCalls, id = 'chatcmpl-1', model = 'gpt-test', usage = DEFAULT_USAGE } = answer;
  const content = answer.text ?? (toolCalls === undefined ? 'Hello!' : null);
  const message = { role: 'assistant', content, refusal: null };
  const full = toolCalls === undefined ? message : { ...message, tool_calls: wireCalls(toolCalls) };
  return {
    id,
    object: 'chat.completion',
    created: CREATED,
    model,
    choices: [{ index: 0, message: full, logprobs: null, finish_reason: finishReasonOf(answer) }],
    usage,
  };
}

/** A text completion. */
export function openAiCompletion(answer: OpenAiAnswer = {}) {
  const { text = 'Hello!', id = 'cmpl-1', model = 'gpt-test', usage = DEFAULT_USAGE } = answer;
  const choices = [{ text, index: 0, logprobs: null, finish_reason: finishReasonOf(answer) }];
  return { id, object: 'text_completion', created: CREATED, model, choices, usage };
}

/** An embedding answer with one vector for each given. */
export function openAiEmbedding(vectors: readonly (readonly number[])[] = [[0.6, 0.8]], model = 'embed-test') {
  const data = vectors.map((embedding, index) => ({ object: 'embedding', index, embedding }));
  return { object: 'list', model, data, usage: { prompt_tokens: 3, total_tokens: 3 } };
}

export function openAiError(message = 'It failed.', type = 'server_error', code: string | null = null) {
  return { error: { message, type, param: null, code } };
}

function textDeltas(text: string): object[] {
  return (text.match(/\S+\s*|^\s+/g) ?? []).map((content) => ({ content }));
}

/** Each call: its head, then its arguments in two pieces; calls one after the other. */
function toolDeltas(calls: readonly WireToolCall[]): object[] {
  return calls.flatMap(({ id, name, arguments: text }, index) => {
    const half = Math.ceil(text.length / 2);
    const piece = (part: string) => ({ tool_calls: [{ index, function: { arguments: part } }] });
    return [
      { tool_calls: [{ index, id, type: 'function', function: { name, arguments: '' } }] },
      piece(text.slice(0, half)),
      piece(text.slice(half)),
    ];
  });
}

/** The chunks of a stream: role, a chunk a word, tool calls, finish, usage. Without the end marker. */
export function openAiChunks(answer: OpenAiAnswer = {}): object[] {
  const { toolCalls = [], id = 'chatcmpl-1', model = 'gpt-test', usage = DEFAULT_USAGE } = answer;
  const text = answer.text ?? (answer.toolCalls === undefined ? 'Hello there, caller!' : '');
  const head = { id, object: 'chat.completion.chunk', created: CREATED, model };
  const chunk = (delta: object, finish_reason: string | null = null) => ({
    ...head,
    choices: [{ index: 0, delta, logprobs: null, finish_reason }],
  });
  return [
    chunk({ role: 'assistant', content: '' }),
    ...textDeltas(text).map((delta) => chunk(delta)),
    ...toolDeltas(toolCalls).map((delta) => chunk(delta)),
    chunk({}, finishReasonOf(answer)),
    ...(answer.includeUsage === false ? [] : [{ ...head, choices: [], usage }]),
  ];
}

/** The chunks of a text completion's stream. Without the end marker. */
export function openAiCompletionChunks(answer: OpenAiAnswer = {}): object[] {
  const { text = 'Hello there!', id = 'cmpl-1', model = 'gpt-test', usage = DEFAULT_USAGE } = answer;
  const head = { id, object: 'text_completion', created: CREATED, model };
  const chunk = (part: string, finish_reason: string | null = null) => ({
    ...head,
    choices: [{ text: part, index: 0, logprobs: null, finish_reason }],
  });
  return [
    ...(text.match(/\S+\s*|^\s+/g) ?? []).map((part) => chunk(part)),
    chunk('', finishReasonOf(answer)),
    ...(answer.includeUsage === false ? [] : [{ ...head, choices: [], usage }]),
  ];
}

/** One event on the wire. */
export function openAiEvent(data: object | string): string {
  return `data: ${typeof data === 'string' ? data : JSON.stringify(data)}\n\n`;
}

/** A finished stream on the wire, an item an event: what `openAiChunks` gives, and `[DONE]`. */
export function openAiEvents(answer: OpenAiAnswer = {}): string[] {
  return [...openAiChunks(answer), '[DONE]'].map(openAiEvent);
}
