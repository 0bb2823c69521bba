import type { EndpointRow } from '../endpoints.ts';

/** Where the cache of a workspace is emptied: `DELETE`. Needs a scope of its own. */
export const CACHE_PURGE: EndpointRow = {
  path: '/v1/cache',
  type: 'purgeCache',
  operation: 'chat',
  dialect: 'openai',
  bounds: [],
  streams: false,
  scopes: ['cache.purge'],
};
