/** Labels with scores, as classifiers answer: `{label, score}`, one, a list, or a list of lists; also below a few names. */
import { isJson } from '../../dialects/json-shape.ts';

export interface Label {
  readonly label: string;
  /** 0 to 1; 1 where the service gives none. */
  readonly score: number;
}

const LABEL_NAMES = ['label', 'name', 'category', 'type'] as const;
const SCORE_NAMES = ['score', 'confidence', 'probability'] as const;
const LIST_NAMES = ['labels', 'categories', 'classifications', 'results', 'predictions'] as const;
const MAX_LABELS = 1000;

/** Undefined: there is nothing of this kind. */
export function readLabels(reply: unknown): readonly Label[] | undefined {
  if (Array.isArray(reply)) return reply.length <= MAX_LABELS ? readList(reply) : undefined;
  if (!isJson(reply)) return undefined;
  const label = LABEL_NAMES.map((name) => reply[name]).find((value) => typeof value === 'string');
  if (typeof label === 'string') {
    const score = SCORE_NAMES.map((name) => reply[name]).find((value) => typeof value === 'number');
    return [{ label: label.slice(0, 128), score: typeof score === 'number' ? score : 1 }];
  }
  for (const name of LIST_NAMES) {
    const value = reply[name];
    if (Array.isArray(value)) return readLabels(value);
    if (isJson(value)) return scoresOf(value);
  }
  return undefined;
}

function readList(items: readonly unknown[]): readonly Label[] | undefined {
  const lists = items.map(readLabels);
  return lists.every((list) => list !== undefined) ? lists.flat() : undefined;
}

/** `{toxicity: 0.9}` or `{toxicity: true}`. */
function scoresOf(scores: Record<string, unknown>): readonly Label[] | undefined {
  const labels = Object.entries(scores).map(([label, score]) => ({ label: label.slice(0, 128), score: Number(score) }));
  return labels.every(({ score }) => Number.isFinite(score)) ? labels : undefined;
}
