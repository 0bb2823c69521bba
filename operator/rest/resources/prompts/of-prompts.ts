/** What the rows of prompts, partials, labels and collections have in common. */
import type { Operation, ResourceRow } from '../../resource-row.ts';

export const OF_PROMPTS = {
  createPath: '',
  given: () => ({}),
  scopes: (action: string) => [`prompts.${action}`],
  isAboutAll: false,
  isOfOrganisation: () => false,
  filters: {},
  removal: 'delete',
} as const satisfies Partial<ResourceRow>;

/** The same, with an empty answer. */
export function withoutAnswer(operation: Operation): Operation {
  return async (row, call) => {
    await operation(row, call);
    return {};
  };
}
