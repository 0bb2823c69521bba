/** What is packed anew, and what is the same bytes as before. */
import { gunzipSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { type Packable, Packer, type Packing } from '#crds/snapshot/packer.ts';

const COUNT = 400;
const LETTERS = 12_000;

function records(change: Readonly<Record<number, string>> = {}): Packable[] {
  return Array.from({ length: COUNT }, (_, index) => ({
    identity: `record-${index}`,
    text: change[index] ?? `${index}`.padEnd(LETTERS, '.'),
  }));
}

function packing(given: readonly Packable[], context?: string): Packing<Packable> & { readonly written: number[] } {
  const written: number[] = [];
  return {
    prefix: 'keys',
    records: given,
    maxShards: 16,
    context,
    written,
    textOf(part, index) {
      written.push(index);
      return `${context ?? ''}${part.map(({ text }) => text).join('')}`;
    },
  };
}

describe('a packer', () => {
  it('writes nothing of equal records, and gives the same bytes', () => {
    const packer = new Packer();
    const first = packer.pack(packing(records()));
    expect(first?.length).toBeGreaterThan(2);
    const again = packing(records());
    const second = packer.pack(again);
    expect(again.written).toEqual([]);
    for (const [index, bytes] of first?.entries() ?? []) expect(second?.[index]).toBe(bytes);
  });

  it.each([
    ['changed', (all: Packable[]) => all.with(7, { identity: 'record-7', text: 'changed' })],
    ['gone', (all: Packable[]) => all.toSpliced(7, 1)],
    ['new', (all: Packable[]) => [...all, { identity: 'record-new', text: 'new' }]],
  ])('writes the one shard whose record is %s, as one that remembers nothing does', (_, change) => {
    const packer = new Packer();
    const before = packer.pack(packing(records())) ?? [];
    const changed = packing(change(records()));
    const after = packer.pack(changed) ?? [];
    expect(changed.written).toHaveLength(1);
    expect(after.filter((bytes, index) => bytes !== before[index])).toHaveLength(1);
    const texts = (shards: readonly Uint8Array[]) => shards.map((bytes) => gunzipSync(bytes).toString());
    expect(texts(after)).toEqual(texts(new Packer().pack(packing(change(records()))) ?? []));
  });

  it('writes all anew where what is besides records changes', () => {
    const packer = new Packer();
    const before = packer.pack(packing(records(), 'one')) ?? [];
    const other = packing(records(), 'two');
    const after = packer.pack(other) ?? [];
    expect(other.written).toHaveLength(before.length);
    for (const bytes of after) expect(gunzipSync(bytes).toString()).toMatch(/^two/);
  });

  it('remembers shards that it had to cut smaller, too', () => {
    // What cannot be compressed: twice as many shards as the goal asks for.
    const noise = Array.from({ length: 1_200 }, () => Math.random().toString(36).slice(2)).join('');
    const dense = Array.from({ length: 250 }, (_, index) => {
      const turned = noise.slice(index * 40) + noise.slice(0, index * 40);
      const text = Buffer.from(turned.split('').map((letter, at) => letter.charCodeAt(0) * (at + index)));
      return { identity: `dense-${index}`, text: text.toString('base64') };
    });
    const packer = new Packer();
    packer.pack(packing(dense));
    const again = packing(dense);
    packer.pack(again);
    expect(again.written).toEqual([]);
  });

  it('keeps collections apart by their prefix', () => {
    const packer = new Packer();
    const [one] = packer.pack(packing([{ identity: 'a', text: 'one' }])) ?? [];
    const [two] = packer.pack({ ...packing([{ identity: 'a', text: 'two' }]), prefix: 'other' }) ?? [];
    expect([one, two].map((bytes) => gunzipSync(bytes ?? new Uint8Array()).toString())).toEqual(['one', 'two']);
  });
});
