/** Published snapshots as the operator encodes them, each of which answers with a word of its own. */
import { createHash } from 'node:crypto';
import type { Snapshot } from '#crds/snapshot/contract.ts';
import { type EncodedSnapshot, encodeSnapshot } from '#crds/snapshot/encode.ts';
import { contentHash, indexSchema, type SnapshotIndex } from '#crds/snapshot/index-document.ts';
import { MemoryWorld } from '../../fakes/memory-world.ts';
import { apiKey, defaultConfig, object, secret } from '../../fakes/objects.ts';

/** The key of a caller. */
export const KEY = 'feed-key-0123456789abc';
/** A credential that must be nowhere but in snapshots. */
export const CREDENTIAL = 'canary-credential-0123456789';

export type Encoded = EncodedSnapshot & { readonly hash: string };

function manifestsOf(word: string): string {
  const messages = [{ role: 'user', content: word }];
  const provider = {
    provider: 'openai',
    secret_mappings: [{ target_field: 'api_key', secret_name: 's', secret_key: 'k' }],
  };
  return (
    defaultConfig('house', { provider: 'simulator', override_params: { messages } }) +
    apiKey('caller', KEY) +
    secret('s', { k: CREDENTIAL }) +
    object('Integration', 'stored', provider)
  );
}

export function contentOf(word: string): Snapshot {
  return new MemoryWorld().compile(manifestsOf(word)).snapshot;
}

/** Chat is answered with `word`. */
export function version(generation: number, word = `word-${generation}`): Encoded {
  return encodeSnapshot(contentOf(word), generation);
}

/** Has a provider that no gateway knows. */
export function refusedVersion(generation: number): Encoded {
  const content = contentOf('unknown provider');
  const integrations = content.integrations.map((record) => ({ ...record, provider: 'nobody' }));
  return encodeSnapshot({ ...content, integrations }, generation);
}

/** With many shards: `keys` callers more, 4 shards at least. */
export function largeVersion(generation: number, word: string, keys = 20_000): Encoded {
  const content = contentOf(word);
  const [first] = content.keys;
  if (first === undefined) throw new Error('there is no key to multiply');
  const more = Array.from({ length: keys }, (_, index) => {
    // No two are alike, so that they do not pack.
    const digest = createHash('sha256').update(`${word} ${index}`).digest('hex');
    return { ...first, name: `caller-${index}`, digest };
  });
  return encodeSnapshot({ ...content, keys: [...content.keys, ...more] }, generation);
}

/** The same with another index, whose hash is right unless `change` sets another. */
export function reindexed({ index, shards }: Encoded, change: (index: SnapshotIndex) => object): Encoded {
  const read = indexSchema.parse(JSON.parse(index));
  const changed = { ...read, hash: contentHash(read.format, read.shards), ...change(read) };
  return { index: JSON.stringify(changed), shards, hash: changed.hash };
}
