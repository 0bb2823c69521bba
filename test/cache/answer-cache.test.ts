import { describe, expect, it } from 'vitest';
import { cacheSchema } from '#crds/config/cache.ts';
import { AnswerCache, type Answered } from '#gateway/cache/answer-cache.ts';
import { asksNoStore, cacheRuleOf } from '#gateway/cache/cache-rule.ts';
import { type CacheCourse, type CacheStatus, cacheStatus } from '#gateway/cache/cache-status.ts';
import type { CacheStore } from '#gateway/cache/cache-store.ts';
import { MemoryCache } from '#gateway/cache/memory-cache.ts';
import { semanticQuestion } from '#gateway/cache/semantic-question.ts';
import type { WhyNotStored } from '#gateway/cache/storable.ts';
import { Vectors } from '#gateway/cache/vectors.ts';
import { answeredOf, BODY, encryptionOf, entryOf, FIRST_KEY, SECOND_KEY } from './entries.ts';
import { keyOf, requestOf, scopeOf } from './requests.ts';

const HOUR_MS = 3_600_000;

function stage(keys: readonly string[] = []) {
  const clock = { nowMs: 1_700_000_000_000 };
  const now = () => clock.nowMs;
  const store = new MemoryCache({ maxBytes: 16 * 1024 * 1024, now });
  const encryption = keys.length === 0 ? undefined : encryptionOf(...keys);
  return { clock, store, now, cache: new AnswerCache({ store, encryption, now, maxEntryBytes: 1000 }) };
}

describe('what was answered', () => {
  it('is recalled as it was, by the same request alone', async () => {
    const { cache, clock } = stage();
    expect(cache.remember(keyOf('one'), answeredOf(), HOUR_MS)).toBeUndefined();
    expect(await cache.recall(keyOf('one'), HOUR_MS)).toEqual(entryOf({ storedAtMs: clock.nowMs, maxAgeMs: HOUR_MS }));
    expect(await cache.recall(keyOf('two'), HOUR_MS)).toBeUndefined();
    expect(await cache.recall(keyOf('one', 'team-b'), HOUR_MS)).toBeUndefined();
  });

  it('comes without a promise from the memory of this process', () => {
    const { cache } = stage();
    cache.remember(keyOf('one'), answeredOf(), HOUR_MS);
    expect(cache.recall(keyOf('one'), HOUR_MS)).not.toBeInstanceOf(Promise);
  });

  it('is never given past its max_age, nor past that of whoever asks', async () => {
    const { cache, clock } = stage();
    cache.remember(keyOf('one'), answeredOf(), 2_000);
    clock.nowMs += 1_000;
    expect(await cache.recall(keyOf('one'), 1_000)).toBeUndefined();
    expect(await cache.recall(keyOf('one'), 1_001)).toBeDefined();
    clock.nowMs += 999;
    expect(await cache.recall(keyOf('one'), HOUR_MS)).toBeDefined();
    clock.nowMs += 1;
    expect(await cache.recall(keyOf('one'), HOUR_MS)).toBeUndefined();
  });

  it('is not given past its max_age by a store that keeps it longer', async () => {
    const { clock, store, now } = stage();
    const slow: CacheStore = {
      bytes: 0,
      get: (key) => Promise.resolve(store.get(key)),
      set: (key, bytes) => store.set(key, bytes, HOUR_MS),
      delete: (key) => store.delete(key),
      purge: (workspace) => store.purge(workspace),
      close: () => store.close(),
    };
    const cache = new AnswerCache({ store: slow, encryption: undefined, now });
    cache.remember(keyOf('one'), answeredOf(), 1_000);
    expect(await cache.recall(keyOf('one'), HOUR_MS)).toBeDefined();
    clock.nowMs += 1_000;
    expect(await cache.recall(keyOf('one'), HOUR_MS)).toBeUndefined();
  });

  it('is replaced by a newer answer', async () => {
    const { cache } = stage();
    cache.remember(keyOf('one'), answeredOf(), HOUR_MS);
    cache.remember(keyOf('one'), answeredOf({ body: Buffer.from('{"new":true}') }), HOUR_MS);
    expect((await cache.recall(keyOf('one'), HOUR_MS))?.body.toString()).toBe('{"new":true}');
  });

  it('is forgotten one by one, and by workspace', async () => {
    const { cache } = stage();
    const keys = [keyOf('one'), keyOf('two'), keyOf('one', 'team-b')] as const;
    for (const key of keys) cache.remember(key, answeredOf(), HOUR_MS);
    cache.forget(keys[1]);
    expect(await cache.recall(keys[1], HOUR_MS)).toBeUndefined();
    await cache.purge('team-a');
    expect(await cache.recall(keys[0], HOUR_MS)).toBeUndefined();
    expect(await cache.recall(keys[2], HOUR_MS)).toBeDefined();
  });

  it('lies in the store encrypted where there is a key, and is lost with the key', async () => {
    const { cache, store, now } = stage([FIRST_KEY]);
    cache.remember(keyOf('one'), answeredOf(), HOUR_MS);
    expect(store.get(keyOf('one'))?.includes('Hello!')).toBe(false);
    expect((await cache.recall(keyOf('one'), HOUR_MS))?.body).toEqual(BODY);
    const other = new AnswerCache({ store, encryption: encryptionOf(SECOND_KEY), now });
    expect(await other.recall(keyOf('one'), HOUR_MS)).toBeUndefined();
  });
});

