import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { CONFIG_MAPS, keyOf } from '#crds/api/api-object.ts';
import { KnownObjects } from '#crds/api/known-objects.ts';
import { LineFrames } from '#crds/api/line-frames.ts';
import { watchEventOf } from '#crds/api/watch-event.ts';
import { bookmark, configMap, line } from './scripted-transport.ts';

interface Step {
  readonly name: string;
  readonly type: 'ADDED' | 'DELETED';
  readonly note: string;
}

const steps = fc.array(
  fc.record({
    name: fc.constantFrom('a', 'b', 'c'),
    type: fc.constantFrom<Step['type'][]>('ADDED', 'ADDED', 'DELETED'),
    note: fc.string({ unit: 'grapheme', maxLength: 5 }),
  }),
  { maxLength: 30 },
);

const FIRST = 8;

/** One line per step, their versions counting up over 9 and 10, where text alone would order them wrongly. */
function linesOf(taken: readonly Step[]): string[] {
  return taken.map(({ type, name, note }, index) =>
    line(type, configMap(FIRST + index, { name, annotations: { note } })),
  );
}

function known(lines: Iterable<string>): KnownObjects {
  const objects = new KnownObjects();
  objects.replaceAll('7', []);
  for (const text of lines) objects.apply(watchEventOf(text, CONFIG_MAPS, false));
  return objects;
}

function contentOf({ objects }: KnownObjects): unknown {
  return [...objects].sort(([a], [b]) => (a < b ? -1 : 1));
}

function splitAt(bytes: Uint8Array, cuts: readonly number[]): Uint8Array[] {
  const places = [...new Set(cuts.map((cut) => cut % (bytes.length + 1)))].sort((a, b) => a - b);
  return [0, ...places].map((from, index) => bytes.subarray(from, places[index] ?? bytes.length));
}

describe('the bytes of a watch', () => {
  it('give the same objects however they are split', () => {
    fc.assert(
      fc.property(steps, fc.array(fc.nat(), { maxLength: 40 }), (taken, cuts) => {
        const lines = [...linesOf(taken), bookmark(1_000)];
        const frames = new LineFrames();
        const split = splitAt(Buffer.from(lines.join('')), cuts).flatMap((chunk) => [...frames.push(chunk)]);
        expect(split).toEqual(lines.map((text) => text.trimEnd()));
        expect(contentOf(known(split))).toEqual(contentOf(known(lines)));
        expect(frames.isInside).toBe(false);
      }),
    );
  });

  it('give the same objects byte by byte, blank lines and CRLF included', () => {
    const text = `\n\r\n${line('ADDED', configMap(11, { annotations: { note: 'ä€😀' } })).trimEnd()}\r\n\n`;
    const frames = new LineFrames();
    const lines = [...Buffer.from(text)].flatMap((byte) => [...frames.push(Uint8Array.of(byte))]);
    expect(lines.map((one) => JSON.parse(one))).toEqual([
      { type: 'ADDED', object: configMap(11, { annotations: { note: 'ä€😀' } }) },
    ]);
  });
});

describe('O5: known objects', () => {
  it('end as they would in order, in whatever order and however often the events of each object come', () => {
    const places = fc.infiniteStream(fc.nat());
    fc.assert(
      fc.property(steps, places, places, (taken, order, repeats) => {
        const lines = linesOf(taken);
        const shuffled = lines
          .flatMap((text) => Array.from({ length: 1 + ((repeats.next().value ?? 0) % 3) }, () => text))
          .map((text) => [order.next().value ?? 0, text] as const)
          .sort(([a], [b]) => a - b)
          .map(([, text]) => text);
        expect(contentOf(known(shuffled))).toEqual(contentOf(known(lines)));
        expect(known(shuffled).version).toBe(known(lines).version);
      }),
    );
  });

  it('remember only so many deletions, but none of before the last list', () => {
    const objects = known([]);
    for (let n = 0; n < 10_000; n++) {
      const object = configMap(100 + n, { name: `o${n}` });
      objects.apply({ type: 'set', object, version: String(100 + n) });
      objects.apply({ type: 'delete', object, version: String(20_000 + n) });
    }
    expect(objects.objects.size).toBe(0);
    objects.replaceAll('40000', []);
    const late = configMap(39_999, { name: 'o1' });
    expect(objects.apply({ type: 'set', object: late, version: '39999' })).toBe(false);
    expect(objects.objects.has(keyOf(late))).toBe(false);
  });
});
