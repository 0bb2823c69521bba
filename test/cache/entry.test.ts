import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { CacheEncryption } from '#gateway/cache/cache-encryption.ts';
import { type CacheEntry, decodeEntry, encodeEntry, isFresh } from '#gateway/cache/entry.ts';
import { BODY, encryptionOf, entryOf, FIRST_KEY, SECOND_KEY } from './entries.ts';
import { keyOf } from './requests.ts';

const KEY = keyOf('one');
const count = fc.nat(1_000_000);
const entry: fc.Arbitrary<CacheEntry> = fc.record({
  status: fc.integer({ min: 200, max: 299 }),
  dialect: fc.constantFrom('openai', 'anthropic'),
  body: fc.uint8Array({ maxLength: 300 }).map((bytes) => Buffer.from(bytes)),
  provider: fc.string({ unit: 'grapheme' }),
  model: fc.option(fc.string({ unit: 'grapheme' }), { nil: undefined }),
  usage: fc.option(fc.record({ prompt_tokens: count, completion_tokens: count, total_tokens: count }), {
    nil: undefined,
  }),
  cost: fc.option(count, { nil: undefined }),
  storedAtMs: fc.nat(Number.MAX_SAFE_INTEGER),
  maxAgeMs: fc.integer({ min: 1, max: 7_776_000_000 }),
});

const WAYS = [
  ['as it is', undefined],
  ['encrypted', encryptionOf(FIRST_KEY)],
] as const;

describe.each(WAYS)('an entry that is kept %s', (_way, encryption) => {
  it('comes back as it was', () => {
    fc.assert(
      fc.property(entry, (kept) => {
        expect(decodeEntry(encodeEntry(kept, KEY, encryption), KEY, encryption)).toEqual(kept);
      }),
    );
  });

  it('takes little more than its body', () => {
    const bytes = encodeEntry(entryOf(), KEY, encryption);
    expect(bytes.length - BODY.length).toBeLessThan(220);
  });

  it('is nothing where it was cut, whatever is left', () => {
    const bytes = encodeEntry(entryOf(), KEY, encryption);
    const headBytes = bytes.length - BODY.length;
    for (let length = 0; length < (encryption === undefined ? headBytes : bytes.length); length += 1)
      expect(decodeEntry(bytes.subarray(0, length), KEY, encryption)).toBeUndefined();
  });

  it.each([0, 3, 255])('of format %s is nothing', (format) => {
    const bytes = encodeEntry(entryOf(), KEY, encryption);
    bytes[0] = format;
    expect(decodeEntry(bytes, KEY, encryption)).toBeUndefined();
  });

  it('does not hold the memory of others', () => {
    const bytes = encodeEntry(entryOf({ body: Buffer.from('{}') }), KEY, encryption);
    expect(bytes.buffer.byteLength).toBe(bytes.length);
  });
});

describe('what others have written', () => {
  it('never throws, whatever it is', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 200 }), fc.constantFrom(1, 2), (noise, format) => {
        const bytes = Buffer.concat([Buffer.from([format]), noise]);
        for (const [, encryption] of WAYS) decodeEntry(bytes, KEY, encryption);
      }),
    );
  });

  it.each([
    ['no list', '{"status":200}'],
    ['no JSON', '[200,'],
    ['an unknown dialect', '[200,"klingon","openai",null,null,1,1]'],
    ['a status that is none', '["200","openai","openai",null,null,1,1]'],
    ['no time', '[200,"openai","openai",null,null,null,1]'],
  ])('is nothing where its head is %s', (_what, head) => {
    const length = Buffer.alloc(4);
    length.writeUInt32BE(head.length);
    expect(decodeEntry(Buffer.concat([Buffer.from([1]), length, Buffer.from(head)]), KEY, undefined)).toBeUndefined();
  });
});

