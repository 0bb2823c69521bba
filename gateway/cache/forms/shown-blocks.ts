/** A message's `content_blocks`, put together from a stream, which tells thinking in blocks but text and calls in fields of their own. */
import { isJson } from '../../dialects/json-shape.ts';
import type { Json } from '../../providers/provider.ts';
import { addText } from './added-up.ts';

interface ShownBlock {
  /** The provider's number of a block of thinking; undefined for others. */
  readonly index: unknown;
  readonly block: Json;
}

export class ShownBlocks {
  readonly #blocks: ShownBlock[] = [];
  /** Without thinking, text and calls say everything. */
  #isShown = false;

  /** A delta's `content_blocks`. */
  add(pieces: unknown): boolean {
    this.#isShown = true;
    return Array.isArray(pieces) && pieces.every((piece) => isJson(piece) && this.#addPiece(piece));
  }

  addText(piece: string): void {
    if (piece === '') return;
    const last = this.#blocks.at(-1)?.block;
    if (last?.['type'] === 'text') last['text'] = `${last['text']}${piece}`;
    else this.#blocks.push({ index: undefined, block: { type: 'text', text: piece } });
  }

  addCall(id: string): void {
    this.#blocks.push({ index: undefined, block: { type: 'tool_use', id } });
  }

  /** undefined: there is nothing to show. */
  built(calls: readonly Json[]): Json[] | undefined {
    if (!this.#isShown) return undefined;
    return this.#blocks.map(({ block }) => (block['type'] === 'tool_use' ? shownCall(block['id'], calls) : block));
  }

  #addPiece({ index, content_block: begun, delta }: Json): boolean {
    if (isJson(begun)) this.#blocks.push({ index, block: { ...begun } });
    if (delta === undefined) return isJson(begun);
    if (!isJson(delta)) return false;
    const thinking = this.#thinking(index);
    return Object.entries(delta).every(([field, text]) => addText(thinking, field, text));
  }

  #thinking(index: unknown): Json {
    const known = this.#blocks.find((shown) => shown.index === index && index !== undefined)?.block;
    if (known !== undefined) return known;
    const block: Json = { type: 'thinking', thinking: '', signature: '' };
    this.#blocks.push({ index, block });
    return block;
  }
}

function shownCall(id: unknown, calls: readonly Json[]): Json {
  const called = calls.find((call) => call['id'] === id)?.['function'];
  const { name, arguments: text } = isJson(called) ? called : {};
  return { type: 'tool_use', id, name, input: inputOf(text) };
}

function inputOf(text: unknown): unknown {
  try {
    return JSON.parse(String(text));
  } catch {
    return {};
  }
}
