/** Snapshots from the API server: how soon, with how few requests, and what its absence changes (nothing). */
import { afterEach, describe, expect, it } from 'vitest';
import { waitFor } from '../../fakes/wait-for.ts';
import { sleep } from '../../operator/folder.ts';
import { endAll, makeStateDir, makeVolume, startFed } from './fed-gateway.ts';
import { ScriptedApi } from './scripted-api.ts';
import { CREDENTIAL, KEY, version } from './versions.ts';

afterEach(endAll);

async function startWith(api: ScriptedApi) {
  return startFed(makeVolume().path, makeStateDir(), { api, pollMs: 600_000 });
}

describe('a published snapshot', () => {
  it('is served within a moment, with one watch of its index and a read for each shard that changed', async () => {
    const api = new ScriptedApi();
    api.publish(version(1));
    const gateway = await startWith(api);
    await gateway.serves(1);
    expect(api.requests.toSorted()).toEqual([
      'GET configmaps rel-snapshot-0',
      'GET secrets rel-credentials-0',
      'GET secrets rel-keys-0',
      'LIST configmaps rel-shares',
      'LIST configmaps rel-snapshot-index',
      'WATCH configmaps rel-shares',
      'WATCH configmaps rel-snapshot-index',
    ]);
    const took: number[] = [];
    for (const generation of [2, 3, 4, 5, 6]) {
      api.requests.length = 0;
      api.publish(version(generation));
      took.push(await gateway.serves(generation));
      expect(api.requests).toEqual(['GET configmaps rel-snapshot-0']);
    }
    expect(Math.min(...took)).toBeLessThan(300);
    expect(await gateway.word()).toBe('word-6');
    expect(api.watches).toBe(2);
  });

  it('is not loaded before its index is there', async () => {
    const api = new ScriptedApi();
    api.publish(version(1));
    const gateway = await startWith(api);
    await gateway.serves(1);
    api.putShards(version(2));
    await sleep(100);
    expect(await gateway.word()).toBe('word-1');
    api.putIndex(version(2).index);
    await gateway.serves(2);
  });

  it('whose shards belong to the next one already is left out, and the next one is served', async () => {
    const api = new ScriptedApi();
    api.publish(version(1));
    const gateway = await startWith(api);
    await gateway.serves(1);
    api.putShards(version(3));
    api.putIndex(version(2).index);
    const [line] = await gateway.told('snapshot incomplete');
    expect(line).toMatchObject({ generation: 2, source: 'api', reason: 'shard snapshot-0 is of another generation' });
    expect(await gateway.word()).toBe('word-1');
    api.putIndex(version(3).index);
    await gateway.serves(3);
  });

  it('is served when its shards come after its index', async () => {
    const api = new ScriptedApi();
    const gateway = await startWith(api);
    api.putIndex(version(1).index);
    await gateway.told('snapshot incomplete');
    api.putShards(version(1));
    await gateway.serves(1);
    expect(await gateway.word()).toBe('word-1');
  });
});

describe('an API server that fails', () => {
  it.each([403, 500, 429])('answering %i for a shard is asked again, and what was read is kept', async (status) => {
    const api = new ScriptedApi();
    let failures = 2;
    api.failing = (request) => (request.startsWith('GET secrets rel-keys-0') && failures-- > 0 ? status : undefined);
    api.publish(version(1));
    const gateway = await startWith(api);
    await gateway.serves(1);
    const told = await gateway.told('snapshot shard unreadable');
    expect(told, 'the same failure is told of once').toHaveLength(1);
    expect(told).toMatchObject([{ level: 'warn', reason: expect.stringContaining('rel-keys-0') }]);
    expect(api.requests.filter((request) => request === 'GET configmaps rel-snapshot-0')).toHaveLength(1);
  });

  it('forbidding the watch is told of once, while the volume is served', async () => {
    const [api, volume] = [new ScriptedApi(), makeVolume()];
    api.failing = () => 403;
    volume.publish(version(1));
    const gateway = await startFed(volume.path, makeStateDir(), { api });
    await waitFor(() => api.requests.length > 2, 'several tries');
    expect(await gateway.told('snapshot watch failed')).toHaveLength(1);
    volume.publish(version(2));
    await gateway.serves(2);
    expect(await gateway.ready()).toBe(200);
  });

  it('that goes away changes neither readiness nor what is served, and is followed when it is back', async () => {
    const api = new ScriptedApi();
    api.publish(version(1));
    const gateway = await startWith(api);
    await gateway.serves(1);
    for (const generation of [2, 3]) {
      api.goAway();
      const told = await gateway.told('snapshot watch failed', generation - 1);
      await sleep(1_000);
      expect(told, 'a line for each time that it is away').toHaveLength(generation - 1);
      expect([await gateway.ready(), await gateway.word()]).toEqual([200, `word-${generation - 1}`]);
      api.publish(version(generation));
      api.comeBack();
      await gateway.serves(generation, 20_000);
    }
    expect(gateway.lines().filter(({ level }) => level === 'warn')).toHaveLength(2);
  });

  it('that is away from the beginning keeps nobody from serving the volume', async () => {
    const [api, volume] = [new ScriptedApi(), makeVolume()];
    api.goAway();
    volume.publish(version(3));
    const gateway = await startFed(volume.path, makeStateDir(), { api });
    expect([await gateway.ready(), await gateway.word()]).toEqual([200, 'word-3']);
    api.publish(version(4));
    api.comeBack();
    await gateway.serves(4, 20_000);
  });

  it('gets no word of a credential into the log', async () => {
    const api = new ScriptedApi();
    api.publish(version(1));
    const gateway = await startWith(api);
    await gateway.serves(1);
    api.putIndex(`{"generation": "${CREDENTIAL}"}`);
    await gateway.told('snapshot index unreadable');
    api.goAway();
    await gateway.told('snapshot watch failed');
    await gateway.stop();
    expect(gateway.text()).not.toContain(CREDENTIAL);
    expect(gateway.text()).not.toContain(KEY);
  });
});

it('a feed that is closed watches nothing any longer', async () => {
  const api = new ScriptedApi();
  api.publish(version(1));
  const gateway = await startWith(api);
  await waitFor(() => api.watches === 2, 'the watches');
  await gateway.stop();
  await waitFor(() => api.watches === 0, 'the end of the watches');
  const asked = api.requests.length;
  api.publish(version(2));
  await sleep(100);
  expect(api.requests.length).toBe(asked);
});
