import { gunzipSync, gzipSync } from 'node:zlib';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { Snapshot } from '#crds/snapshot/contract.ts';
import { decodeSnapshot, type ShardMemory, SnapshotRefused } from '#crds/snapshot/decode.ts';
import { encodeSnapshot, SnapshotTooLarge } from '#crds/snapshot/encode.ts';
import {
  contentHash,
  type EncodedSnapshot,
  MAX_SHARD_BYTES,
  type SnapshotIndex,
} from '#crds/snapshot/index-document.ts';
import { NO_RECORDS } from '../fakes/no-records.ts';
import {
  configRecord,
  EMPTY,
  keyRecord,
  ordered,
  reversedKeys,
  SNAPSHOT,
  sha256,
  snapshots,
} from './snapshot-cases.ts';

const { credentials: _credentials, keys: _keys, ...NO_ROUTES } = NO_RECORDS;
const NO_ROUTING = JSON.stringify(NO_ROUTES);
const indexOf = ({ index }: EncodedSnapshot) => JSON.parse(index) as SnapshotIndex;

function refusal(encoded: EncodedSnapshot, memory?: ShardMemory): string {
  try {
    decodeSnapshot(encoded, memory);
  } catch (error) {
    expect(error).toBeInstanceOf(SnapshotRefused);
    return (error as Error).message;
  }
  return 'not refused';
}

/** A shard replaced by other content, with all hashes made to agree: what only a careless writer could do. */
function forged(
  shard: string,
  content: string | Uint8Array,
  change: (index: SnapshotIndex) => SnapshotIndex = (index) => index,
): EncodedSnapshot {
  const encoded = encodeSnapshot(SNAPSHOT, 1);
  const bytes = typeof content === 'string' ? gzipSync(content) : content;
  const index = indexOf(encoded);
  const shards = index.shards.map((entry) => (entry.name === shard ? { ...entry, hash: sha256(bytes) } : entry));
  const changed = change({ ...index, shards });
  const hash = contentHash(changed.format, changed.shards);
  return { index: JSON.stringify({ ...changed, hash }), shards: new Map(encoded.shards).set(shard, bytes) };
}

describe('round trip', () => {
  test.each([
    ['everything', SNAPSHOT],
    ['nothing', EMPTY],
  ])('%s', (_title, snapshot) => {
    const decoded = decodeSnapshot(encodeSnapshot(snapshot, 7));
    expect(ordered(decoded.snapshot)).toEqual(ordered(snapshot));
    expect(decoded.generation).toBe(7);
    expect(decoded.hash).toMatch(/^[0-9a-f]{64}$/);
  });

  test('of anything', () => {
    fc.assert(
      fc.property(snapshots, fc.nat(), (snapshot, generation) => {
        const decoded = decodeSnapshot(encodeSnapshot(snapshot, generation));
        expect(ordered(decoded.snapshot)).toEqual(ordered(snapshot));
        expect(decoded.generation).toBe(generation);
      }),
      { numRuns: 50 },
    );
  });

  test('what came back encodes to the same', () => {
    fc.assert(
      fc.property(snapshots, (snapshot) => {
        const encoded = encodeSnapshot(snapshot, 1);
        expect(encodeSnapshot(decodeSnapshot(encoded).snapshot, 1)).toEqual(encoded);
      }),
      { numRuns: 25 },
    );
  });
});

describe('equal content, equal bytes', () => {
  test('whatever the order of records and keys', () => {
    fc.assert(
      fc.property(snapshots, (snapshot) => {
        const turned = reversedKeys({
          ...snapshot,
          configs: snapshot.configs.toReversed(),
          keys: snapshot.keys.toReversed(),
        });
        expect(encodeSnapshot(turned, 3)).toEqual(encodeSnapshot(snapshot, 3));
      }),
      { numRuns: 50 },
    );
  });

  test('the hash is of the content, not of the generation', () => {
    const [first, second] = [encodeSnapshot(SNAPSHOT, 1), encodeSnapshot(SNAPSHOT, 2)];
    expect(indexOf(first).hash).toBe(indexOf(second).hash);
    expect([...first.shards]).toEqual([...second.shards]);
    expect(first.index).not.toBe(second.index);
  });

  test('any other content has another hash', () => {
    const hashes = [
      SNAPSHOT,
      EMPTY,
      { ...SNAPSHOT, settings: { ...SNAPSHOT.settings, request_hosts: [] } },
      { ...SNAPSHOT, keys: SNAPSHOT.keys.slice(1) },
      { ...SNAPSHOT, configs: SNAPSHOT.configs.map((record) => ({ ...record, is_default: true })) },
    ].map((snapshot) => indexOf(encodeSnapshot(snapshot, 1)).hash);
    expect(new Set(hashes).size).toBe(hashes.length);
  });

  test('bytes do not tell the platform', () => {
    for (const bytes of encodeSnapshot(SNAPSHOT, 1).shards.values()) {
      expect([...bytes.subarray(4, 8), bytes[9]]).toEqual([0, 0, 0, 0, 255]);
    }
  });
});

