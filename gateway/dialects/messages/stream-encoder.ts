/** Chat completion chunks -> message stream events. */
import { randomUUID } from 'node:crypto';
import type { Json } from '../../providers/provider.ts';
import type { StreamEncoder } from '../dialect.ts';
import { isJson } from '../json-shape.ts';
import { BlockQueue, eventText, type StreamBlock } from './block-queue.ts';
import { invalid, messageHead, reasoningOf, stopReason, toolUseBlock } from './encode-answer.ts';
import { deltaUsage, messageUsage } from './usage.ts';

interface Call {
  readonly id: string;
  readonly block: StreamBlock;
}

export class MessageStreamEncoder implements StreamEncoder {
  readonly #queue = new BlockQueue();
  readonly #calls = new Map<unknown, Call>();
  #started = false;
  #finishReason: unknown;
  #usage: unknown;

  encode(chunk: Json): string {
    const start = this.#start(chunk);
    if (isJson(chunk.usage)) this.#usage = chunk.usage;
    const choice = Array.isArray(chunk.choices) ? chunk.choices[0] : undefined;
    // A second answer (`n`) has no place in a message.
    if (!isJson(choice) || (choice.index ?? 0) !== 0) return start;
    if (isJson(choice.delta)) this.#take(choice.delta);
    if (typeof choice.finish_reason === 'string') this.#finishReason = choice.finish_reason;
    return start + this.#queue.drain(this.#finishReason !== undefined);
  }

  /** The last counts come after the finish reason, so what closes the message waits for the end. */
  end(): string {
    const delta = {
      stop_reason: stopReason(this.#finishReason, this.#calls.size > 0),
      stop_sequence: null,
      stop_details: null,
      container: null,
    };
    return (
      this.#start({}) +
      this.#queue.drain(true) +
      eventText({ type: 'message_delta', delta, usage: deltaUsage(this.#usage) }) +
      eventText({ type: 'message_stop' })
    );
  }

  #start(chunk: Json): string {
    if (this.#started) return '';
    this.#started = true;
    return eventText({ type: 'message_start', message: { ...messageHead(chunk), usage: messageUsage(chunk.usage) } });
  }

  #take(delta: Json): void {
    if (Array.isArray(delta.content_blocks)) for (const shown of delta.content_blocks) this.#takeShown(shown);
    else this.#append('thinking', reasoningOf(delta));
    this.#append('text', delta.content);
    this.#append('text', delta.refusal);
    if (Array.isArray(delta.tool_calls)) for (const call of delta.tool_calls) this.#takeCall(call);
  }

  #append(type: 'text' | 'thinking', value: unknown): void {
    if (typeof value !== 'string' || value === '') return;
    const block = this.#current(type);
    block.pending.push(
      type === 'text' ? { type: 'text_delta', text: value } : { type: 'thinking_delta', thinking: value },
    );
  }

  /** The newest block if it is of this type, else a new one. */
  #current(type: 'text' | 'thinking'): StreamBlock {
    const { last } = this.#queue;
    if (last?.start.type === type) return last;
    const start = type === 'text' ? { type, text: '', citations: null } : { type, thinking: '', signature: '' };
    return this.#queue.add(start);
  }

  /** `{index, delta: {thinking} | {signature}}` or `{index, content_block}` for redacted thinking. */
  #takeShown(shown: unknown): void {
    if (!isJson(shown)) return;
    if (isJson(shown.content_block) && shown.content_block.type === 'redacted_thinking') {
      this.#queue.add({ type: 'redacted_thinking', data: shown.content_block.data });
    }
    if (!isJson(shown.delta)) return;
    const { thinking, signature } = shown.delta;
    this.#append('thinking', thinking);
    if (typeof signature !== 'string') return;
    this.#current('thinking').pending.push({ type: 'signature_delta', signature });
  }

  #takeCall(call: unknown): void {
    if (!isJson(call)) throw invalid('sent a tool call that is not an object');
    const called = isJson(call.function) ? call.function : {};
    const { block } = this.#callOf(call, called);
    const fragment = called.arguments;
    if (typeof fragment !== 'string' || fragment === '') return;
    if (!this.#queue.has(block)) throw invalid('went on with a tool call that was complete');
    block.input += fragment;
    block.pending.push({ type: 'input_json_delta', partial_json: fragment });
  }

  /** Some servers give every call the same index; a new id then says that a new call begins. */
  #callOf(call: Json, called: Json): Call {
    const index = call.index ?? 0;
    const known = this.#calls.get(index);
    const id = typeof call.id === 'string' && call.id !== '' ? call.id : undefined;
    if (known !== undefined && (id === undefined || id === known.id)) return known;
    if (typeof called.name !== 'string') throw invalid('began a tool call without a name');
    const begun = id ?? `toolu_${randomUUID().replaceAll('-', '')}`;
    const added = { id: begun, block: this.#queue.add(toolUseBlock(begun, called.name, {})) };
    this.#calls.set(index, added);
    return added;
  }
}
