/** Compiled limits against a plain reading of what they say, for any policies and any requests. */
import fc from 'fast-check';
import { expect, it } from 'vitest';
import type { RateLimitRecord } from '#crds/snapshot/contract.ts';
import type { Caller } from '#gateway/exchange.ts';
import { LimitBook } from '#gateway/limits/limit-book.ts';
import { caller, rateRecord } from './records.ts';

type Condition = RateLimitRecord['conditions'][number];

interface Asked {
  readonly caller: Caller;
  readonly endpoint: string;
  readonly config: string | undefined;
  readonly metadata: Readonly<Record<string, string>>;
  readonly provider: string;
  readonly integration: string | undefined;
  readonly model: string | undefined;
}

const TARGET_KEYS = ['virtual_key', 'provider', 'model'];
const KEYS = [
  'api_key',
  'workspace_id',
  'config',
  'endpoint_type',
  'prompt',
  'metadata.a',
  'metadata.b',
  ...TARGET_KEYS,
];
const WORDS = ['*', 'x', 'y', 'one/x', 'two/x', 'one', 'two', 'chatComplete', '@x/m', '@x/*', 'm', 'm/n', 'm/*'];

/** All that a request is called under a key; none: it has no such thing. */
function wordsOf(key: string, asked: Asked): readonly string[] {
  const { caller: who, integration, model } = asked;
  const slug = integration?.split('/')[1];
  const some = (word: string | undefined) => (word === undefined ? [] : [word]);
  const words: Readonly<Record<string, readonly string[]>> = {
    api_key: who.key === undefined ? [] : [who.name, `${who.namespace}/${who.name}`],
    workspace_id: [who.namespace],
    config: some(asked.config),
    endpoint_type: [asked.endpoint],
    prompt: [],
    virtual_key: integration === undefined ? [] : [slug ?? '', integration],
    provider: [asked.provider],
    model: [...some(model), ...(slug === undefined || model === undefined ? [] : [`@${slug}/${model}`])],
  };
  return words[key] ?? some(asked.metadata[key.slice('metadata.'.length)]);
}

function holds({ key, values, excludes }: Condition, asked: Asked): boolean {
  const words = wordsOf(key, asked);
  const meant = (value: string) =>
    words.some((word) => {
      if (value === '*') return true;
      if (key === 'model' && value.endsWith('/*')) return word.startsWith(value.slice(0, -1)) || word === value;
      return word === value;
    });
  return values.some(meant) && !excludes.some(meant);
}

/** The group that a request counts in; undefined: the limit is not about it. */
function groupOf({ workspace, conditions, group_by }: RateLimitRecord, asked: Asked): readonly string[] | undefined {
  if (workspace !== '*' && workspace !== asked.caller.namespace) return undefined;
  if (!conditions.every((condition) => holds(condition, asked))) return undefined;
  const values = group_by.map((key) => {
    const words = wordsOf(key, asked);
    return workspace === '*' && key !== 'model' ? words.at(-1) : words[0];
  });
  return values.every((value) => value !== undefined) ? values : undefined;
}

const key = fc.constantFrom(...KEYS);
const words = fc.uniqueArray(fc.constantFrom(...WORDS), { minLength: 1, maxLength: 3 });
const condition = fc.record({ key, values: words, excludes: fc.oneof(fc.constant<string[]>([]), words) });
const policies = fc
  .array(
    fc.record({
      workspace: fc.constantFrom('*', 'one', 'two'),
      conditions: fc.array(condition, { maxLength: 2 }),
      group_by: fc.uniqueArray(key, { maxLength: 2 }),
    }),
    { minLength: 1, maxLength: 12 },
  )
  .map((all) => all.map((policy, index) => rateRecord(`p${index}`, policy)));

const maybe = (...texts: string[]) => fc.option(fc.constantFrom(...texts), { nil: undefined });
const requests = fc.array(
  fc
    .record({
      name: fc.constantFrom('x', 'y'),
      namespace: fc.constantFrom('one', 'two'),
      isOpen: fc.boolean(),
      endpoint: fc.constantFrom('chatComplete', 'x'),
      config: maybe('x', 'y'),
      metadata: fc.dictionary(fc.constantFrom('a', 'b'), fc.constantFrom('', ...WORDS), { noNullPrototype: true }),
      provider: fc.constantFrom('x', 'openai'),
      integration: maybe('one/x', 'two/x', 'one/y'),
      model: maybe('m', 'm/n', 'm/n/o', 'x'),
    })
    .map(({ name, namespace, isOpen, ...rest }) => {
      const who = caller(name, namespace);
      return { ...rest, caller: isOpen ? { ...who, key: undefined } : who };
    }),
  { minLength: 1, maxLength: 6 },
);

/** Name of each policy that a request counts in, and its counter. */
function counted(book: LimitBook, asked: Asked): Map<string, string> {
  const limits = book.of(asked.caller, asked.endpoint, asked.config);
  const counters = [
    ...limits.seats.map((seat) => [seat, undefined] as const),
    ...limits.at(asked).map((seat) => [seat, asked.model] as const),
  ];
  return new Map(
    counters.flatMap(([seat, model]) => {
      const found = seat.counter(asked.metadata, model, 0);
      return found === undefined ? [] : [[seat.limit.record.name, found.key] as const];
    }),
  );
}

it('a request counts in exactly the limits whose words hold, and with those of its own group', () => {
  fc.assert(
    fc.property(policies, requests, (rate_limits, all) => {
      const book = new LimitBook({ rate_limits, usage_limits: [], integrations: [] });
      const keys = new Map<string, string>();
      for (const asked of all) {
        const actual = counted(book, asked);
        const expected = rate_limits.filter((record) => groupOf(record, asked) !== undefined);
        expect([...actual.keys()].toSorted()).toEqual(expected.map(({ name }) => name).toSorted());
        for (const record of expected) {
          const group = JSON.stringify([record.name, groupOf(record, asked)]);
          const counterKey = actual.get(record.name) ?? '';
          expect(keys.get(group) ?? counterKey).toBe(counterKey);
          keys.set(group, counterKey);
        }
      }
      expect(new Set(keys.values()).size).toBe(keys.size);
    }),
    { numRuns: 2_000 },
  );
});
