/** The last good snapshot: what a restart finds, and what it makes of damage. */
import {
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { endAll, makeStateDir, makeVolume, startFed } from './fed-gateway.ts';
import { ScriptedApi } from './scripted-api.ts';
import { CREDENTIAL, KEY, largeVersion, refusedVersion, version } from './versions.ts';

afterEach(endAll);

const NO_POLL = { pollMs: 600_000 };
const keptIn = (state: string) => join(state, 'last-good');

/** A state directory in which generation 7 is kept. */
async function stateOf(snapshot = version(7)): Promise<string> {
  const [volume, state] = [makeVolume(), makeStateDir()];
  volume.publish(snapshot);
  const gateway = await startFed(volume.path, state, NO_POLL);
  expect(await gateway.ready()).toBe(200);
  await gateway.stop();
  return state;
}

const nowhere = '/nowhere/at/all';

describe('a restart', () => {
  it('serves the last good snapshot, with neither volume nor API server', async () => {
    const state = await stateOf();
    const api = new ScriptedApi();
    api.goAway();
    const gateway = await startFed(nowhere, state, { api, ...NO_POLL });
    expect([await gateway.ready(), await gateway.word()]).toEqual([200, 'word-7']);
    expect(await gateway.config()).toMatchObject({ generation: 7, hash: version(7).hash });
    expect(await gateway.told('snapshot loaded')).toMatchObject([{ generation: 7, source: 'state' }]);
  });

  it('takes what is newer then, from volume and API server, and keeps that', async () => {
    const state = await stateOf();
    const [volume, api] = [makeVolume(), new ScriptedApi()];
    volume.publish(version(8));
    api.publish(version(9));
    const gateway = await startFed(volume.path, state, { api, ...NO_POLL });
    await gateway.serves(9);
    const loaded = (await gateway.told('snapshot loaded', 2)).map(({ source }) => source);
    expect([loaded[0], loaded.at(-1)]).toEqual(['state', 'api']);
    await gateway.stop();
    const next = await startFed(nowhere, state, NO_POLL);
    expect(await next.word()).toBe('word-9');
  });

  it('does not fall back to an older volume', async () => {
    const state = await stateOf();
    const volume = makeVolume();
    volume.publish(version(6));
    const gateway = await startFed(volume.path, state, NO_POLL);
    expect((await gateway.config()).generation).toBe(7);
  });

  it('serves what was served, not what was refused', async () => {
    const [volume, state] = [makeVolume(), makeStateDir()];
    volume.publish(version(7));
    const gateway = await startFed(volume.path, state, NO_POLL);
    volume.publish(refusedVersion(8));
    await gateway.told('snapshot refused');
    await gateway.stop();
    const next = await startFed(nowhere, state, NO_POLL);
    expect([await next.ready(), await next.word()]).toEqual([200, 'word-7']);
  });

  it('with many shards finds them all', async () => {
    const state = await stateOf(largeVersion(7, 'large'));
    const gateway = await startFed(nowhere, state, NO_POLL);
    expect(await gateway.word()).toBe('large');
  });
});

describe('the kept files', () => {
  it('are readable by their owner alone, and no more than one snapshot', async () => {
    const [volume, state] = [makeVolume(), makeStateDir()];
    volume.publish(version(1));
    const gateway = await startFed(volume.path, state, NO_POLL);
    for (const generation of [2, 3, 4]) {
      volume.publish(version(generation));
      await gateway.serves(generation);
    }
    await gateway.stop();
    const directory = keptIn(state);
    expect(statSync(directory).mode & 0o777).toBe(0o700);
    const names = readdirSync(directory);
    expect(names).toHaveLength(1 + version(4).shards.size);
    for (const name of names) expect(statSync(join(directory, name)).mode & 0o777, name).toBe(0o600);
    const texts = names.map((name) => readFileSync(join(directory, name), 'latin1'));
    expect(texts.join('')).not.toContain(KEY);
  });

  it('say the former snapshot or the next one, wherever the writing of the next one ends', async () => {
    const before = keptIn(await stateOf(version(7)));
    const after = keptIn(await stateOf(version(8)));
    const fresh = readdirSync(after).filter((name) => !existsSync(join(before, name)));
    expect(fresh).toHaveLength(1);
    const steps: ((directory: string) => void)[] = [
      (directory) => writeFileSync(join(directory, 'new'), 'half a sha'),
      ...fresh.map((name) => (directory: string) => cpSync(join(after, name), join(directory, name))),
      (directory) => writeFileSync(join(directory, 'new'), '0123\n{"format":1,'),
      (directory) => cpSync(join(after, 'index'), join(directory, 'index')),
    ];
    const words: string[] = [];
    for (let done = 0; done <= steps.length; done += 1) {
      const state = makeStateDir();
      cpSync(before, keptIn(state), { recursive: true });
      for (const step of steps.slice(0, done)) step(keptIn(state));
      const gateway = await startFed(nowhere, state, NO_POLL);
      words.push(await gateway.word());
    }
    expect(words).toEqual(['word-7', 'word-7', 'word-7', 'word-7', 'word-8']);
  });

  it('that cannot be written are told of once a reason, and nothing else suffers', async () => {
    const [volume, state] = [makeVolume(), makeStateDir()];
    writeFileSync(state, 'a file where the directory should be');
    volume.publish(version(1));
    const gateway = await startFed(volume.path, state, NO_POLL);
    for (const generation of [2, 3]) {
      volume.publish(version(generation));
      await gateway.serves(generation);
    }
    await gateway.stop();
    expect(await gateway.told('last good snapshot not kept')).toHaveLength(1);
    expect(gateway.lines().filter(({ level }) => level === 'error')).toEqual([]);
  });
});

describe('a damaged one', () => {
  const shardIn = (directory: string) => join(directory, readdirSync(directory).find((name) => name !== 'index') ?? '');
  const bend = (path: string, from: string | RegExp, to: string) => {
    const text = readFileSync(path, 'utf8');
    expect(text).toMatch(from);
    writeFileSync(path, text.replace(from, to));
  };

  it.each<[string, (directory: string) => void]>([
    ['without a shard', (directory) => rmSync(shardIn(directory))],
    ['with half a shard', (directory) => truncateSync(shardIn(directory), 20)],
    ['with another shard', (directory) => writeFileSync(shardIn(directory), CREDENTIAL)],
    ['with an empty index', (directory) => writeFileSync(join(directory, 'index'), '')],
    ['with half an index', (directory) => truncateSync(join(directory, 'index'), 100)],
    ['with a higher generation', (directory) => bend(join(directory, 'index'), '"generation":7', '"generation":77')],
    ['with another hash', (directory) => bend(join(directory, 'index'), /"hash":"[0-9a-f]/, '"hash":"')],
    ['with an index of 2 MB', (directory) => writeFileSync(join(directory, 'index'), ' '.repeat(2_000_000))],
    [
      'whose index is a directory',
      (directory) => {
        rmSync(join(directory, 'index'));
        mkdirSync(join(directory, 'index'));
      },
    ],
  ])('%s is ignored with one line, and what is published is served and kept', async (_what, damage) => {
    const state = await stateOf();
    damage(keptIn(state));
    const gateway = await startFed(nowhere, state, NO_POLL);
    expect(await gateway.ready()).toBe(503);
    expect(await gateway.config()).not.toHaveProperty('refused');
    expect(await gateway.told('last good snapshot ignored')).toHaveLength(1);
    expect(gateway.text()).not.toContain(CREDENTIAL);
    await gateway.stop();
    const volume = makeVolume();
    volume.publish(version(3));
    const next = await startFed(volume.path, state, NO_POLL);
    expect(await next.word()).toBe('word-3');
    await next.stop();
    expect(await (await startFed(nowhere, state, NO_POLL)).word()).toBe('word-3');
  });
});
