/** G33 under load: no snapshot that is refused is felt by a request, and each is refused for its own reason. */
import { gzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Snapshot } from '#crds/snapshot/contract.ts';
import { type EncodedSnapshot, encodeSnapshot } from '#crds/snapshot/encode.ts';
import { contentHash, indexSchema, type SnapshotIndex, sha256Hex } from '#crds/snapshot/index-document.ts';
import { HI, type Stage, startStage, target } from '../conformance/stage.ts';
import { startTestGateway } from '../fakes/gateway.ts';
import { NO_RECORDS } from '../fakes/no-records.ts';
import { defaultConfig } from '../fakes/objects.ts';
import { chat, chatStream } from '../fakes/replies.ts';
import type { Upstream } from '../fakes/upstream.ts';

let stage: Stage;
beforeAll(async () => {
  stage = await startStage(1, ([upstream]) => defaultConfig('house', target(upstream as Upstream)));
  stage.at(0).answer((call) => (JSON.parse(call.body).stream === true ? chatStream() : chat()));
});
afterAll(() => stage.close());

const GOOD: Snapshot = {
  ...NO_RECORDS,
  settings: { organisation_namespace: 'model-gateway', request_hosts: [] },
  configs: [],
  integrations: [],
  credentials: [],
  keys: [],
  refused: [],
};
const SECRET = 'canary-of-a-credential';

/** Changed after it was written, with the hash that it should have then. */
function rewritten(
  change: (index: SnapshotIndex) => SnapshotIndex,
  shards?: EncodedSnapshot['shards'],
): EncodedSnapshot {
  const encoded = encodeSnapshot(GOOD, 500);
  const index = change(indexSchema.parse(JSON.parse(encoded.index)));
  const hash = contentHash(index.format, index.shards);
  return { index: JSON.stringify({ ...index, hash }), shards: shards ?? encoded.shards };
}

/** A snapshot one shard of which holds these bytes, all hashes right. */
function withShard(name: string, bytes: Uint8Array): EncodedSnapshot {
  const { shards } = encodeSnapshot(GOOD, 500);
  const entries = (index: SnapshotIndex) =>
    index.shards.map((entry) => (entry.name === name ? { ...entry, hash: sha256Hex(bytes) } : entry));
  return rewritten((index) => ({ ...index, shards: entries(index) }), new Map([...shards, [name, bytes]]));
}

const packed = (value: unknown) => gzipSync(JSON.stringify(value));
const record = { namespace: 'default', name: 'x', shared_with: [] };
const integration = {
  ...record,
  provider: 'nobody',
  configurations: {},
  credential_fields: [],
  allow_all_models: true,
  models: [],
};
const nested = (config: object) => ({
  ...record,
  is_default: true,
  config: { strategy: { mode: 'fallback' as const }, targets: [{ provider: 'simulator' }, config] },
});

const FORMAT = /"format":\d/;
const { keys: _keys, credentials: _credentials, ...NO_ROUTING } = NO_RECORDS;

