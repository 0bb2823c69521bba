import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { CounterFamily, HistogramFamily, LabelValues, labelValue } from '#gateway/telemetry/metric-families.ts';

describe('label values', () => {
  test('are bounded: what comes late, or is too long, is other', () => {
    const values = new LabelValues(3);
    const names = ['a', 'b', 'c', 'a', 'x'.repeat(129)].map((value) => values.nameOf(values.idOf(value)));
    expect(names).toEqual(['a', 'b', 'other', 'a', 'other']);
  });

  test('an overlong value takes no place', () => {
    const values = new LabelValues(2);
    values.idOf('x'.repeat(129));
    expect(values.nameOf(values.idOf('a'))).toBe('a');
  });

  test('names of Object.prototype are values as any other', () => {
    const values = new LabelValues(10);
    for (const name of ['__proto__', 'constructor', 'toString']) expect(values.nameOf(values.idOf(name))).toBe(name);
  });

  test('are escaped so that no value can end its quotes or its line', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), (value) => {
        const escaped = labelValue(value);
        expect(escaped).not.toContain('\n');
        expect(escaped.replace(/\\[\\"n]/g, '')).not.toMatch(/["\\]/);
        const back = escaped.replace(/\\([\\"n])/g, (_all, char: string) => (char === 'n' ? '\n' : char));
        expect(back).toBe(value);
      }),
    );
  });
});

describe('counters', () => {
  test('without labels', () => {
    const counter = new CounterFamily('c_total', 'Help.', {});
    counter.add(2);
    counter.add(3);
    expect(counter.text()).toBe('# HELP c_total Help.\n# TYPE c_total counter\nc_total 5\n');
  });

  test('children never mix, whatever their labels', () => {
    const sizes = [3, 5, 2, 7];
    const labels = Object.fromEntries(sizes.map((size, at) => [`l${at}`, new LabelValues(size)]));
    const values = Object.values(labels);
    const counter = new CounterFamily('c_total', 'Help.', labels);
    const expected = new Map<string, number>();
    fc.assert(
      fc.property(
        fc.array(fc.nat(9), { minLength: 4, maxLength: 4 }),
        fc.integer({ min: 1, max: 9 }),
        (words, amount) => {
          const ids = words.map((word, at) => values[at]?.idOf(`v${word}`) ?? 0);
          const line = ids.map((id, at) => `l${at}="${values[at]?.nameOf(id)}"`).join(',');
          expected.set(line, (expected.get(line) ?? 0) + amount);
          counter.add(amount, ids[0], ids[1], ids[2], ids[3]);
          expect(counter.text()).toContain(`c_total{${line}} ${expected.get(line)}\n`);
        },
      ),
    );
    expect(counter.text().split('\n')).toHaveLength(expected.size + 3);
  });

  test('five labels are refused', () => {
    const five = Object.fromEntries(['a', 'b', 'c', 'd', 'e'].map((name) => [name, new LabelValues(2)]));
    expect(() => new CounterFamily('c_total', 'Help.', five)).toThrow(/four labels/);
  });
});

describe('histograms', () => {
  test('count cumulatively, a bound belongs to its bucket', () => {
    const histogram = new HistogramFamily('h', 'Help.', [0.1, 1], {});
    for (const value of [0.05, 0.1, 0.5, 1, 7]) histogram.observe(value);
    expect(histogram.text().split('\n').slice(2)).toEqual([
      'h_bucket{le="0.1"} 2',
      'h_bucket{le="1"} 4',
      'h_bucket{le="+Inf"} 5',
      'h_sum 8.65',
      'h_count 5',
      '',
    ]);
  });

  test('keep labels before le', () => {
    const stream = new LabelValues(3);
    const histogram = new HistogramFamily('h', 'Help.', [1], { stream });
    histogram.observe(2, stream.idOf('true'));
    expect(histogram.text()).toContain('h_bucket{stream="true",le="1"} 0\nh_bucket{stream="true",le="+Inf"} 1\n');
    expect(histogram.text()).toContain('h_sum{stream="true"} 2\nh_count{stream="true"} 1\n');
  });

  test('agree with counting by hand', () => {
    const bounds = [0.25, 0.5, 1, 2];
    fc.assert(
      fc.property(fc.array(fc.double({ min: 0, max: 4, noNaN: true })), (observed) => {
        const histogram = new HistogramFamily('h', 'Help.', bounds, {});
        for (const value of observed) histogram.observe(value);
        const text = histogram.text();
        for (const bound of observed.length === 0 ? [] : bounds) {
          expect(text).toContain(`h_bucket{le="${bound}"} ${observed.filter((value) => value <= bound).length}\n`);
        }
        if (observed.length > 0) expect(text).toContain(`h_count ${observed.length}\n`);
      }),
    );
  });
});
