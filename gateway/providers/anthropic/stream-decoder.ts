/** Message stream events -> chat completion chunks. */
import { isJson } from '../../dialects/json-shape.ts';
import { hubUsage, mergeUsage } from '../../dialects/messages/usage.ts';
import type { Json, ServerSentEvent, StreamDecoder, TranslateOptions, Usage } from '../provider.ts';
import { finishReason } from './decode-answer.ts';
import { streamError, upstreamInvalid } from './problem.ts';

interface OpenBlock {
  readonly type: unknown;
  /** Position among the tool calls. */
  readonly callIndex: number;
  /** What the block said when it began, for servers that send no arguments later. */
  readonly input: unknown;
  hasArguments: boolean;
}

const NO_CHUNKS: readonly Json[] = [];

/** The usage chunk (`choices: []`) is always given, last; whether the caller sees it is decided elsewhere. */
export class MessageStreamDecoder implements StreamDecoder {
  finished = false;
  readonly #strict: boolean;
  readonly #blocks = new Map<unknown, OpenBlock>();
  #head: Json | undefined;
  #counts: Json | undefined;
  #calls = 0;
  #hasReason = false;

  constructor(options: TranslateOptions) {
    this.#strict = options.strict;
  }

  get usage(): Usage | undefined {
    return this.#counts === undefined ? undefined : hubUsage(this.#counts);
  }

  mayEnd(): boolean {
    return this.#hasReason;
  }

  end(): readonly Json[] {
    return this.stop();
  }

  decode(event: ServerSentEvent): readonly Json[] {
    if (this.finished) return NO_CHUNKS;
    const body = parse(event.data);
    const read = typeof body.type === 'string' && Object.hasOwn(EVENTS, body.type) ? EVENTS[body.type] : undefined;
    return read === undefined ? NO_CHUNKS : read(this, body);
  }

  start({ message }: Json): readonly Json[] {
    if (this.#head !== undefined) throw upstreamInvalid('began its message twice');
    if (!isJson(message) || typeof message.id !== 'string' || typeof message.model !== 'string') {
      throw upstreamInvalid('sent a message_start without id or model');
    }
    const created = Math.floor(Date.now() / 1000);
    this.#head = { id: message.id, object: 'chat.completion.chunk', created, model: message.model };
    if (isJson(message.usage)) this.#counts = message.usage;
    return this.#delta({ role: 'assistant', content: '' });
  }

  startBlock({ index, content_block: block }: Json): readonly Json[] {
    if (!isJson(block)) throw upstreamInvalid('sent a content_block_start without a block');
    const isCall = block.type === 'tool_use';
    this.#blocks.set(index, {
      type: block.type,
      callIndex: isCall ? this.#calls++ : -1,
      input: block.input,
      hasArguments: false,
    });
    if (isCall) return this.#startCall(block, this.#calls - 1);
    if (block.type === 'text') return this.text(block.text ?? '');
    if (block.type === 'thinking') return block.thinking ? this.thinking(index, 'thinking', block.thinking) : NO_CHUNKS;
    if (block.type !== 'redacted_thinking' || this.#strict) return NO_CHUNKS;
    return this.#delta({ content_blocks: [{ index, content_block: { type: block.type, data: block.data } }] });
  }

