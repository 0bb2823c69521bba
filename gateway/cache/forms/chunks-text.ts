import { isJson } from '../../dialects/json-shape.ts';
import type { Json } from '../../providers/provider.ts';
import { without } from './added-up.ts';

const ANSWER_FIELDS = new Set(['object', 'choices', 'usage']);

/**
 * The events of a whole answer in OpenAI's form. `piecesOf`: what a choice says, piece by piece, without its index; undefined
 * where it is none. Who asks for usage gets it in the last chunk, and null in all others.
 */
export function chunksText(
  answer: Json,
  object: string,
  wantsUsage: boolean,
  piecesOf: (choice: Json) => readonly Json[] | undefined,
): string | undefined {
  const { choices, usage } = answer;
  if (!Array.isArray(choices) || choices.length === 0) return undefined;
  const head = { ...without(answer, ANSWER_FIELDS), object };
  const hidden = wantsUsage ? { usage: null } : {};
  let text = '';
  for (const [place, choice] of choices.entries()) {
    const pieces = isJson(choice) ? piecesOf(choice) : undefined;
    if (pieces === undefined) return undefined;
    const index = choice['index'] ?? place;
    for (const piece of pieces) text += eventOf({ ...head, choices: [{ index, ...piece }], ...hidden });
  }
  if (wantsUsage && isJson(usage)) text += eventOf({ ...head, choices: [], usage });
  return `${text}data: [DONE]\n\n`;
}

function eventOf(chunk: Json): string {
  return `data: ${JSON.stringify(chunk)}\n\n`;
}