describe('what was asked in other words', () => {
  const question = (content: string, workspace = 'team-a') => {
    const scope = scopeOf({ workspace });
    const asked = semanticQuestion(
      requestOf({ scope, body: { messages: [{ role: 'user', content }] } }),
      10,
      '@embed/small',
    );
    if (asked === undefined) throw new Error('it has no meaning');
    return asked;
  };
  const [ROME, ROMA] = [question('Where is Rome?'), question('Where is Roma?')];
  const VECTOR = [1, 2, 3, 4];
  const CLOSE = [1.01, 2, 3, 4];

  function semanticStage() {
    const staged = stage();
    const vectors = new Vectors({ maxBytes: 1024 * 1024, now: staged.now });
    const cache = new AnswerCache({ store: staged.store, encryption: undefined, now: staged.now, vectors });
    cache.remember(ROME.key, answeredOf(), HOUR_MS);
    cache.rememberMeaning(ROME, VECTOR, HOUR_MS);
    return { ...staged, vectors, cache };
  }

  it('has the same answer', async () => {
    const { cache } = semanticStage();
    expect(await cache.recall(ROMA.key, HOUR_MS)).toBeUndefined();
    expect((await cache.recallSimilar(ROMA, CLOSE, HOUR_MS))?.body).toEqual(BODY);
    expect(await cache.recallSimilar(ROMA, [4, -3, 2, -1], HOUR_MS)).toBeUndefined();
  });

  it('has it never for another workspace', async () => {
    const { cache } = semanticStage();
    expect(await cache.recallSimilar(question('Where is Rome?', 'team-b'), VECTOR, HOUR_MS)).toBeUndefined();
  });

  it('has it no longer than its max_age, or that of whoever asks', async () => {
    const { cache, clock } = semanticStage();
    clock.nowMs += 1_000;
    expect(await cache.recallSimilar(ROMA, CLOSE, 1_000)).toBeUndefined();
    expect(await cache.recallSimilar(ROMA, CLOSE, HOUR_MS)).toBeDefined();
    clock.nowMs += HOUR_MS;
    expect(await cache.recallSimilar(ROMA, CLOSE, HOUR_MS)).toBeUndefined();
  });

  it.each([
    ['forgotten', (cache: AnswerCache) => cache.forget(ROME.key)],
    ['purged', (cache: AnswerCache) => cache.purge('team-a')],
  ])('has none once it was %s', async (_what, drop) => {
    const { cache, vectors } = semanticStage();
    await drop(cache);
    expect(vectors.size).toBe(0);
    expect(await cache.recallSimilar(ROMA, CLOSE, HOUR_MS)).toBeUndefined();
  });

  it('is no longer looked for where the store has lost the answer', async () => {
    const { cache, store, vectors } = semanticStage();
    store.delete(ROME.key);
    expect(await cache.recallSimilar(ROMA, CLOSE, HOUR_MS)).toBeUndefined();
    expect(vectors.size).toBe(0);
  });

  it('is found by nobody where meanings are not compared', async () => {
    const { cache } = stage();
    cache.remember(ROME.key, answeredOf(), HOUR_MS);
    cache.rememberMeaning(ROME, VECTOR, HOUR_MS);
    expect(await cache.recallSimilar(ROME, VECTOR, HOUR_MS)).toBeUndefined();
  });
});

