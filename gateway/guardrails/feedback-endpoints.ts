/** Where callers say what an answer was worth. Keys for inference may. */
import type { EndpointRow } from '../endpoints.ts';

const common = { operation: 'chat', dialect: 'openai', bounds: [], streams: false } as const;

export const FEEDBACK: EndpointRow = {
  ...common,
  path: '/v1/feedback',
  type: 'feedback',
  scopes: ['feedback.create', 'completions.write'],
};
export const FEEDBACK_WORD: EndpointRow = {
  ...common,
  path: '/v1/feedback/:feedback_id',
  type: 'feedback',
  scopes: ['feedback.update', 'completions.write'],
};
