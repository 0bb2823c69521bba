/**
 * The last accepted version of every object, kept beside the snapshot: an operator that starts anew must know what to serve
 * in place of an object that was spoilt while nobody watched. Read by operators alone.
 */
import { gunzipSync } from 'node:zlib';
import { API_GROUP } from '#crds/object.ts';
import { SnapshotTooLarge } from '#crds/snapshot/encode.ts';
import type { Packer } from '#crds/snapshot/packer.ts';
import type { LastGood } from '../compile/elect.ts';
import type { Manifest } from '../world.ts';

const MAX_UNPACKED_BYTES = 256 * 1024 * 1024;

type Kept = Omit<Manifest, 'place'>;

/** Shard names begin so; at most `maxShards` of them, a power of two. Throws where they do not fit. */
export const ACCEPTED_PREFIX = 'accepted';

export function encodeAccepted(accepted: LastGood, maxShards: number, packer: Packer): readonly Uint8Array[] {
  const records = [...accepted].map(([identity, manifest]) => ({ identity, text: textOf(manifest) }));
  const packed = packer.pack({
    prefix: ACCEPTED_PREFIX,
    records: records.sort((a, b) => (a.identity < b.identity ? -1 : 1)),
    textOf: (part) => `[${part.map(({ text }) => text).join(',')}]`,
    maxShards,
  });
  if (packed === undefined) throw new SnapshotTooLarge(`accepted objects: they do not fit ${maxShards} shards`);
  return packed;
}

/** Manifests never change, and most are written again and again. */
const textsOfManifests = new WeakMap<Manifest, string>();

function textOf(manifest: Manifest): string {
  const known = textsOfManifests.get(manifest);
  if (known !== undefined) return known;
  const { kind, namespace, name, uid, generation, raw } = manifest;
  const text = JSON.stringify({ kind, namespace, name, uid, generation, raw: keptOf(raw) });
  textsOfManifests.set(manifest, text);
  return text;
}

/** What is judged of an object: neither its status nor what an API server writes about it. */
function keptOf(raw: Manifest['raw']): Manifest['raw'] {
  const { apiVersion, kind, metadata, spec } = raw as { metadata?: Record<string, unknown> } & Manifest['raw'];
  const { name, namespace, annotations = {} } = metadata ?? {};
  const own = Object.entries(annotations as object).filter(([key]) => key.startsWith(`${API_GROUP}/`));
  return { apiVersion, kind, metadata: { name, namespace, annotations: Object.fromEntries(own) }, spec };
}

/** Throws where bytes are not what `encodeAccepted` wrote. */
export function decodeAccepted(shards: Iterable<Uint8Array>): readonly Manifest[] {
  const manifests: Manifest[] = [];
  for (const bytes of shards) {
    const text = gunzipSync(bytes, { maxOutputLength: MAX_UNPACKED_BYTES }).toString();
    for (const kept of JSON.parse(text) as Kept[]) manifests.push({ ...kept, place: undefined });
  }
  return manifests;
}
