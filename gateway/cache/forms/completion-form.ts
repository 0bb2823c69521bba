/** OpenAI's text completions. */
import type { Json } from '../../providers/provider.ts';
import { addText, without } from './added-up.ts';
import type { AnswerForm } from './answer-form.ts';
import { type BuiltChoice, ChunkBuilder } from './chunk-builder.ts';
import { chunksText } from './chunks-text.ts';

export const completionForm: AnswerForm = {
  builder: () => new ChunkBuilder('text_completion', () => new CompletionText()),
  replay: (answer, wantsUsage) => chunksText(answer, 'text_completion', wantsUsage, piecesOf),
};

const OWN_FIELDS = new Set(['text']);
const CHOICE_FIELDS = new Set(['index', 'text', 'logprobs', 'finish_reason']);

class CompletionText implements BuiltChoice {
  readonly ownFields = OWN_FIELDS;
  readonly #said: Json = { text: '' };

  add({ text = '' }: Json): boolean {
    return addText(this.#said, 'text', text ?? '');
  }

  built(): Json {
    return this.#said;
  }
}

function piecesOf(choice: Json): Json[] | undefined {
  const { text, finish_reason } = choice;
  if (typeof text !== 'string') return undefined;
  return [
    { text, logprobs: choice['logprobs'] ?? null, finish_reason: null },
    { text: '', logprobs: null, finish_reason, ...without(choice, CHOICE_FIELDS) },
  ];
}
