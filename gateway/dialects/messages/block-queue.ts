/** Writes content blocks one after the other, though the hub may give fragments of several at a time. */
import type { Json } from '../../providers/provider.ts';

export interface StreamBlock {
  /** `content_block` of its start event. */
  readonly start: Json;
  /** Deltas that wait until the block's turn comes. */
  pending: Json[];
  /** Tool input so far; undefined for other blocks. */
  input: string | undefined;
}

export function eventText(event: Json): string {
  return `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`;
}

/**
 * The head of the queue is live, the others wait. Text and thinking are complete as soon as another block follows; a
 * tool call as soon as one follows and its input is whole.
 */
export class BlockQueue {
  readonly #blocks: StreamBlock[] = [];
  #isOpen = false;
  #index = 0;

  get last(): StreamBlock | undefined {
    return this.#blocks.at(-1);
  }

  has(block: StreamBlock): boolean {
    return this.#blocks.includes(block);
  }

  add(start: Json): StreamBlock {
    const block: StreamBlock = { start, pending: [], input: start.type === 'tool_use' ? '' : undefined };
    this.#blocks.push(block);
    return block;
  }

  /** What can be written now; `all`: nothing follows. */
  drain(all: boolean): string {
    let out = '';
    for (let head = this.#blocks[0]; head !== undefined; head = this.#blocks[0]) {
      out += this.#write(head);
      if (!all && !(this.#blocks.length > 1 && isWhole(head))) break;
      out += eventText({ type: 'content_block_stop', index: this.#index });
      this.#blocks.shift();
      this.#isOpen = false;
      this.#index++;
    }
    return out;
  }

  #write(block: StreamBlock): string {
    let out = '';
    if (!this.#isOpen) {
      this.#isOpen = true;
      out = eventText({ type: 'content_block_start', index: this.#index, content_block: block.start });
    }
    for (const delta of block.pending) out += eventText({ type: 'content_block_delta', index: this.#index, delta });
    if (block.pending.length > 0) block.pending = [];
    return out;
  }
}

function isWhole({ input }: StreamBlock): boolean {
  if (input === undefined) return true;
  try {
    JSON.parse(input);
    return true;
  } catch {
    return false;
  }
}
