import { isDeepStrictEqual } from 'node:util';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { CacheKey, type CacheRequest, cacheKeyOf } from '#gateway/cache/cache-key.ts';
import { CacheScope, type ScopeParts } from '#gateway/cache/cache-scope.ts';
import { canonicalJson } from '#gateway/cache/canonical-json.ts';
import type { Json } from '#gateway/providers/provider.ts';
import { ENDPOINTS, requestOf, scopeOf } from './requests.ts';

function digestOf(parts: Partial<CacheRequest>): string | undefined {
  return cacheKeyOf(requestOf(parts))?.digest;
}

const word = fc.string({ unit: 'binary', minLength: 0, maxLength: 12 });
const metadata = fc.dictionary(word, word, { maxKeys: 4 });
const scopeParts: fc.Arbitrary<ScopeParts> = fc.record({
  workspace: fc.string({ unit: 'binary', minLength: 1, maxLength: 12 }),
  epoch: word,
  cacheNamespace: fc.option(word, { nil: undefined }),
  metadata,
});
const value = fc.jsonValue({ maxDepth: 3 }).filter((json) => canonicalJson(json) !== undefined);
const body: fc.Arbitrary<Json> = fc.dictionary(word, value, { maxKeys: 6 });

/** The same value with all keys in another order. */
function reordered(json: unknown): unknown {
  if (Array.isArray(json)) return json.map(reordered);
  if (typeof json !== 'object' || json === null) return json;
  const entries = Object.entries(json).map(([key, inner]) => [key, reordered(inner)] as const);
  return Object.fromEntries(entries.reverse());
}

describe('the scope of a key', () => {
  it('two workspaces never share a key, whatever they ask and call themselves', () => {
    fc.assert(
      fc.property(scopeParts, scopeParts, body, body, (one, other, asked, alsoAsked) => {
        fc.pre(one.workspace !== other.workspace);
        const first = digestOf({ scope: CacheScope.of(one), body: asked });
        for (const second of [asked, alsoAsked])
          expect(digestOf({ scope: CacheScope.of(other), body: second })).not.toBe(first);
      }),
    );
  });

  it('parts cannot be moved over the border between two of them', () => {
    const pairs: readonly (readonly [Partial<ScopeParts>, Partial<ScopeParts>])[] = [
      [
        { workspace: 'a', cacheNamespace: 'bc' },
        { workspace: 'ab', cacheNamespace: 'c' },
      ],
      [{ cacheNamespace: 'metadata' }, { metadata: {} }],
      [{ cacheNamespace: '' }, {}],
      [{ metadata: { a: 'b', c: 'd' } }, { metadata: { a: 'b,c', d: '' } }],
      [{ metadata: { a: '' } }, { metadata: { '': 'a' } }],
      [{ workspace: 'a","namespace' }, { workspace: 'a', cacheNamespace: '' }],
    ];
    for (const [one, other] of pairs)
      expect(digestOf({ scope: scopeOf(one) })).not.toBe(digestOf({ scope: scopeOf(other) }));
    expect(digestOf({ provider: 'a', upstream: 'bc' })).not.toBe(digestOf({ provider: 'ab', upstream: 'c' }));
    expect(digestOf({ upstream: '1:a', treatment: '' })).not.toBe(digestOf({ upstream: '', treatment: '1:a' }));
  });

  it('a cache namespace divides, and metadata does so where there is none', () => {
    const alice = scopeOf({ metadata: { _user: 'alice' } });
    const bob = scopeOf({ metadata: { _user: 'bob' } });
    expect(digestOf({ scope: alice })).not.toBe(digestOf({ scope: bob }));
    const shared = { cacheNamespace: 'shop' };
    expect(digestOf({ scope: scopeOf({ ...shared, metadata: { _user: 'alice' } }) })).toBe(
      digestOf({ scope: scopeOf({ ...shared, metadata: { _user: 'bob' } }) }),
    );
    expect(digestOf({ scope: scopeOf({ cacheNamespace: 'other' }) })).not.toBe(digestOf({ scope: scopeOf(shared) }));
  });

  it('metadata is the same in any order', () => {
    fc.assert(
      fc.property(metadata, (pairs) => {
        const turned = Object.fromEntries(Object.entries(pairs).reverse());
        expect(scopeOf({ metadata: turned }).identity).toBe(scopeOf({ metadata: pairs }).identity);
      }),
    );
  });

  it('a caller without a workspace has none', () => {
    expect(() => scopeOf({ workspace: '' })).toThrow('workspace must be the name of a namespace');
  });

  it('what looks like a scope or a key is none', () => {
    const { workspace, identity } = scopeOf();
    expect(CacheScope.isScope({ workspace, identity })).toBe(false);
    expect(CacheScope.isScope(scopeOf())).toBe(true);
    expect(CacheKey.isKey({ workspace, digest: 'x' })).toBe(false);
    expect(CacheKey.isKey(cacheKeyOf(requestOf()))).toBe(true);
  });
});

