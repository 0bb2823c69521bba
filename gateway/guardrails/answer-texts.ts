/**
 * The answer in a stream, put together for those who read its texts. Nothing makes it fail: what is not understood is passed
 * over. What goes on as an answer is put together elsewhere, and more strictly.
 */
import { isJson } from '../dialects/json-shape.ts';
import type { Dialect, Json } from '../providers/provider.ts';

export interface AnswerTexts {
  /** One event of the stream, parsed. */
  add(event: Json): void;
  /** As a whole answer would say it. */
  body(): Json;
  /** Characters that were added so far. */
  readonly chars: number;
  /** Forgets all but the last `chars` characters of each text. */
  trim(chars: number): void;
}

export function answerTexts(dialect: Dialect): AnswerTexts {
  return dialect === 'anthropic' ? new MessageTexts() : new ChunkTexts();
}

/** Said once, however often it is repeated. */
const NAMES: ReadonlySet<string> = new Set(['role', 'id', 'type', 'name', 'finish_reason', 'stop_reason', 'signature']);
const LISTS_OF_CALLS = 'tool_calls';
const SHOWN = 'content_blocks';

/** OpenAI's chunks: pieces of texts are joined, items of lists belong together by their index. */
class ChunkTexts implements AnswerTexts {
  chars = 0;
  readonly #choices = new Map<unknown, Json>();

  add({ choices }: Json): void {
    if (!Array.isArray(choices)) return;
    for (const choice of choices.filter(isJson)) this.#addChoice(choice);
  }

  body(): Json {
    return { choices: [...this.#choices.values()] };
  }

  trim(chars: number): void {
    for (const choice of this.#choices.values()) trimTexts(choice, chars);
  }

  #addChoice({ index = 0, delta, text }: Json): void {
    const choice = this.#choices.get(index) ?? { index };
    this.#choices.set(index, choice);
    if (typeof text === 'string') this.#addText(choice, 'text', text);
    if (!isJson(delta)) return;
    const message = isJson(choice['message']) ? choice['message'] : { role: 'assistant' };
    choice['message'] = message;
    this.#merge(message, delta);
  }

  #merge(whole: Json, piece: Json): void {
    for (const [field, value] of Object.entries(piece)) {
      if (typeof value === 'string') this.#addText(whole, field, value);
      else if (Array.isArray(value)) this.#mergeItems(whole, field, value.filter(isJson));
      else if (isJson(value)) this.#merge(childOf(whole, field), value);
    }
  }

  #addText(whole: Json, field: string, piece: string): void {
    const before = whole[field];
    if (NAMES.has(field)) {
      whole[field] = before ?? piece;
      return;
    }
    this.chars += piece.length;
    whole[field] = typeof before === 'string' ? before + piece : piece;
  }

  #mergeItems(whole: Json, field: string, items: readonly Json[]): void {
    const known = Array.isArray(whole[field]) ? (whole[field] as Json[]) : [];
    whole[field] = known;
    for (const item of items) {
      const place = placeOf(known, item, field === LISTS_OF_CALLS);
      this.#merge(place, field === SHOWN ? withoutDelta(item) : item);
    }
  }
}

/** Some servers give every call the same index: a new id then says that a new call begins. */
function placeOf(known: Json[], item: Json, isCall: boolean): Json {
  const index = item['index'] ?? (isCall ? 0 : known.length);
  const place = known.findLast((one) => one['index'] === index);
  const isOther = isCall && typeof item['id'] === 'string' && item['id'] !== '' && place?.['id'] !== item['id'];
  if (place !== undefined && !isOther) return place;
  const fresh: Json = { index };
  known.push(fresh);
  return fresh;
}

/** A piece of a shown block: `{index, content_block}` begins it, `{index, delta}` goes on. */
function withoutDelta({ content_block: begun, delta, ...piece }: Json): Json {
  return { ...piece, ...(isJson(begun) ? begun : {}), ...(isJson(delta) ? delta : {}) };
}

function childOf(whole: Json, field: string): Json {
  const known = whole[field];
  if (isJson(known)) return known;
  const fresh: Json = {};
  whole[field] = fresh;
  return fresh;
}

const DELTAS: ReadonlyMap<unknown, readonly [field: string, piece: string]> = new Map([
  ['text_delta', ['text', 'text']],
  ['thinking_delta', ['thinking', 'thinking']],
  ['input_json_delta', ['input', 'partial_json']],
] as const);

/** Anthropic's events. */
class MessageTexts implements AnswerTexts {
  chars = 0;
  readonly #blocks = new Map<unknown, Json>();

  add({ type, index, content_block: begun, delta }: Json): void {
    if (type === 'content_block_start' && isJson(begun)) this.#begin(index, begun);
    else if (type === 'content_block_delta' && isJson(delta)) this.#goOn(index, delta);
  }

  body(): Json {
    return { type: 'message', role: 'assistant', content: [...this.#blocks.values()] };
  }

  trim(chars: number): void {
    for (const block of this.#blocks.values()) trimTexts(block, chars);
  }

  #begin(index: unknown, begun: Json): void {
    this.chars += JSON.stringify(begun).length;
    this.#blocks.set(index, { ...begun });
  }

  #goOn(index: unknown, delta: Json): void {
    const [field, name] = DELTAS.get(delta['type']) ?? [];
    const piece = name === undefined ? undefined : delta[name];
    if (field === undefined || typeof piece !== 'string') return;
    const block = this.#blocks.get(index) ?? { type: field };
    this.#blocks.set(index, block);
    const before = block[field];
    this.chars += piece.length;
    block[field] = typeof before === 'string' ? before + piece : piece;
  }
}

function trimTexts(node: Json, chars: number): void {
  for (const [field, value] of Object.entries(node)) {
    if (typeof value === 'string' && value.length > chars) node[field] = value.slice(-chars);
    const below: readonly unknown[] = Array.isArray(value) ? value : [value];
    for (const item of below) if (isJson(item)) trimTexts(item, chars);
  }
}
