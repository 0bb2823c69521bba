/** Snapshots from the mounted volume: swapped as kubelet swaps them, mixed, damaged, missing. */
import { afterEach, describe, expect, it } from 'vitest';
import { sleep } from '../../operator/folder.ts';
import { endAll, makeStateDir, makeVolume, startFed } from './fed-gateway.ts';
import { filesOf } from './mounted-volume.ts';
import { CREDENTIAL, KEY, largeVersion, refusedVersion, reindexed, version } from './versions.ts';

afterEach(endAll);

/** A poll that no test waits for: what is seen was seen by the watch. */
const NO_POLL = { pollMs: 600_000 };
/** For what no watch tells of. */
const POLL = { pollMs: 100 };

describe('a mounted snapshot', () => {
  it('is served as soon as the feed has started', async () => {
    const volume = makeVolume();
    volume.publish(version(7));
    const gateway = await startFed(volume.path, makeStateDir(), NO_POLL);
    expect(await gateway.config()).toMatchObject({ generation: 7, hash: version(7).hash });
    expect([await gateway.ready(), await gateway.word()]).toEqual([200, 'word-7']);
    const [line] = await gateway.told('snapshot loaded');
    expect(line).toMatchObject({ level: 'info', generation: 7, hash: version(7).hash, source: 'volume' });
    expect(line?.['took_ms']).toBeGreaterThan(0);
  });

  it('is followed from swap to swap by the watch alone', async () => {
    const volume = makeVolume();
    volume.publish(version(1));
    const gateway = await startFed(volume.path, makeStateDir(), NO_POLL);
    for (const generation of [2, 3, 4, 5, 6]) {
      volume.publish(version(generation));
      await gateway.serves(generation);
      expect(await gateway.word()).toBe(`word-${generation}`);
    }
  });

  it('is found where the directory comes late, goes, and comes again', async () => {
    const volume = makeVolume();
    const gateway = await startFed(volume.path, makeStateDir(), POLL);
    expect([await gateway.ready(), await gateway.word()]).toEqual([503, '503']);
    expect(await gateway.config()).toEqual({ generation: 0, hash: '', loaded_at: null, format: 2 });
    volume.publish(version(1));
    await gateway.serves(1);
    volume.unmount();
    await sleep(300);
    expect([await gateway.ready(), await gateway.word()]).toEqual([200, 'word-1']);
    volume.publish(version(2));
    await gateway.serves(2);
    volume.publish(version(3));
    await gateway.serves(3);
    expect(gateway.lines().filter(({ level, msg }) => level !== 'info' && msg !== 'request')).toEqual([]);
  });

  it('in a plain directory is served when the last of its files is written', async () => {
    const volume = makeVolume();
    const gateway = await startFed(volume.path, makeStateDir(), POLL);
    const { index, shards } = version(1);
    volume.write('index', index.slice(0, index.length / 2));
    await gateway.told('snapshot index unreadable');
    volume.write('index', index);
    for (const [name, bytes] of shards) {
      volume.write(name, bytes.subarray(0, bytes.length - 1));
      await sleep(20);
      expect(await gateway.ready()).toBe(503);
    }
    for (const [name, bytes] of shards) volume.write(name, bytes);
    await gateway.serves(1);
    expect((await gateway.config()).refused).toBeUndefined();
  });

  it('takes no credential and no key to the log', async () => {
    const volume = makeVolume();
    volume.publish(version(1));
    const gateway = await startFed(volume.path, makeStateDir(), NO_POLL);
    volume.swap(new Map([...filesOf(version(2)), ['index', CREDENTIAL]]));
    await gateway.told('snapshot index unreadable');
    volume.publish(refusedVersion(3));
    await gateway.told('snapshot refused');
    volume.swap(new Map([...filesOf(version(4)), ['snapshot-0', KEY]]));
    await gateway.told('snapshot incomplete');
    await gateway.word();
    await gateway.stop();
    expect(gateway.text()).toContain('"msg":"request"');
    expect(gateway.text()).not.toContain(CREDENTIAL);
    expect(gateway.text()).not.toContain(KEY);
  });
});