describe('what a key is made of', () => {
  it('the order of keys never matters', () => {
    fc.assert(
      fc.property(body, (asked) => {
        expect(digestOf({ body: reordered(asked) as Json })).toBe(digestOf({ body: asked }));
      }),
    );
  });

  it('any parameter that is changed, added or taken away matters', () => {
    fc.assert(
      fc.property(body, fc.string({ minLength: 1 }), value, (asked, field, said) => {
        fc.pre(!TRANSPORT.includes(field) && canonicalJson(asked[field]) !== canonicalJson(said));
        fc.pre(Object.hasOwn(asked, field) || field !== '__proto__');
        expect(digestOf({ body: { ...asked, [field]: said } })).not.toBe(digestOf({ body: asked }));
      }),
    );
  });

  const TRANSPORT = [
    'stream',
    'stream_options',
    'user',
    'safety_identifier',
    'prompt_cache_key',
    'prompt_cache_retention',
  ];
  it.each(TRANSPORT)('%s does not matter', (field) => {
    const { body: asked } = requestOf();
    expect(digestOf({ body: { ...asked, [field]: 'x' } })).toBe(digestOf({ body: asked }));
    expect(digestOf({ body: { ...asked, metadata: { [field]: 'x' } } })).not.toBe(digestOf({ body: asked }));
  });

  it.each([
    ['provider', { provider: 'anthropic' }],
    ['upstream', { upstream: 'https://elsewhere.example.com/v1' }],
    ['endpoint', { endpoint: ENDPOINTS.complete }],
    ['treatment', { treatment: 'strict' }],
    ['model', { body: { ...requestOf().body, model: 'gpt-other' } }],
  ] satisfies [string, Partial<CacheRequest>][])('the %s matters', (_what, change) => {
    expect(digestOf(change)).not.toBe(digestOf({}));
  });

  it('a message and the count of its tokens are two answers', () => {
    expect(digestOf({ endpoint: ENDPOINTS.messages })).not.toBe(digestOf({ endpoint: ENDPOINTS.countTokens }));
  });

  it('G35: unicode forms of one letter are different requests', () => {
    const forms = ['\u00e9', 'e\u0301', '\u00c9', 'é\u200b', '\ud800', '\udc00', '\ufffd'];
    const digests = forms.map((content) => digestOf({ body: { content } }));
    const asKeys = forms.map((key) => digestOf({ body: { [key]: 1 } }));
    const asNamespaces = forms.map((cacheNamespace) => digestOf({ scope: scopeOf({ cacheNamespace }) }));
    expect(new Set([...digests, ...asKeys, ...asNamespaces]).size).toBe(3 * forms.length);
  });

  it.each(['9007199254740993', '1e400', '-1e999', '9007199254740992'])(
    '%s, which other literals parse to as well, gives no key',
    (literal) => {
      expect(cacheKeyOf(requestOf({ body: JSON.parse(`{"seed":${literal}}`) as Json }))).toBeUndefined();
      expect(cacheKeyOf(requestOf({ body: JSON.parse(`{"a":[{"b":${literal}}]}`) as Json }))).toBeUndefined();
    },
  );

  it('the largest number that is told from its neighbours has one', () => {
    expect(digestOf({ body: { seed: Number.MAX_SAFE_INTEGER } })).not.toBe(
      digestOf({ body: { seed: Number.MAX_SAFE_INTEGER - 1 } }),
    );
  });

  it('a key called __proto__ is a key like any other', () => {
    const one = JSON.parse('{"__proto__":{"a":1}}') as Json;
    const other = JSON.parse('{"__proto__":{"a":2}}') as Json;
    expect(new Set([digestOf({ body: one }), digestOf({ body: other }), digestOf({ body: {} })]).size).toBe(3);
  });

  it('a key is printable and says nothing of what it was made of', () => {
    expect(digestOf({ body: { secret: 'hunter2' } })).toMatch(/^[A-Za-z0-9_-]{43}$/);
  });
});

describe('canonical JSON', () => {
  it('is JSON of the same value', () => {
    fc.assert(
      fc.property(value, (json) => {
        expect(JSON.parse(canonicalJson(json) ?? '')).toEqual(JSON.parse(JSON.stringify(json)));
      }),
    );
  });

  it('is one text for one value, and two for two', () => {
    fc.assert(
      fc.property(value, value, (one, other) => {
        const isEqual = isDeepStrictEqual(JSON.parse(JSON.stringify(one)), JSON.parse(JSON.stringify(other)));
        expect(canonicalJson(one) === canonicalJson(other)).toBe(isEqual);
      }),
    );
  });
});
