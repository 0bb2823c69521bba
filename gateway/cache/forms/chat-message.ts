/** A chat message, put together from its deltas. */
import { isJson } from '../../dialects/json-shape.ts';
import type { Json } from '../../providers/provider.ts';
import { addText, setOnce } from './added-up.ts';
import type { BuiltChoice } from './chunk-builder.ts';
import { ShownBlocks } from './shown-blocks.ts';
import { ToolCalls } from './tool-calls.ts';

type DeltaReader = (message: ChatMessage, value: unknown) => boolean;

const OWN_FIELDS = new Set(['delta']);

export class ChatMessage implements BuiltChoice {
  readonly ownFields = OWN_FIELDS;
  readonly #fields: Json = { role: 'assistant', content: null, refusal: null };
  readonly #calls = new ToolCalls();
  readonly #shown = new ShownBlocks();

  add({ delta }: Json): boolean {
    if (!isJson(delta)) return false;
    // Thinking comes before what is said in the same piece.
    const shown = delta['content_blocks'];
    if (shown !== undefined && shown !== null && !this.#shown.add(shown)) return false;
    return Object.entries(delta).every(([field, value]) => value === null || this.#read(field, value));
  }

  built(): Json | undefined {
    const calls = this.#calls.built();
    const shown = this.#shown.built(calls);
    return {
      message: {
        ...this.#fields,
        ...(calls.length === 0 ? {} : { tool_calls: calls }),
        ...(shown === undefined ? {} : { content_blocks: shown }),
      },
    };
  }

  say(field: string, piece: unknown): boolean {
    if (field === 'content' && typeof piece === 'string') this.#shown.addText(piece);
    return addText(this.#fields, field, piece);
  }

  setRole(role: unknown): boolean {
    this.#fields['role'] = role;
    return typeof role === 'string';
  }

  call(pieces: unknown): boolean {
    if (!Array.isArray(pieces)) return false;
    return pieces.every((piece) => {
      const begun = isJson(piece) ? this.#calls.add(piece) : undefined;
      if (typeof begun === 'string') this.#shown.addCall(begun);
      return begun !== undefined;
    });
  }

  /** The form of calls before there were tools. */
  callFunction(piece: unknown): boolean {
    if (!isJson(piece)) return false;
    const known = this.#fields['function_call'];
    const called: Json = isJson(known) ? known : { name: '', arguments: '' };
    this.#fields['function_call'] = called;
    return Object.entries(piece).every(([field, text]) => addText(called, field, text));
  }

  #read(field: string, value: unknown): boolean {
    const read = READERS.get(field);
    return read === undefined ? setOnce(this.#fields, field, value) : read(this, value);
  }
}

function text(field: string): DeltaReader {
  return (message, value) => message.say(field, value);
}

const READERS: ReadonlyMap<string, DeltaReader> = new Map([
  ['role', (message, value) => message.setRole(value)],
  ['content', text('content')],
  ['refusal', text('refusal')],
  ['reasoning_content', text('reasoning_content')],
  ['reasoning', text('reasoning')],
  ['tool_calls', (message, value) => message.call(value)],
  ['function_call', (message, value) => message.callFunction(value)],
  ['content_blocks', () => true],
] satisfies [string, DeltaReader][]);