  #startCall(block: Json, index: number): readonly Json[] {
    if (typeof block.id !== 'string' || typeof block.name !== 'string') {
      throw upstreamInvalid('sent a tool_use block without id or name');
    }
    const called = { name: block.name, arguments: '' };
    return this.#delta({ tool_calls: [{ index, id: block.id, type: 'function', function: called }] });
  }

  continueBlock({ index, delta }: Json): readonly Json[] {
    const block = this.#blocks.get(index);
    if (block === undefined || !isJson(delta)) throw upstreamInvalid('sent a delta that belongs to no content block');
    const read = typeof delta.type === 'string' && Object.hasOwn(DELTAS, delta.type) ? DELTAS[delta.type] : undefined;
    return read === undefined ? NO_CHUNKS : read(this, delta, index, block);
  }

  text(text: unknown): readonly Json[] {
    if (typeof text !== 'string') throw upstreamInvalid('sent text that is not a string');
    return text === '' ? NO_CHUNKS : this.#delta({ content: text });
  }

  thinking(index: unknown, field: 'thinking' | 'signature', value: unknown): readonly Json[] {
    if (typeof value !== 'string') throw upstreamInvalid(`sent a ${field} that is not a string`);
    return this.#strict ? NO_CHUNKS : this.#delta({ content_blocks: [{ index, delta: { [field]: value } }] });
  }

  arguments(fragment: unknown, block: OpenBlock): readonly Json[] {
    if (typeof fragment !== 'string') throw upstreamInvalid('sent tool input that is not a string');
    if (fragment === '' || block.type !== 'tool_use') return NO_CHUNKS;
    block.hasArguments = true;
    return this.#delta({ tool_calls: [{ index: block.callIndex, function: { arguments: fragment } }] });
  }

  /** A call without arguments is said to have none, `{}`, because callers parse what they get. */
  stopBlock({ index }: Json): readonly Json[] {
    const block = this.#blocks.get(index);
    this.#blocks.delete(index);
    if (block?.type !== 'tool_use' || block.hasArguments) return NO_CHUNKS;
    return this.arguments(JSON.stringify(block.input ?? {}), block);
  }

  delta({ delta, usage }: Json): readonly Json[] {
    if (isJson(usage)) this.#counts = mergeUsage(this.#counts ?? {}, usage);
    const reason = isJson(delta) ? delta.stop_reason : undefined;
    return typeof reason === 'string' ? this.#finish(reason) : NO_CHUNKS;
  }

  stop(): readonly Json[] {
    const chunks = [...this.#finish(undefined), ...this.#usageChunk()];
    this.finished = true;
    return chunks;
  }

  #finish(reason: string | undefined): readonly Json[] {
    if (this.#hasReason) return NO_CHUNKS;
    this.#hasReason = true;
    return this.#delta({}, finishReason(reason));
  }

  #usageChunk(): readonly Json[] {
    const { usage } = this;
    return usage === undefined ? NO_CHUNKS : [{ ...this.#head, choices: [], usage }];
  }

  #delta(delta: Json, finish: string | null = null): readonly Json[] {
    if (this.#head === undefined) throw upstreamInvalid('sent an event before message_start');
    return [{ ...this.#head, choices: [{ index: 0, delta, logprobs: null, finish_reason: finish }] }];
  }
}

type EventReader = (decoder: MessageStreamDecoder, body: Json) => readonly Json[];
type DeltaReader = (decoder: MessageStreamDecoder, delta: Json, index: unknown, block: OpenBlock) => readonly Json[];

/** Types that are not listed (`ping`, later additions) say nothing to the caller. */
const EVENTS: Readonly<Record<string, EventReader>> = {
  message_start: (decoder, body) => decoder.start(body),
  content_block_start: (decoder, body) => decoder.startBlock(body),
  content_block_delta: (decoder, body) => decoder.continueBlock(body),
  content_block_stop: (decoder, body) => decoder.stopBlock(body),
  message_delta: (decoder, body) => decoder.delta(body),
  message_stop: (decoder) => decoder.stop(),
  error: (_decoder, body) => {
    throw streamError(body);
  },
};

const DELTAS: Readonly<Record<string, DeltaReader>> = {
  text_delta: (decoder, delta) => decoder.text(delta.text),
  thinking_delta: (decoder, delta, index) => decoder.thinking(index, 'thinking', delta.thinking),
  signature_delta: (decoder, delta, index) => decoder.thinking(index, 'signature', delta.signature),
  input_json_delta: (decoder, delta, _index, block) => decoder.arguments(delta.partial_json, block),
};

function parse(data: string): Json {
  const body = tryParse(data);
  if (!isJson(body)) throw upstreamInvalid('sent a stream event that is not a JSON object');
  return body;
}

function tryParse(data: string): unknown {
  try {
    return JSON.parse(data);
  } catch {
    return undefined;
  }
}
