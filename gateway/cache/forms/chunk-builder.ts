/** What chat completion chunks and text completion chunks have in common. */
import { isJson } from '../../dialects/json-shape.ts';
import type { Json, Usage } from '../../providers/provider.ts';
import { addLists, setOnce } from './added-up.ts';
import type { AnswerBuilder } from './answer-form.ts';

const DONE = '[DONE]';
/** Of a chunk; the rest of its fields belongs to the answer, where later words win. `obfuscation` is filling, `hook_results` speak of one request alone. */
const CHUNK_FIELDS = new Set(['object', 'choices', 'obfuscation', 'hook_results']);
const CHOICE_FIELDS = new Set(['index', 'logprobs', 'finish_reason']);

/** One choice on its way. */
export interface BuiltChoice {
  /** What it says; false: it cannot be added up. */
  add(choice: Json): boolean;
  /** Fields of the choice besides those that all have. */
  built(): Json | undefined;
  /** Fields of a choice's pieces that `add` reads. */
  readonly ownFields: ReadonlySet<string>;
}

interface OpenChoice {
  readonly said: BuiltChoice;
  logprobs: Json | null;
  finishReason: unknown;
  readonly rest: Json;
}

export class ChunkBuilder implements AnswerBuilder {
  readonly #object: string;
  readonly #open: () => BuiltChoice;
  readonly #head: Json = {};
  readonly #choices = new Map<number, OpenChoice>();

  /** `object`: the whole answer's. */
  constructor(object: string, open: () => BuiltChoice) {
    this.#object = object;
    this.#open = open;
  }

  isEnd(data: string): boolean {
    return data === DONE;
  }

  add(chunk: Json): boolean {
    const { choices } = chunk;
    if (!Array.isArray(choices)) return false;
    for (const field of Object.keys(chunk))
      if (!CHUNK_FIELDS.has(field) && chunk[field] !== null) this.#head[field] = chunk[field];
    return choices.every((choice) => isJson(choice) && this.#addChoice(choice));
  }

  built(counted: Usage | undefined): Json | undefined {
    const { id, created, model, usage = counted, ...rest } = this.#head;
    const choices: Json[] = [];
    for (const [index, choice] of [...this.#choices].sort(([one], [other]) => one - other)) {
      const said = choice.said.built();
      if (said === undefined || typeof choice.finishReason !== 'string' || index !== choices.length) return undefined;
      choices.push({
        index,
        ...said,
        logprobs: choice.logprobs,
        finish_reason: choice.finishReason,
        ...choice.rest,
      });
    }
    if (choices.length === 0) return undefined;
    return { id, object: this.#object, created, model, choices, ...(usage === undefined ? {} : { usage }), ...rest };
  }

  #addChoice(piece: Json): boolean {
    const index = piece['index'] ?? 0;
    if (typeof index !== 'number') return false;
    const choice = this.#choices.get(index) ?? { said: this.#open(), logprobs: null, finishReason: null, rest: {} };
    this.#choices.set(index, choice);
    if (typeof piece['finish_reason'] === 'string') choice.finishReason = piece['finish_reason'];
    if (!choice.said.add(piece) || !addLogprobs(choice, piece['logprobs'] ?? null)) return false;
    return addRest(choice, piece);
  }
}

function addLogprobs(choice: OpenChoice, piece: unknown): boolean {
  if (piece === null) return true;
  const logprobs = addLists(choice.logprobs, piece);
  choice.logprobs = logprobs ?? null;
  return logprobs !== undefined;
}

function addRest({ said, rest }: OpenChoice, piece: Json): boolean {
  for (const [field, value] of Object.entries(piece)) {
    if (CHOICE_FIELDS.has(field) || said.ownFields.has(field) || value === null) continue;
    if (!setOnce(rest, field, value)) return false;
  }
  return true;
}
