/** Entries and answers for tests. */
import type { Answered } from '#gateway/cache/answer-cache.ts';
import { CacheEncryption } from '#gateway/cache/cache-encryption.ts';
import type { CacheEntry } from '#gateway/cache/entry.ts';
import { openAiChat } from '../fakes/openai-wire.ts';

export const BODY = Buffer.from(JSON.stringify(openAiChat()));

export function entryOf(parts: Partial<CacheEntry> = {}): CacheEntry {
  return {
    status: 200,
    dialect: 'openai',
    body: BODY,
    provider: 'openai',
    model: 'gpt-test',
    usage: { prompt_tokens: 9, completion_tokens: 12, total_tokens: 21 },
    cost: 4_500_000,
    storedAtMs: 1_700_000_000_000,
    maxAgeMs: 60_000,
    ...parts,
  };
}

export function answeredOf(parts: Partial<Answered> = {}): Answered {
  const { storedAtMs, maxAgeMs, ...entry } = entryOf();
  return { ...entry, complete: true, denied: false, noStore: false, ...parts };
}

export const FIRST_KEY = '11'.repeat(32);
export const SECOND_KEY = Buffer.alloc(32, 0x22).toString('base64');

export function encryptionOf(...keys: string[]): CacheEncryption {
  return CacheEncryption.read(keys.join('\n'));
}
