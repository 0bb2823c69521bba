import { randomBytes } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import { samplerOf } from '#gateway/telemetry/sampling.ts';
import { TRACE_ID } from './settled-exchange.ts';

const decisions: [name: string | undefined, noParent: boolean, sampledParent: boolean, unsampledParent: boolean][] = [
  [undefined, true, true, false],
  ['always_on', true, true, true],
  ['always_off', false, false, false],
  ['parentbased_always_on', true, true, false],
  ['parentbased_always_off', false, true, false],
];

describe('samplers by name', () => {
  test.each(decisions)('%s: no parent %s, sampled parent %s, unsampled parent %s', (name, none, sampled, unsampled) => {
    const sample = samplerOf(name);
    expect(sample(TRACE_ID, undefined)).toBe(none);
    expect(sample(TRACE_ID, true)).toBe(sampled);
    expect(sample(TRACE_ID, false)).toBe(unsampled);
  });

  test.each(['sometimes', 'toString', '__proto__', 'jaeger_remote'])('%s is refused, naming the choices', (name) => {
    expect(() => samplerOf(name)).toThrow(RangeError);
    expect(() => samplerOf(name)).toThrow(/OTEL_TRACES_SAMPLER.*parentbased_traceidratio/);
  });
});

describe('the ratio', () => {
  test('keeps about its share, and the same traces everywhere', () => {
    const ids = Array.from({ length: 20_000 }, () => randomBytes(16).toString('hex'));
    const quarter = samplerOf('traceidratio', '0.25');
    const half = samplerOf('traceidratio', '0.5');
    const kept = ids.filter((id) => quarter(id, undefined));
    expect(kept.length / ids.length).toBeGreaterThan(0.23);
    expect(kept.length / ids.length).toBeLessThan(0.27);
    expect(kept.every((id) => half(id, undefined))).toBe(true);
  });

  test('folds the trace id as the SDK does: xor of its four words', () => {
    const sample = samplerOf('traceidratio', '0.5');
    expect(sample(`7fffffff${'0'.repeat(24)}`, undefined)).toBe(false);
    expect(sample(`7ffffffe${'0'.repeat(24)}`, undefined)).toBe(true);
    expect(sample(`ffffffff${'f'.repeat(8)}${'0'.repeat(16)}`, undefined)).toBe(true);
    expect(sample(`ffffffff${'0'.repeat(24)}`, undefined)).toBe(false);
  });

  test.each([
    ['0', false],
    ['1', true],
    ['2', true],
    ['', true],
    ['many', true],
    [undefined, true],
  ])('%s: a trace of the highest word is kept %s', (arg, kept) => {
    expect(samplerOf('traceidratio', arg)(`ffffffff${'0'.repeat(24)}`, undefined)).toBe(kept);
  });

  test('parent-based: only roots are drawn', () => {
    const sample = samplerOf('parentbased_traceidratio', '0');
    expect(sample(TRACE_ID, undefined)).toBe(false);
    expect(sample(TRACE_ID, true)).toBe(true);
  });
});