describe('what is not kept', () => {
  it.each([
    ['an answer that a guardrail denied', { denied: true }, 'denied'],
    ['a verdict that let it pass', { status: 246 }, 'denied'],
    ['a verdict that did not', { status: 446 }, 'denied'],
    ['a failure of the upstream', { status: 500 }, 'failed'],
    ['a refusal', { status: 429 }, 'failed'],
    ['a redirect', { status: 302 }, 'failed'],
    ['a stream that broke off', { complete: false }, 'incomplete'],
    ['what the caller does not want kept', { noStore: true }, 'no_store'],
    ['nothing', { body: Buffer.alloc(0) }, 'empty'],
    ['what is too large', { body: Buffer.alloc(1001, 32) }, 'too_large'],
  ] satisfies [string, Partial<Answered>, WhyNotStored][])('%s', async (_what, parts, why) => {
    const { cache, store } = stage();
    expect(cache.remember(keyOf('one'), answeredOf(parts), HOUR_MS)).toBe(why);
    expect(await cache.recall(keyOf('one'), HOUR_MS)).toBeUndefined();
    expect(store.size).toBe(0);
  });

  it('leaves what is there', async () => {
    const { cache } = stage();
    cache.remember(keyOf('one'), answeredOf(), HOUR_MS);
    cache.remember(keyOf('one'), answeredOf({ denied: true, body: Buffer.from('{}') }), HOUR_MS);
    expect((await cache.recall(keyOf('one'), HOUR_MS))?.body).toEqual(BODY);
  });

  it.each([200, 201, 299])('status %d is', (status) => {
    expect(stage().cache.remember(keyOf('one'), answeredOf({ status }), HOUR_MS)).toBeUndefined();
  });

  it('as large as may be is', () => {
    const body = Buffer.alloc(1000, 32);
    expect(stage().cache.remember(keyOf('one'), answeredOf({ body }), HOUR_MS)).toBeUndefined();
  });
});

describe('the rule of a config', () => {
  it.each([
    [undefined, undefined],
    [{ mode: 'simple' }, { mode: 'simple', maxAgeMs: 604_800_000 }],
    [
      { mode: 'semantic', max_age: 1 },
      { mode: 'semantic', maxAgeMs: 1_000 },
    ],
    [
      { mode: 'simple', max_age: 7_776_000 },
      { mode: 'simple', maxAgeMs: 7_776_000_000 },
    ],
  ] as const)('%j', (said, rule) => {
    expect(cacheRuleOf(said === undefined ? undefined : cacheSchema.parse(said))).toEqual(rule);
  });

  it.each([0, 7_776_001, 1.5, '60'])('a max_age of %j is refused', (max_age) => {
    expect(cacheSchema.safeParse({ mode: 'simple', max_age }).success).toBe(false);
  });
});

describe('cache-control of the caller', () => {
  it.each([
    [undefined, false],
    ['', false],
    ['no-store', true],
    ['No-Store', true],
    ['no-cache, no-store', true],
    ['no-cache ,no-store , max-age=0', true],
    ['no-cache', false],
    ['x-no-store', false],
    ['no-store-at-all', false],
  ])('%j', (value, isAsked) => {
    expect(asksNoStore(value)).toBe(isAsked);
  });
});

describe('the status that callers are told', () => {
  const MISS: CacheCourse = { enabled: true, refreshed: false, found: undefined, searched: false };
  it.each([
    [{ enabled: false }, 'DISABLED'],
    [{ enabled: false, refreshed: true }, 'DISABLED'],
    [{ refreshed: true }, 'REFRESH'],
    [{ refreshed: true, searched: true }, 'REFRESH'],
    [{}, 'MISS'],
    [{ found: 'equal' }, 'HIT'],
    [{ found: 'equal', searched: true }, 'HIT'],
    [{ searched: true }, 'SEMANTIC MISS'],
    [{ searched: true, found: 'similar' }, 'SEMANTIC HIT'],
  ] satisfies [Partial<CacheCourse>, CacheStatus][])('%j: %s', (course, status) => {
    expect(cacheStatus({ ...MISS, ...course })).toBe(status);
  });
});