describe('shards', () => {
  const large: Snapshot = {
    ...SNAPSHOT,
    configs: Array.from({ length: 5000 }, (_, index) => configRecord(index)),
    keys: Array.from({ length: 20_000 }, (_, index) => keyRecord(index)),
  };
  const encoded = encodeSnapshot(large, 1);

  test('names and kinds', () => {
    expect(indexOf(encodeSnapshot(EMPTY, 1)).shards.map(({ name, kind }) => [name, kind])).toEqual([
      ['snapshot-0', 'routing'],
      ['credentials-0', 'credentials'],
      ['keys-0', 'keys'],
    ]);
    expect(indexOf(encoded).shards.map(({ name }) => name)).toEqual([...encoded.shards.keys()]);
  });

  test.each(['snapshot', 'keys'])('the number of %s shards is a power of two, and each can be stored', (prefix) => {
    const sizes = [...encoded.shards]
      .filter(([name]) => name.startsWith(`${prefix}-`))
      .map(([, bytes]) => bytes.length);
    expect(sizes.length).toBeGreaterThan(1);
    expect(Math.log2(sizes.length) % 1).toBe(0);
    expect(Math.max(...sizes)).toBeLessThanOrEqual(MAX_SHARD_BYTES);
    expect(Math.min(...sizes)).toBeGreaterThan(Math.max(...sizes) * 0.7);
  });

  test('a change of one record changes one shard', () => {
    const keys = large.keys.map((record, index) => (index === 777 ? { ...record, disabled: true } : record));
    const changed = encodeSnapshot({ ...large, keys }, 2);
    const differing = [...encoded.shards].filter(
      ([name, bytes]) => sha256(changed.shards.get(name) ?? '') !== sha256(bytes),
    );
    expect(differing).toHaveLength(1);
    expect(differing[0]?.[0]).toMatch(/^keys-/);
  });

  test('what does not compress gets more shards', () => {
    const noise = (index: number) => Array.from({ length: 2000 }, (_, part) => sha256(`${index}/${part}`)).join('');
    const configs = Array.from({ length: 40 }, (_, index) => ({
      ...configRecord(index),
      config: { override_params: { noise: noise(index) } },
    }));
    const shards = [...encodeSnapshot({ ...EMPTY, configs }, 1).shards].filter(([name]) =>
      name.startsWith('snapshot-'),
    );
    expect(Math.log2(shards.length) % 1).toBe(0);
    for (const [, bytes] of shards) expect(bytes.length).toBeLessThanOrEqual(MAX_SHARD_BYTES);
  });

  test('credentials and digests are only in shards of their own', () => {
    for (const [name, bytes] of encodeSnapshot(SNAPSHOT, 1).shards) {
      const text = gunzipSync(bytes).toString();
      expect(text.includes('sk-canary'), name).toBe(name.startsWith('credentials-'));
      expect(text.includes(sha256('key-1')), name).toBe(name.startsWith('keys-'));
    }
  });

  test('one object that fits no shard is refused by the writer', () => {
    const noise = Array.from({ length: 40_000 }, (_, part) => sha256(`${part}`)).join('');
    const configs = [{ ...configRecord(1), config: { override_params: { noise } } }];
    expect(() => encodeSnapshot({ ...EMPTY, configs }, 1)).toThrow(SnapshotTooLarge);
    expect(() => encodeSnapshot({ ...EMPTY, configs }, 1)).toThrow(/routing do not fit 128 shards of 900 KiB/);
  });

  test('more than 64 MiB are refused by the writer', () => {
    const padding = 'x'.repeat(1024 * 1024);
    const configs = Array.from({ length: 65 }, (_, index) => ({
      ...configRecord(index),
      config: { override_params: { padding } },
    }));
    expect(() => encodeSnapshot({ ...EMPTY, configs }, 1)).toThrow(/66 MiB unpacked, must be at most 64 MiB/);
  });
});

