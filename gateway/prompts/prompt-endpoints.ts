/** The endpoints of stored prompts. What a prompt is made of decides which of the two inference endpoints a call becomes. */
import { CHAT_BOUNDS, COMPLETION_BOUNDS } from '../bounds.ts';
import type { EndpointRow } from '../endpoints.ts';

const COMPLETIONS = '/v1/prompts/:prompt_id/completions';
const common = { path: COMPLETIONS, dialect: 'openai', streams: true, scopes: ['completions.write'] } as const;

export const PROMPT_CHAT: EndpointRow = { ...common, type: 'chatComplete', operation: 'chat', bounds: CHAT_BOUNDS };
export const PROMPT_TEXT: EndpointRow = {
  ...common,
  type: 'complete',
  operation: 'complete',
  bounds: COMPLETION_BOUNDS,
};
export const PROMPT_RENDER: EndpointRow = {
  path: '/v1/prompts/:prompt_id/render',
  type: 'render',
  operation: 'chat',
  dialect: 'openai',
  bounds: [],
  streams: false,
  scopes: ['prompts.render'],
};

/** What lies below `partials` are partials. */
const PATH = /^\/v1\/prompts\/(?!partials\/)[^/]+\/(?:render|completions)$/;

/** `path` without its query: it is a gateway's to answer, unlike the rest below `/v1/prompts`. */
export function isPromptCall(path: string): boolean {
  return PATH.test(path);
}
