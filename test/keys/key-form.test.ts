/** The form of issued keys: what secret scanners go by. */
import { readFileSync } from 'node:fs';
import { crc32 } from 'node:zlib';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  checksumOf,
  DEFAULT_KEY_PREFIX,
  isMisspelt,
  issuedKeyPattern,
  KEY_ALPHABET,
  KEY_PREFIX_FORM,
} from '#crds/keys/key-form.ts';
import { SCOPES } from '#crds/kinds/scopes.ts';
import { newKey } from '#operator/compile/new-key.ts';

const BASE = 62;
const prefixes = fc.stringMatching(/^[A-Za-z0-9_-]{1,16}$/);

/** By the rule that scanners are told: the number that the last six digits spell. */
function spelt(key: string): number {
  return [...key.slice(-6)].reduce((sum, digit) => sum * BASE + KEY_ALPHABET.indexOf(digit), 0);
}

describe('an issued key', () => {
  it('is its prefix, 43 random letters and digits, and a checksum that the rule yields', () => {
    fc.assert(
      fc.property(prefixes, (prefix) => {
        const key = newKey(prefix);
        expect(key.slice(0, prefix.length)).toBe(prefix);
        expect(key.slice(prefix.length)).toMatch(/^[0-9A-Za-z]{49}$/);
        expect(spelt(key)).toBe(crc32(key.slice(0, -6)));
        expect(isMisspelt(key, prefix)).toBe(false);
      }),
    );
  });

  it('begins with mgw_ where nothing else is said', () => {
    expect(newKey()).toMatch(/^mgw_[0-9A-Za-z]{49}$/);
    expect(DEFAULT_KEY_PREFIX).toMatch(KEY_PREFIX_FORM);
  });

  it('is never issued twice, and uses all letters and digits', () => {
    const keys = Array.from({ length: 500 }, () => newKey());
    expect(new Set(keys).size).toBe(keys.length);
    expect(new Set(keys.flatMap((key) => [...key.slice(4, 47)])).size).toBe(BASE);
  });

  it('with one character changed, or two neighbours exchanged, is misspelt', () => {
    const key = newKey();
    for (let at = 0; at < key.length; at++) {
      for (const other of 'aZ0') {
        if (key[at] === other || at < DEFAULT_KEY_PREFIX.length) continue;
        expect(isMisspelt(key.slice(0, at) + other + key.slice(at + 1), DEFAULT_KEY_PREFIX), `at ${at}`).toBe(true);
      }
      const [a = '', b = ''] = key.slice(at, at + 2);
      const swapped = key.slice(0, at) + b + a + key.slice(at + 2);
      if (a !== b && at >= DEFAULT_KEY_PREFIX.length && at < key.length - 1)
        expect(isMisspelt(swapped, DEFAULT_KEY_PREFIX)).toBe(true);
    }
  });
});

describe('a key of another form', () => {
  it.each([
    ['made before there were checksums', `mgw_${'a'.repeat(43)}`],
    ['brought', 'a-key-that-the-user-brought'],
    ['as long, with another prefix', `mgx_${'a'.repeat(49)}`],
    ['one character longer', `${newKey()}x`],
    ['one character shorter', newKey().slice(0, -1)],
    ['empty', ''],
  ])('is never misspelt: %s', (_, key) => expect(isMisspelt(key, 'mgw_')).toBe(false));

  it('of the length of an issued one is misspelt whatever is in it', () => {
    fc.assert(
      fc.property(fc.array(fc.integer({ min: 0x20, max: 0xff }), { minLength: 49, maxLength: 49 }), (codes) => {
        const rest = String.fromCharCode(...codes);
        const key = `mgw_${rest}`;
        fc.pre(checksumOf(key.slice(0, -6)) !== key.slice(-6));
        expect(isMisspelt(key, 'mgw_')).toBe(true);
      }),
    );
  });
});

describe('the checksum', () => {
  it.each([
    ['', '000000'],
    ['a', crc32('a')],
    ['mgw_0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefg', crc32('mgw_0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefg')],
  ])('of %j is CRC-32 in six base62 digits', (text, expected) => {
    expect(checksumOf(text)).toMatch(/^[0-9A-Za-z]{6}$/);
    if (typeof expected === 'number') expect(spelt(checksumOf(text))).toBe(expected);
    else expect(checksumOf(text)).toBe(expected);
  });

  it('agrees with zlib for any ASCII text', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme-ascii' }), (text) => {
        expect(spelt(checksumOf(text))).toBe(crc32(text));
      }),
    );
  });
});

describe('the pattern for secret scanners', () => {
  it('finds every issued key in running text, and nothing of other forms', () => {
    fc.assert(
      fc.property(prefixes, (prefix) => {
        const key = newKey(prefix);
        const pattern = issuedKeyPattern(prefix);
        for (const text of [key, `"${key}"`, `KEY=${key}\n`, `Bearer ${key}.`, `https://x/?k=${key}&b=1`]) {
          expect(pattern.exec(text)?.[0]).toBe(key);
        }
        for (const text of [`${key}0`, `x${key}`, key.slice(0, -1)]) {
          expect(pattern.exec(text)?.[0]).not.toBe(key);
        }
      }),
    );
  });

  it('does not match a key of 43 characters without a checksum', () => {
    expect(issuedKeyPattern('mgw_').test(`mgw_${'a'.repeat(43)}`)).toBe(false);
  });
});

describe('the reference of keys', () => {
  const text = readFileSync(new URL('../../crds/generated/keys.md', import.meta.url), 'utf8');

  it('has a pattern by which a scanner finds keys', () => {
    const [, pattern = ''] = /```\n(.+)\n```/.exec(text) ?? [];
    const key = newKey();
    expect(new RegExp(pattern).exec(`export KEY='${key}'`)?.[0]).toBe(key);
  });

  it('has every scope', () => {
    for (const [scope, allows] of SCOPES) expect(text).toContain(`| \`${scope}\` | ${allows} |`);
  });
});