describe('a mixture of two snapshots', () => {
  const [before, after] = [version(1), version(2)];

  it.each([
    ['the new index over old shards', [...filesOf(before), ['index', after.index]]],
    ['a shard of the old one', [...filesOf(after), ['snapshot-0', before.shards.get('snapshot-0') ?? '']]],
    ['no shard', [['index', after.index]]],
    ['one shard less', [...filesOf(after)].filter(([name]) => name !== 'snapshot-0')],
    ['a shard cut short', [...filesOf(after), ['snapshot-0', after.shards.get('snapshot-0')?.subarray(0, 99) ?? '']]],
  ] as const)('with %s is not served, nor counted as refused; whole it is', async (_what, files) => {
    const volume = makeVolume();
    volume.publish(before);
    const gateway = await startFed(volume.path, makeStateDir(), NO_POLL);
    volume.swap(new Map(files as [string, Uint8Array | string][]));
    const [line] = await gateway.told('snapshot incomplete');
    expect(line).toMatchObject({
      generation: 2,
      source: 'volume',
      reason: expect.stringMatching(/^shard snapshot-0 /),
    });
    expect(await gateway.word()).toBe('word-1');
    expect((await gateway.config()).refused).toBeUndefined();
    volume.publish(after);
    await gateway.serves(2);
    expect(await gateway.word()).toBe('word-2');
  });

  it('that lasts is told of once', async () => {
    const volume = makeVolume();
    volume.publish(before);
    const gateway = await startFed(volume.path, makeStateDir(), { pollMs: 20 });
    volume.swap(new Map([...filesOf(before), ['index', after.index]]));
    await gateway.told('snapshot incomplete');
    await sleep(400);
    expect(await gateway.told('snapshot incomplete')).toHaveLength(1);
  });

  it('that needs only what is in use already is whole', async () => {
    const volume = makeVolume();
    volume.publish(before);
    const gateway = await startFed(volume.path, makeStateDir(), NO_POLL);
    // Of three shards one changed: kubelet has not brought the others yet.
    const changed = [...after.shards].filter(
      ([name, bytes]) => !Buffer.from(bytes).equals(before.shards.get(name) ?? Buffer.alloc(0)),
    );
    expect(changed.length).toBeLessThan(after.shards.size);
    volume.swap(new Map<string, Uint8Array | string>([['index', after.index], ...changed]));
    await gateway.serves(2);
  });

  it('of large snapshots, swapped shard by shard, is never served', async () => {
    const [first, second] = [largeVersion(1, 'first'), largeVersion(2, 'second')];
    expect(first.shards.size).toBeGreaterThan(5);
    const volume = makeVolume();
    volume.publish(first);
    const gateway = await startFed(volume.path, makeStateDir(), NO_POLL);
    const files = new Map(filesOf(first));
    for (const [name, content] of filesOf(second)) {
      expect(await gateway.word()).toBe('first');
      files.set(name, content);
      volume.swap(files);
      await sleep(10);
    }
    await gateway.serves(2);
    expect(await gateway.word()).toBe('second');
  });
});

describe('what no gateway can serve', () => {
  it.each([
    ['of an unknown format', reindexed(version(5), () => ({ format: 3, more: [] })), /^unknown format 3/],
    [
      'with a wrong hash of its index',
      reindexed(version(5), () => ({ hash: '0'.repeat(64) })),
      /^wrong hash of the index/,
    ],
    ['with an unknown provider', refusedVersion(5), /names the provider "nobody"/],
    ['with a key of its own', reindexed(version(5), () => ({ more: 1 })), /^index /],
  ])(
    '%s is refused, told of at /config until a newer one is accepted, and not tried again',
    async (_what, bad, reason) => {
      const volume = makeVolume();
      volume.publish(version(4));
      const gateway = await startFed(volume.path, makeStateDir(), { pollMs: 20 });
      volume.publish(bad);
      await gateway.told('snapshot refused');
      await sleep(200);
      const refused = { generation: 5, hash: bad.hash, reason: expect.stringMatching(reason) };
      expect(await gateway.config()).toMatchObject({ generation: 4, refused });
      expect(await gateway.told('snapshot refused')).toMatchObject([{ level: 'error', source: 'volume', ...refused }]);
      expect([await gateway.ready(), await gateway.word()]).toEqual([200, 'word-4']);
      volume.publish(version(6));
      await gateway.serves(6);
      expect(await gateway.config()).not.toHaveProperty('refused');
    },
  );

  it.each(['index', 'snapshot-0'])('a %s of 50 MB is not read, and told of', async (name) => {
    const volume = makeVolume();
    volume.publish(version(1));
    const gateway = await startFed(volume.path, makeStateDir(), NO_POLL);
    volume.swap(new Map([...filesOf(version(2)), [name, Buffer.alloc(50_000_000, ' ')]]));
    const [line] = await gateway.told('snapshot volume unreadable');
    expect(line?.['reason']).toMatch(new RegExp(`/${name} has 50000000 bytes, must have at most 1048576$`));
    expect(await gateway.word()).toBe('word-1');
    volume.publish(version(3));
    await gateway.serves(3);
  });

  it('more shards than it may read is refused with the flag that says so', async () => {
    const volume = makeVolume();
    volume.publish(version(1));
    const gateway = await startFed(volume.path, makeStateDir(), { maxShards: 1, ...NO_POLL });
    await gateway.serves(1);
    volume.publish(largeVersion(2, 'large'));
    const [line] = await gateway.told('snapshot refused');
    expect(line).toMatchObject({ generation: 2, reason: expect.stringMatching(/reads 1 of each kind.*--max-shards/) });
    expect((await gateway.config()).refused?.generation).toBe(2);
    expect(await gateway.word()).toBe('word-1');
  });
});