describe('refused', () => {
  const encoded = encodeSnapshot(SNAPSHOT, 1);

  test('any altered byte of any shard', () => {
    fc.assert(
      fc.property(
        fc.constantFrom(...encoded.shards.keys()),
        fc.nat(),
        fc.integer({ min: 1, max: 255 }),
        (name, position, flip) => {
          const bytes = Uint8Array.from(encoded.shards.get(name) ?? []);
          const offset = position % bytes.length;
          bytes[offset] = (bytes[offset] ?? 0) ^ flip;
          expect(refusal({ ...encoded, shards: new Map(encoded.shards).set(name, bytes) })).toBe(
            `wrong hash of shard ${name}`,
          );
        },
      ),
      { numRuns: 300 },
    );
  });

  test('any altered character of the index, but for the generation', () => {
    const generation = encoded.index.indexOf('"generation":1') + '"generation":'.length;
    for (let offset = 0; offset < encoded.index.length; offset++) {
      if (offset === generation) continue;
      const other = encoded.index[offset] === 'a' ? 'b' : 'a';
      const index = encoded.index.slice(0, offset) + other + encoded.index.slice(offset + 1);
      expect(refusal({ ...encoded, index }), index).not.toBe('not refused');
    }
  });

  test('a missing shard', () => {
    const shards = new Map(encoded.shards);
    shards.delete('keys-0');
    expect(refusal({ ...encoded, shards })).toBe('missing shard keys-0');
  });

  test('two snapshots mixed', () => {
    const other = encodeSnapshot({ ...SNAPSHOT, keys: [] }, 2);
    expect(refusal({ index: other.index, shards: encoded.shards })).toBe('wrong hash of shard keys-0');
  });

  test.each([
    ['{"format":1}', 'unknown format 1: this version reads format 2'],
    ['{"format":3,"whatever":true}', 'unknown format 3: this version reads format 2'],
    ['{}', 'unknown format missing: this version reads format 2'],
    ['null', 'unknown format missing: this version reads format 2'],
    ['{', 'index is not JSON'],
    ['', 'index is not JSON'],
    [
      '{"format":2}',
      'index.generation is required: an integer; index.hash is required: a string; index.shards is required: a list',
    ],
  ])('index %s', (index, message) => expect(refusal({ ...encoded, index })).toBe(message));

  test.each<[string, EncodedSnapshot, string | RegExp]>([
    ['no gzip', forged('keys-0', new Uint8Array([1, 2, 3])), 'shard keys-0 is not gzip'],
    ['no JSON', forged('keys-0', '{'), 'shard keys-0 is not JSON'],
    ['no object', forged('keys-0', '[]'), /^shard keys-0: must be an object, got a list/],
    ['a wrong record', forged('keys-0', '{"keys":[{}]}'), /^shard keys-0:\.keys\[0\]\.namespace is required/],
    ['a digest in a ConfigMap', forged('snapshot-0', NO_ROUTING.replace('}', ',"keys":[]}')), /unknown key "keys"/],
    ['no settings', forged('snapshot-0', NO_ROUTING), 'settings must be in one shard, are in 0'],
    ['a bomb', forged('keys-0', gzipSync(Buffer.alloc(65 * 1024 * 1024, ' '))), 'too large: more than 64 MiB unpacked'],
    [
      'a shard named twice',
      forged('keys-0', '{"keys":[]}', (index) => ({ ...index, shards: [...index.shards, ...index.shards.slice(-1)] })),
      'index names a shard twice',
    ],
    [
      'a path for a name',
      forged('x', '', (index) => ({
        ...index,
        shards: index.shards.map((entry) => ({ ...entry, name: '../../etc' })),
      })),
      /must be the name of a shard/,
    ],
  ])('%s', (_title, snapshot, message) => {
    if (typeof message === 'string') expect(refusal(snapshot)).toBe(message);
    else expect(refusal(snapshot)).toMatch(message);
  });

  test('at most five problems are told, and no value of a credential', () => {
    const fields = { api_key: 'sk-canary' };
    const credentials = Array.from({ length: 9 }, () => ({
      kind: 'sk-canary-kind',
      namespace: 1,
      name: 'n',
      path: '',
      fields,
    }));
    const message = refusal(forged('credentials-0', JSON.stringify({ credentials })));
    expect(message).toMatch(/and 13 more problems$/);
    expect(refusal(forged('credentials-0', JSON.stringify({ credentials: [{ fields: [fields] }] })))).not.toContain(
      'canary"}',
    );
  });
});

describe('memory', () => {
  test('shards that did not change are not read again', () => {
    const memory: ShardMemory = new Map();
    const first = decodeSnapshot(encodeSnapshot(SNAPSHOT, 1), memory);
    const second = decodeSnapshot(encodeSnapshot({ ...SNAPSHOT, keys: [] }, 2), memory);
    expect(second.snapshot.configs[0]).toBe(first.snapshot.configs[0]);
    expect(second.snapshot.keys).toEqual([]);
    expect(first.snapshot.keys).toHaveLength(3);
    expect(memory.size).toBe(3);
  });

  test('a refused snapshot leaves it as it was, and altered bytes are noticed all the same', () => {
    const memory: ShardMemory = new Map();
    const encoded = encodeSnapshot(SNAPSHOT, 1);
    decodeSnapshot(encoded, memory);
    const before = [...memory];
    expect(refusal({ ...encoded, shards: new Map(encoded.shards).set('keys-0', new Uint8Array(3)) }, memory)).toMatch(
      /wrong hash/,
    );
    expect(refusal(forged('keys-0', '{'), memory)).toBe('shard keys-0 is not JSON');
    expect([...memory]).toEqual(before);
  });
});

test('2,000 configs and 10,000 keys are written and read in 300 ms', () => {
  const snapshot: Snapshot = {
    ...SNAPSHOT,
    configs: Array.from({ length: 2000 }, (_, index) => configRecord(index)),
    keys: Array.from({ length: 10_000 }, (_, index) => keyRecord(index)),
  };
  const once = () => {
    const start = process.cpuUsage();
    decodeSnapshot(encodeSnapshot(snapshot, 1));
    const { user, system } = process.cpuUsage(start);
    return (user + system) / 1000;
  };
  expect(Math.min(once(), once(), once())).toBeLessThan(300);
});
