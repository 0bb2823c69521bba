/** A message, put together from its events. */
import { isJson } from '../../dialects/json-shape.ts';
import { mergeUsage, messageUsage } from '../../dialects/messages/usage.ts';
import type { Json, Usage } from '../../providers/provider.ts';
import { addText } from './added-up.ts';
import type { AnswerBuilder } from './answer-form.ts';

type EventReader = (builder: MessageBuilder, event: Json) => boolean;
type DeltaReader = (block: Json, delta: Json) => boolean;

interface OpenBlock {
  readonly block: Json;
  /** Tool input so far, as text. */
  input: string;
}

const STOP = /^\{\s*"type"\s*:\s*"message_stop"/;
const DELTA_FIELDS = new Set(['type', 'delta', 'usage']);

export class MessageBuilder implements AnswerBuilder {
  #message: Json | undefined;
  readonly #content: Json[] = [];
  readonly #open = new Map<unknown, OpenBlock>();

  isEnd(data: string): boolean {
    return STOP.test(data);
  }

  add(event: Json): boolean {
    const { type } = event;
    return typeof type === 'string' && (EVENTS.get(type)?.(this, event) ?? false);
  }

  built(counted: Usage | undefined): Json | undefined {
    const message = this.#message;
    if (message === undefined || this.#open.size > 0 || typeof message['stop_reason'] !== 'string') return undefined;
    return { ...message, content: this.#content, usage: message['usage'] ?? messageUsage(counted) };
  }

  start({ message }: Json): boolean {
    if (!isJson(message) || this.#message !== undefined) return false;
    this.#message = { ...message };
    return true;
  }

  startBlock({ index, content_block: begun }: Json): boolean {
    if (!isJson(begun) || this.#open.has(index)) return false;
    const block = { ...begun };
    if (Array.isArray(block['citations'])) block['citations'] = [...block['citations']];
    this.#content.push(block);
    this.#open.set(index, { block, input: '' });
    return true;
  }

  continueBlock({ index, delta }: Json): boolean {
    const open = this.#open.get(index);
    if (open === undefined || !isJson(delta)) return false;
    if (delta['type'] !== 'input_json_delta') return DELTAS.get(delta['type'])?.(open.block, delta) ?? false;
    if (typeof delta['partial_json'] !== 'string') return false;
    open.input += delta['partial_json'];
    return true;
  }

  stopBlock({ index }: Json): boolean {
    const open = this.#open.get(index);
    if (open === undefined) return false;
    this.#open.delete(index);
    return open.input === '' || setInput(open.block, open.input);
  }

  delta({ delta, usage, ...event }: Json): boolean {
    const message = this.#message;
    if (message === undefined || !isJson(delta)) return false;
    Object.assign(message, delta);
    for (const field of Object.keys(event)) if (!DELTA_FIELDS.has(field)) message[field] = event[field];
    const before = message['usage'];
    if (isJson(usage)) message['usage'] = mergeUsage(isJson(before) ? before : {}, usage);
    return true;
  }
}

const EVENTS: ReadonlyMap<string, EventReader> = new Map([
  ['message_start', (builder, event) => builder.start(event)],
  ['content_block_start', (builder, event) => builder.startBlock(event)],
  ['content_block_delta', (builder, event) => builder.continueBlock(event)],
  ['content_block_stop', (builder, event) => builder.stopBlock(event)],
  ['message_delta', (builder, event) => builder.delta(event)],
  ['message_stop', () => true],
  ['ping', () => true],
  // It speaks of one request alone.
  ['hook_results', () => true],
] satisfies [string, EventReader][]);

const DELTAS: ReadonlyMap<unknown, DeltaReader> = new Map([
  ['text_delta', (block, delta) => addText(block, 'text', delta['text'])],
  ['thinking_delta', (block, delta) => addText(block, 'thinking', delta['thinking'])],
  ['signature_delta', (block, delta) => addText(block, 'signature', delta['signature'])],
  ['citations_delta', addCitation],
] satisfies [string, DeltaReader][]);

function addCitation(block: Json, { citation }: Json): boolean {
  const known = block['citations'];
  if (Array.isArray(known)) known.push(citation);
  else block['citations'] = [citation];
  return true;
}

function setInput(block: Json, text: string): boolean {
  try {
    block['input'] = JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}
