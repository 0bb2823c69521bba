/** The rule of generations, over all sources: the highest wins, whatever comes first and however often. */
import fc from 'fast-check';
import { afterEach, describe, expect, it } from 'vitest';
import { sleep } from '../../operator/folder.ts';
import { endAll, makeStateDir, makeVolume, startFed } from './fed-gateway.ts';
import { ScriptedApi } from './scripted-api.ts';
import { refusedVersion, reindexed, version } from './versions.ts';

afterEach(endAll);

const POLL = { pollMs: 20 };

describe('of two generations', () => {
  it('a lower one is never loaded, whichever source has it', async () => {
    const [volume, api] = [makeVolume(), new ScriptedApi()];
    volume.publish(version(5));
    const gateway = await startFed(volume.path, makeStateDir(), { api, ...POLL });
    api.publish(version(4));
    const [line] = await gateway.told('published snapshot is older than the served one');
    expect(line).toMatchObject({ level: 'warn', generation: 4 });
    volume.publish(version(3));
    await sleep(200);
    expect(await gateway.told('snapshot loaded')).toHaveLength(1);
    expect(await gateway.word()).toBe('word-5');
  });

  it('the higher one is loaded, whichever source has it', async () => {
    const [volume, api] = [makeVolume(), new ScriptedApi()];
    const gateway = await startFed(volume.path, makeStateDir(), { api, ...POLL });
    api.publish(version(1));
    await gateway.serves(1);
    volume.publish(version(2));
    await gateway.serves(2);
    api.publish(version(3));
    await gateway.serves(3);
    const loaded = await gateway.told('snapshot loaded', 3);
    expect(loaded.map(({ source, generation }) => [source, generation])).toEqual([
      ['api', 1],
      ['volume', 2],
      ['api', 3],
    ]);
  });

  it('the same from two sources is loaded once', async () => {
    const [volume, api] = [makeVolume(), new ScriptedApi()];
    api.publish(version(8));
    volume.publish(version(8));
    const gateway = await startFed(volume.path, makeStateDir(), { api, ...POLL });
    await gateway.serves(8);
    volume.publish(version(8));
    await sleep(200);
    expect(await gateway.told('snapshot loaded')).toHaveLength(1);
    expect(gateway.lines().filter(({ level }) => level !== 'info')).toEqual([]);
  });

  it('the same with other content is refused once, and told of', async () => {
    const [volume, api] = [makeVolume(), new ScriptedApi()];
    volume.publish(version(5));
    const gateway = await startFed(volume.path, makeStateDir(), { api, ...POLL });
    api.publish(version(5, 'usurper'));
    const [line] = await gateway.told('snapshot refused');
    expect(line).toMatchObject({ generation: 5, source: 'api' });
    expect(line?.['reason']).toBe(`generation 5 is served with other content (hash ${version(5).hash})`);
    volume.publish(version(5, 'usurper'));
    await sleep(200);
    expect(await gateway.told('snapshot refused')).toHaveLength(1);
    expect(await gateway.config()).toMatchObject({ generation: 5, refused: { hash: version(5, 'usurper').hash } });
    expect(await gateway.word()).toBe('word-5');
    api.publish(version(6));
    await gateway.serves(6);
    expect(await gateway.config()).not.toHaveProperty('refused');
  });
});

describe('a refused generation', () => {
  it('leaves the former one until the next, and does not bring back an older one', async () => {
    const [volume, api] = [makeVolume(), new ScriptedApi()];
    api.publish(version(3));
    const gateway = await startFed(volume.path, makeStateDir(), { api, ...POLL });
    await gateway.serves(3);
    api.publish(refusedVersion(4));
    await gateway.told('snapshot refused');
    volume.publish(refusedVersion(4));
    volume.publish(version(2));
    await sleep(200);
    expect(await gateway.told('snapshot refused')).toHaveLength(1);
    expect(await gateway.word()).toBe('word-3');
    api.publish(refusedVersion(5));
    await gateway.told('snapshot refused', 2);
    expect((await gateway.config()).refused?.generation).toBe(5);
    api.publish(version(6));
    await gateway.serves(6);
    expect(await gateway.config()).not.toHaveProperty('refused');
  });

  it('is told of still while something older than it is accepted', async () => {
    const [volume, api] = [makeVolume(), new ScriptedApi()];
    api.publish(refusedVersion(9));
    const gateway = await startFed(volume.path, makeStateDir(), { api, ...POLL });
    await gateway.told('snapshot refused');
    expect(await gateway.ready()).toBe(503);
    expect(await gateway.config()).toMatchObject({ generation: 0, refused: { generation: 9 } });
    volume.publish(version(8));
    await gateway.serves(8);
    expect(await gateway.config()).toMatchObject({ generation: 8, refused: { generation: 9 } });
    expect(await gateway.ready()).toBe(200);
  });

  it('is served once its index is repaired, under the same generation and hash', async () => {
    const api = new ScriptedApi();
    api.publish(version(1));
    const gateway = await startFed(makeVolume().path, makeStateDir(), { api });
    await gateway.serves(1);
    api.publish(reindexed(version(2), ({ hash, shards }) => ({ hash, shards: shards.toReversed() })));
    expect(await gateway.told('snapshot refused')).toMatchObject([{ hash: version(2).hash, reason: /wrong hash/ }]);
    api.putIndex(version(2).index);
    await gateway.serves(2);
  });
});

describe('an operator that lost what it published', () => {
  it('changes nothing by the loss, and is followed again from the first generation above', async () => {
    const [volume, api] = [makeVolume(), new ScriptedApi()];
    api.publish(version(41));
    const gateway = await startFed(volume.path, makeStateDir(), { api, ...POLL });
    await gateway.serves(41);
    api.deleteAll();
    volume.swap(new Map());
    await sleep(150);
    expect([await gateway.ready(), await gateway.word()]).toEqual([200, 'word-41']);
    // Of an operator that could not ask the gateways yet.
    api.publish(version(1));
    await gateway.told('published snapshot is older than the served one');
    expect((await gateway.config()).generation).toBe(41);
    api.publish(version(42));
    await gateway.serves(42);
    expect(await gateway.word()).toBe('word-42');
  });

  it('is followed after a restart of the gateway too', async () => {
    const [volume, api, state] = [makeVolume(), new ScriptedApi(), makeStateDir()];
    api.publish(version(41));
    const first = await startFed(volume.path, state, { api });
    await first.serves(41);
    await first.stop();
    api.deleteAll();
    const second = await startFed(volume.path, state, { api });
    expect(await second.word()).toBe('word-41');
    api.publish(version(42));
    await second.serves(42);
  });
});

it('in whatever order publications come by whichever source, the served generation is the highest so far', async () => {
  const step = fc.record({ source: fc.constantFrom('volume', 'api'), generation: fc.integer({ min: 1, max: 12 }) });
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 1, maxLength: 8 }), async (steps) => {
      const [volume, api] = [makeVolume(), new ScriptedApi()];
      const gateway = await startFed(volume.path, makeStateDir(), { api, pollMs: 20 });
      let highest = 0;
      for (const { source, generation } of steps) {
        (source === 'api' ? api : volume).publish(version(generation));
        highest = Math.max(highest, generation);
        await gateway.serves(highest);
      }
      const generations = (await gateway.told('snapshot loaded')).map((line) => Number(line['generation']));
      expect(generations).toEqual(generations.toSorted((a, b) => a - b));
      await endAll();
    }),
    { numRuns: 8 },
  );
});
