/** The API's inference endpoints, a row each. */
import { type Bounds, CHAT_BOUNDS, COMPLETION_BOUNDS, EMBEDDING_BOUNDS, MESSAGE_BOUNDS } from './bounds.ts';
import type { Endpoint } from './exchange.ts';

export interface EndpointRow extends Endpoint {
  readonly bounds: Bounds;
  /** Whether `stream: true` means something here; elsewhere it is a field like any that we do not know. */
  readonly streams: boolean;
  /** Any one of them is enough. */
  readonly scopes: readonly string[];
}

const INFERENCE = ['completions.write'];

export const ENDPOINTS: readonly EndpointRow[] = [
  {
    path: '/v1/chat/completions',
    type: 'chatComplete',
    operation: 'chat',
    dialect: 'openai',
    bounds: CHAT_BOUNDS,
    streams: true,
    scopes: INFERENCE,
  },
  {
    path: '/v1/completions',
    type: 'complete',
    operation: 'complete',
    dialect: 'openai',
    bounds: COMPLETION_BOUNDS,
    streams: true,
    scopes: INFERENCE,
  },
  {
    path: '/v1/embeddings',
    type: 'embed',
    operation: 'embed',
    dialect: 'openai',
    bounds: EMBEDDING_BOUNDS,
    streams: false,
    scopes: INFERENCE,
  },
  {
    path: '/v1/messages',
    type: 'messages',
    operation: 'chat',
    dialect: 'anthropic',
    bounds: MESSAGE_BOUNDS,
    streams: true,
    scopes: INFERENCE,
  },
  {
    path: '/v1/messages/count_tokens',
    type: 'messages',
    operation: 'countTokens',
    dialect: 'anthropic',
    bounds: [],
    streams: false,
    scopes: INFERENCE,
  },
];
