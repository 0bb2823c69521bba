/** What a stored answer is found by. */
import { hash } from 'node:crypto';
import type { Endpoint } from '../exchange.ts';
import type { Json } from '../providers/provider.ts';
import type { CacheScope } from './cache-scope.ts';
import { canonicalJson } from './canonical-json.ts';

/** Another one where keys or entries of an earlier release must not be found. */
const VERSION = 'model-gateway cache 1';

/** Fields that say how an answer is sent, or for whom, but not what it says. */
const TRANSPORT_FIELDS = [
  'stream',
  'stream_options',
  'user',
  'safety_identifier',
  'prompt_cache_key',
  'prompt_cache_retention',
] as const;

/** Everything that an answer depends on. */
export interface CacheRequest {
  readonly scope: CacheScope;
  /** Name of the provider that would be asked. */
  readonly provider: string;
  /** Origin and path prefix that would be asked: another host of the same provider may say something else. */
  readonly upstream: string;
  /** Two endpoints of one type (messages, and counting their tokens) answer differently. */
  readonly endpoint: Pick<Endpoint, 'type' | 'path'>;
  /**
   * What becomes of an answer before the caller sees it: strictness, and a fingerprint of the output guardrails, so that an
   * answer which one config has let pass is not given to callers of another. '' where nothing does.
   */
  readonly treatment: string;
  /** The body as it would be asked for, in the caller's dialect: overrides applied, the model as sent. */
  readonly body: Json;
}

/** Made by `cacheKeyOf` and by those who divide further, never by hand. */
export class CacheKey {
  readonly workspace: string;
  /** SHA-256, base64url, 43 characters. */
  readonly digest: string;
  /** A private field, so that no other object is taken for a key. */
  readonly #made = true;

  private constructor(workspace: string, digest: string) {
    this.workspace = workspace;
    this.digest = digest;
  }

  /** `parts` besides the scope; each is hashed with its length, so that no two lists of them are one text. */
  static of(scope: CacheScope, parts: readonly string[]): CacheKey {
    let text = '';
    for (const part of [VERSION, scope.identity, ...parts]) text += `${Buffer.byteLength(part)}:${part}`;
    return new CacheKey(scope.workspace, hash('sha256', text, 'base64url'));
  }

  /** Whether a value is one that `of` has made. */
  static isKey(value: unknown): value is CacheKey {
    return typeof value === 'object' && value !== null && #made in value;
  }
}

/** undefined: this request cannot be told from others (see `canonicalJson`), so nothing is looked up or kept. */
export function cacheKeyOf(request: CacheRequest): CacheKey | undefined {
  const body = canonicalJson(contentOf(request.body));
  return body === undefined ? undefined : CacheKey.of(request.scope, ['answer', ...partsOf(request), body]);
}

/** What a key is made of besides scope and body. */
export function partsOf({ provider, upstream, endpoint, treatment }: CacheRequest): string[] {
  return [provider, upstream, endpoint.path, treatment];
}

/** The body without what does not change an answer. */
export function contentOf(body: Json): Json {
  const content = { ...body };
  for (const field of TRANSPORT_FIELDS) delete content[field];
  return content;
}