describe('encryption', () => {
  const one = encryptionOf(FIRST_KEY);

  it('shows nothing of the answer', () => {
    const bytes = encodeEntry(entryOf(), KEY, one);
    for (const word of ['Hello', 'gpt-test', 'openai']) expect(bytes.includes(word)).toBe(false);
  });

  it('never writes the same twice', () => {
    expect(encodeEntry(entryOf(), KEY, one)).not.toEqual(encodeEntry(entryOf(), KEY, one));
  });

  it('notices any byte that was changed', () => {
    const bytes = encodeEntry(entryOf({ body: Buffer.from('{"a":1}') }), KEY, one);
    for (let at = 0; at < bytes.length; at += 1) {
      const changed = Buffer.from(bytes);
      changed[at] = (changed[at] ?? 0) ^ 1;
      expect(decodeEntry(changed, KEY, one)).toBeUndefined();
    }
  });

  it('G35: an entry that was put in another place does not open there', () => {
    const bytes = encodeEntry(entryOf(), KEY, one);
    expect(decodeEntry(bytes, keyOf('one', 'team-b'), one)).toBeUndefined();
    expect(decodeEntry(bytes, keyOf('two'), one)).toBeUndefined();
    expect(decodeEntry(bytes, KEY, one)).toBeDefined();
  });

  it('goes over to a new key while the old one is still listed', () => {
    const old = encodeEntry(entryOf(), KEY, one);
    const both = encryptionOf(SECOND_KEY, FIRST_KEY);
    const fresh = encodeEntry(entryOf(), KEY, both);
    expect(decodeEntry(old, KEY, both)).toEqual(entryOf());
    expect(decodeEntry(fresh, KEY, encryptionOf(SECOND_KEY))).toEqual(entryOf());
    expect(decodeEntry(old, KEY, encryptionOf(SECOND_KEY))).toBeUndefined();
    expect(decodeEntry(fresh, KEY, one)).toBeUndefined();
  });

  it('an entry that is not encrypted is nothing where there is a key, and the other way round', () => {
    expect(decodeEntry(encodeEntry(entryOf(), KEY, undefined), KEY, one)).toBeUndefined();
    expect(decodeEntry(encodeEntry(entryOf(), KEY, one), KEY, undefined)).toBeUndefined();
  });

  it('keys may be written as hex or base64, with comments and empty lines', () => {
    const hex = encodeEntry(entryOf(), KEY, encryptionOf('# of november', '', `${'22'.repeat(32)}  # new`, ''));
    expect(decodeEntry(hex, KEY, encryptionOf(SECOND_KEY))).toEqual(entryOf());
    expect(decodeEntry(hex, KEY, encryptionOf(SECOND_KEY.replaceAll('=', '')))).toEqual(entryOf());
  });

  it.each([
    ['', 'cache-key-file must hold at least one key of 32 bytes'],
    ['# nothing', 'cache-key-file must hold at least one key of 32 bytes'],
    ['secret', 'cache-key-file line 1 must be 32 bytes'],
    [`${FIRST_KEY}\n${'11'.repeat(31)}`, 'cache-key-file line 2 must be 32 bytes'],
    [Buffer.alloc(31).toString('base64'), 'cache-key-file line 1 must be 32 bytes'],
  ])('of the key file %j is refused', (text, message) => {
    expect(() => CacheEncryption.read(text)).toThrow(message);
  });

  it('an error about a key does not tell it', () => {
    expect(() => CacheEncryption.read('hunter2')).toThrow(/^(?!.*hunter2)/);
  });
});

describe('freshness', () => {
  const kept = entryOf({ storedAtMs: 1_000, maxAgeMs: 500 });

  it.each([
    [1_000, 10_000, true],
    [1_499, 10_000, true],
    [1_500, 10_000, false],
    [1_099, 100, true],
    [1_100, 100, false],
    [900, 100, true],
  ])('at %d ms with a max_age of %d ms: %s', (nowMs, maxAgeMs, fresh) => {
    expect(isFresh(kept, maxAgeMs, nowMs)).toBe(fresh);
  });
});
