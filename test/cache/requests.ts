/** Cache keys for tests. */
import { type CacheKey, type CacheRequest, cacheKeyOf } from '#gateway/cache/cache-key.ts';
import { CacheScope, type ScopeParts } from '#gateway/cache/cache-scope.ts';

export const ENDPOINTS = {
  chat: { type: 'chatComplete', path: '/v1/chat/completions' },
  complete: { type: 'complete', path: '/v1/completions' },
  embed: { type: 'embed', path: '/v1/embeddings' },
  messages: { type: 'messages', path: '/v1/messages' },
  countTokens: { type: 'messages', path: '/v1/messages/count_tokens' },
} as const;

export function scopeOf(parts: Partial<ScopeParts> = {}): CacheScope {
  return CacheScope.of({ workspace: 'team-a', epoch: '', cacheNamespace: undefined, metadata: {}, ...parts });
}

export function requestOf(parts: Partial<CacheRequest> = {}): CacheRequest {
  return {
    scope: scopeOf(),
    provider: 'openai',
    upstream: 'https://api.example.com/v1',
    endpoint: ENDPOINTS.chat,
    treatment: '',
    body: { model: 'gpt-test', messages: [{ role: 'user', content: 'Hello!' }] },
    ...parts,
  };
}

/** A key of the workspace, another one for each `name`. */
export function keyOf(name: string, workspace = 'team-a'): CacheKey {
  const key = cacheKeyOf(requestOf({ scope: scopeOf({ workspace }), body: { model: name } }));
  if (key === undefined) throw new Error('the request has no key');
  return key;
}