const BAD: readonly (readonly [what: string, make: () => EncodedSnapshot, reason: RegExp])[] = [
  ['a wrong hash in its index', () => bent(/"hash":"[0-9a-f]{8}/, '"hash":"00000000'), /wrong hash of the index/],
  ['an older format', () => bent(FORMAT, '"format":0'), /unknown format 0: this version reads format \d/],
  ['a newer format with fields of its own', () => bent(FORMAT, '"format":99,"more":[]'), /unknown format 99/],
  ['no format', () => bent(/"format":\d,/, ''), /unknown format missing/],
  ['a format of text', () => bent(FORMAT, '"format":"1"'), /unknown format/],
  ['no index', () => ({ ...encodeSnapshot(GOOD, 1), index: '' }), /index is not JSON/],
  ['half an index', () => ({ ...encodeSnapshot(GOOD, 1), index: '{"format":1,"gen' }), /index is not JSON/],
  [
    'an index of 50 MB',
    () => ({ ...encodeSnapshot(GOOD, 1), index: `"${'y'.repeat(50e6)}"` }),
    /unknown format missing/,
  ],
  ['no shards', () => ({ ...encodeSnapshot(GOOD, 1), shards: new Map() }), /missing shard/],
  ['a shard of another snapshot', () => foreignShard(), /wrong hash of shard snapshot-0/],
  [
    'a shard named twice',
    () => rewritten((index) => ({ ...index, shards: [...index.shards, ...index.shards] })),
    /twice/,
  ],
  ['a generation below zero', () => rewritten((index) => ({ ...index, generation: -1 })), /generation/],
  ['a shard that is no gzip', () => withShard('keys-0', Buffer.from('{"keys":[]}')), /shard keys-0 is not gzip/],
  ['a shard that is no JSON', () => withShard('keys-0', gzipSync('{"keys":[')), /shard keys-0 is not JSON/],
  ['50 MB of no records', () => withShard('keys-0', packed({ keys: 'k'.repeat(50e6) })), /keys/],
  [
    'a shard that unpacks to 100 MB',
    () => withShard('keys-0', gzipSync(Buffer.alloc(100e6))),
    /too large: more than 64 MiB/,
  ],
  ['key digests where routing is', () => withShard('snapshot-0', packed({ keys: [] })), /snapshot-0/],
  ['no settings', () => withShard('snapshot-0', packed(NO_ROUTING)), /settings/],
  ['a field that it does not know', () => withShard('keys-0', packed({ keys: [], more: [] })), /keys-0/],
  ['a key without a digest', () => withShard('keys-0', packed({ keys: [{ ...record, digest: SECRET }] })), /keys-0/],
  [
    'a credential of a wrong shape',
    () => withShard('credentials-0', packed({ credentials: [{ [SECRET]: SECRET }] })),
    /credentials-0/,
  ],
  [
    'an Integration of an unknown provider',
    () => encodeSnapshot({ ...GOOD, integrations: [integration] }, 500),
    /Integration default\/x names the provider "nobody"/,
  ],
  [
    'a target of an unknown provider',
    () => encodeSnapshot({ ...GOOD, configs: [nested({ provider: 'nobody' })] }, 500),
    /GatewayConfig default\/x names the provider "nobody"/,
  ],
];

function bent(pattern: RegExp, to: string): EncodedSnapshot {
  const { index, shards } = encodeSnapshot(GOOD, 500);
  const changed = index.replace(pattern, to);
  if (changed === index) throw new Error(`nothing to bend: ${index}`);
  return { index: changed, shards };
}

function foreignShard(): EncodedSnapshot {
  const { index } = encodeSnapshot(GOOD, 500);
  const settings = { ...GOOD.settings, organisation_namespace: 'other' };
  return { index, shards: encodeSnapshot({ ...GOOD, settings }, 500).shards };
}

describe('a snapshot', () => {
  it.each(BAD)('with %s is refused, by a reason that holds no secret', async (_what, make, reason) => {
    const served = await fetch(`${stage.gateway.adminOrigin}/config`);
    const { generation, hash } = (await served.json()) as { generation: number; hash: string };
    const ack = stage.gateway.gateway.load(make());
    expect(ack.refused).toMatch(reason);
    expect(ack.refused).not.toContain(SECRET);
    expect(ack.refused?.length).toBeLessThan(1_000);
    expect(ack).toMatchObject({ generation, hash });
  });

  it('that is the very first and is bad leaves the gateway unready, and a good one after it is served', async () => {
    const gateway = await startTestGateway({ empty: true });
    const ready = async () => (await fetch(`${gateway.adminOrigin}/readyz`)).status;
    const bad = gateway.gateway.load({ index: '{}', shards: new Map() });
    expect(bad).toEqual({ generation: 0, hash: '', refused: expect.any(String) });
    expect([await ready(), (await gateway.chat(HI)).status]).toEqual([503, 503]);
    gateway.apply(defaultConfig('house', { provider: 'simulator' }));
    expect([await ready(), (await gateway.chat(HI)).status]).toEqual([200, 200]);
    await gateway.close();
  });
});

it('none of them is felt by a request, whole or streamed', async () => {
  const outcomes: string[] = [];
  let going = true;
  const caller = async (stream: boolean) => {
    while (going) {
      const response = await stage.gateway.chat({ ...HI, stream });
      const text = await response.text();
      outcomes.push(response.status === 200 && (!stream || text.endsWith('[DONE]\n\n')) ? 'good' : text);
    }
  };
  const callers = Array.from({ length: 6 }, (_, index) => caller(index % 2 === 0));
  const generation = await stage.gateway.metric('modelgateway_config_generation');
  for (const [, make] of BAD) {
    const seen = outcomes.length;
    stage.gateway.gateway.load(make());
    await expect.poll(() => outcomes.length, { timeout: 5_000 }).toBeGreaterThan(seen + 6);
  }
  going = false;
  await Promise.all(callers);
  expect(new Set(outcomes)).toEqual(new Set(['good']));
  expect(await stage.gateway.metric('modelgateway_config_generation')).toBe(generation);
  const told = (await stage.gateway.logs()).filter(({ msg }) => msg === 'snapshot refused');
  expect(told.length).toBeGreaterThanOrEqual(BAD.length);
  expect(JSON.stringify(told)).not.toContain(SECRET);
});
