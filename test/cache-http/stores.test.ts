/** Where answers lie: in memory, in a store that replicas share, encrypted; and how they are purged. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import type { CacheSettings } from '#gateway/cache/open-cache.ts';
import { addressOf } from '../cache/redis-values.ts';
import { apiKey, object } from '../fakes/objects.ts';
import { waitFor } from '../fakes/wait-for.ts';
import { describeRedis } from '../limits/stores/describe-redis.ts';
import { newPrefix, type RedisServers, startRedis } from '../limits/stores/redis-servers.ts';
import { type CacheStage, OTHER_TENANT, question, startCacheStage, type Told, toldBy } from './stage.ts';

const ends: (() => unknown)[] = [];
afterEach(async () => {
  for (const end of ends.splice(0).reverse()) await end();
});

async function staged(cache: CacheSettings = {}, manifests = ''): Promise<CacheStage> {
  const stage = await startCacheStage({ cache, manifests });
  ends.push(() => stage.close());
  return stage;
}

function keyFile(text: string): string {
  const folder = mkdtempSync(join(tmpdir(), 'model-gateway-cache-'));
  ends.push(() => rmSync(folder, { recursive: true }));
  const path = join(folder, 'keys');
  writeFileSync(path, text);
  return path;
}

describe('in memory', () => {
  it('what is used least goes first where --cache-bytes are full', async () => {
    const stage = await staged({ bytes: 16 * 1024 });
    const asked = Array.from({ length: 40 }, () => question());
    for (const each of asked) await toldBy(stage.ask(each));
    expect(await stage.gateway.metric('modelgateway_cache_bytes')).toBeLessThanOrEqual(16 * 1024);
    expect((await toldBy(stage.ask(asked.at(-1)))).cache).toBe('HIT');
    expect((await toldBy(stage.ask(asked[0]))).cache).toBe('MISS');
  });

  it('is encrypted where there is a key', async () => {
    const stage = await staged({ keyFile: keyFile('11'.repeat(32)) });
    const asked = question();
    const first = await toldBy(stage.ask(asked));
    expect(await toldBy(stage.ask(asked))).toEqual({ ...first, cache: 'HIT' });
  });

  it.each([
    ['is not there', () => '/no/such/file'],
    ['is empty', () => keyFile('')],
    ['holds something else', () => keyFile('a key')],
  ])('no gateway starts with a key file that %s', async (_how, path) => {
    await expect(staged({ keyFile: path() })).rejects.toMatchObject({
      name: 'StoreProblem',
      message: expect.stringContaining('--cache-key-file'),
    });
  });
});

function workspace(word?: string, name = 'default'): string {
  const annotations = word === undefined ? {} : { 'modelgateway.dev/purge-cache': word };
  return object('Workspace', name, {}, { namespace: 'model-gateway', annotations });
}

describe('the annotation purge-cache of a Workspace', () => {
  it('with a new word: nothing is given any more of what was kept', async () => {
    const stage = await staged({}, workspace('one'));
    const asked = question();
    await toldBy(stage.ask(asked));
    stage.gateway.apply(OTHER_TENANT + workspace('one'));
    expect((await toldBy(stage.ask(asked))).cache).toBe('HIT');
    stage.gateway.apply(OTHER_TENANT + workspace('two'));
    expect((await toldBy(stage.ask(asked))).cache).toBe('MISS');
    expect((await toldBy(stage.ask(asked))).cache).toBe('HIT');
  });

  it('frees what the answers took', async () => {
    const stage = await staged({}, workspace('one'));
    await toldBy(stage.ask(question()));
    expect(await stage.gateway.metric('modelgateway_cache_bytes')).toBeGreaterThan(0);
    stage.gateway.apply(OTHER_TENANT + workspace('two'));
    await waitFor(async () => (await stage.gateway.metric('modelgateway_cache_bytes')) === 0, 'room');
  });

  it('is about that workspace alone', async () => {
    const stage = await staged({}, workspace('one') + workspace('one', 'team-b'));
    const asked = question();
    const other = { 'x-gateway-api-key': stage.otherKey };
    await toldBy(stage.ask(asked, other));
    stage.gateway.apply(OTHER_TENANT + workspace('two') + workspace('one', 'team-b'));
    expect((await toldBy(stage.ask(asked, other))).cache).toBe('HIT');
  });
});

const PURGE_KEY = 'purging-key-0123456789';
const CHIEF_KEY = 'organisation-key-0123456789';
const PURGER =
  apiKey('purger', PURGE_KEY, { scopes: ['cache.purge'] }) +
  apiKey('chief', CHIEF_KEY, { type: 'organisation-service', scopes: ['cache.purge'] }, 'model-gateway');

function purge({ gateway }: CacheStage, key = PURGE_KEY, query = ''): Promise<Response> {
  return fetch(`${gateway.origin}/v1/cache${query}`, { method: 'DELETE', headers: { 'x-gateway-api-key': key } });
}

describe('DELETE /v1/cache', () => {
  it("empties the cache of the caller's workspace, and of no other", async () => {
    const stage = await staged({}, PURGER);
    const asked = question();
    const other = { 'x-gateway-api-key': stage.otherKey };
    await toldBy(stage.ask(asked));
    await toldBy(stage.ask(asked, other));
    const answer = await purge(stage);
    expect(answer.status).toBe(200);
    expect(await answer.json()).toEqual({ object: 'cache', workspace_id: 'default', status: 'purged' });
    expect((await toldBy(stage.ask(asked))).cache).toBe('MISS');
    expect((await toldBy(stage.ask(asked, other))).cache).toBe('HIT');
  });

  it('an organisation key says which', async () => {
    const stage = await staged({}, PURGER);
    const asked = question();
    await toldBy(stage.ask(asked));
    expect((await purge(stage, CHIEF_KEY, '?workspace_id=team-b')).status).toBe(200);
    expect((await toldBy(stage.ask(asked))).cache).toBe('HIT');
    expect((await purge(stage, CHIEF_KEY, '?workspace_id=default')).status).toBe(200);
    expect((await toldBy(stage.ask(asked))).cache).toBe('MISS');
  });

  it.each([
    ['without a key', '', '', 401, 'invalid_api_key'],
    ['without the scope', 'test-key-0123456789abcdef', '', 403, 'missing_scope'],
    ['in another workspace', PURGE_KEY, '?workspace_id=team-b', 403, 'workspace_not_allowed'],
  ])('is refused %s', async (_how, key, query, status, code) => {
    const stage = await staged({}, PURGER);
    const answer = await purge(stage, key, query);
    expect(answer.status).toBe(status);
    expect(await answer.json()).toMatchObject({ error: { code } });
  });

  it('says what to do instead where each replica keeps answers of its own', async () => {
    const stage = await startCacheStage({ manifests: PURGER, replica: { name: 'one', replicas: 2 } });
    ends.push(() => stage.close());
    const answer = await purge(stage);
    expect(answer.status).toBe(409);
    expect(await answer.json()).toMatchObject({
      error: { code: 'owned_elsewhere', message: expect.stringContaining('modelgateway.dev/purge-cache') },
    });
  });
});

describeRedis('in a store that replicas share', () => {
  let servers: RedisServers;

  /** The second may call the upstream of the first. */
  async function two(
    more: Partial<CacheSettings> = {},
    timeoutMs = 10_000,
  ): Promise<{ one: CacheStage; other: CacheStage }> {
    servers = await startRedis();
    ends.push(() => servers.stop());
    const files = { passwordFile: undefined, caFile: undefined };
    const cache = { shared: { address: addressOf(servers.url), prefix: newPrefix(), ...files, timeoutMs }, ...more };
    const one = await startCacheStage({ cache, manifests: PURGER });
    ends.push(() => one.close());
    const other = await startCacheStage((upstream) => ({
      cache,
      manifests: PURGER,
      requestHosts: [upstream.origin, one.upstream.origin],
      replica: { name: 'other', replicas: 2 },
    }));
    ends.push(() => other.close());
    return { one, other };
  }

  /** A connection takes its time. */
  async function keptBy(stage: CacheStage, asked: object): Promise<Told> {
    let told: Told | undefined;
    await waitFor(async () => {
      told = await toldBy(stage.ask(asked));
      return told.cache === 'HIT';
    }, 'an answer to be kept');
    if (told === undefined) throw new Error('nothing was kept');
    return told;
  }

  /** The same upstream for both, as the host is a part of what answers are kept by. */
  function askAt(stage: CacheStage, one: CacheStage, asked: object) {
    return toldBy(stage.gateway.chat(asked, one.config()));
  }

  it('one gives what the other has kept', async () => {
    const { one, other } = await two();
    const asked = question();
    const kept = await keptBy(one, asked);
    await keptBy(other, question());
    const calls = one.upstream.calls.length;
    expect(await askAt(other, one, asked)).toEqual({ ...kept, cache: 'HIT' });
    expect(one.upstream.calls.length).toBe(calls);
  });

  it('one purges for both', async () => {
    const { one, other } = await two();
    const asked = question();
    await keptBy(one, asked);
    await keptBy(other, question());
    expect((await purge(other)).status).toBe(200);
    expect((await toldBy(one.ask(asked))).cache).toBe('MISS');
  });

  it('keeps no readable answer where there is a key', async () => {
    const { one } = await two({ keyFile: keyFile('22'.repeat(32)) });
    const asked = question();
    await keptBy(one, asked);
    const [node] = servers.nodes;
    const keys = (await node?.client.keys('*')) ?? [];
    expect(keys.length).toBeGreaterThan(0);
    for (const key of keys)
      expect((await node?.client.getBuffer(key))?.toString('latin1')).not.toContain('answer number');
  });

  it('goes on without it where it is away, and comes back (G32)', async () => {
    const { one } = await two({}, 25);
    await keptBy(one, question());
    await servers.stop();
    const times: number[] = [];
    for (let time = 0; time < 50; time += 1) {
      const beganAt = performance.now();
      expect(await toldBy(one.ask(question()))).toMatchObject({ status: 200, cache: 'MISS' });
      times.push(performance.now() - beganAt);
    }
    expect(await one.gateway.metric('modelgateway_cache_faults_total', { of: 'store' })).toBeGreaterThan(0);
    expect(times.toSorted((a, b) => a - b)[25]).toBeLessThan(250);
  });
});
