/** What limits cost: nothing for those that cannot be about a request, bounded memory for those that are about many. */
import { describe, expect, it } from 'vitest';
import { rateKey } from '#crds/limits/counter-key.ts';
import type { RateLimitRecord } from '#crds/snapshot/contract.ts';
import type { Caller } from '#gateway/exchange.ts';
import { Groups, picoDollars } from '#gateway/limits/group.ts';
import { LimitBook } from '#gateway/limits/limit-book.ts';
import { caller, rateRecord } from './records.ts';

const book = (rate_limits: RateLimitRecord[]) => new LimitBook({ rate_limits, usage_limits: [], integrations: [] });
const idsOf = (of: LimitBook, who: Caller, type = 'chatComplete', config?: string) =>
  of.of(who, type, config).seats.map(({ limit }) => limit.record.name);

describe('a book of limits', () => {
  it('holds for a caller only what can be about them', () => {
    const limits = book([
      rateRecord('all', { workspace: '*' }),
      rateRecord('here', {}),
      rateRecord('there', { workspace: 'team-b' }),
      rateRecord('mine', { conditions: [{ key: 'api_key', values: ['web', 'x'], excludes: [] }] }),
      rateRecord('other', { conditions: [{ key: 'api_key', values: ['batch'], excludes: [] }] }),
      rateRecord('embed', { conditions: [{ key: 'endpoint_type', values: ['embed'], excludes: [] }] }),
      rateRecord('chat', { conditions: [{ key: 'config', values: ['chat'], excludes: [] }] }),
      rateRecord('prompt', { group_by: ['prompt'] }),
    ]);
    expect(idsOf(limits, caller('web')).toSorted()).toEqual(['all', 'here', 'mine']);
    expect(idsOf(limits, caller('web'), 'embed', 'chat').toSorted()).toEqual(['all', 'chat', 'embed', 'here', 'mine']);
    expect(idsOf(limits, caller('web', 'team-b')).toSorted()).toEqual(['all', 'there']);
  });

  it('finds the same limits again without looking at any', () => {
    const limits = book([rateRecord('here', {})]);
    const who = caller('web');
    expect(limits.of(who, 'chatComplete', undefined)).toBe(limits.of(who, 'chatComplete', undefined));
    const seats = limits.of(who, 'chatComplete', undefined).at({ provider: 'openai', integration: 'default/a' });
    expect(limits.of(who, 'chatComplete', undefined).at({ provider: 'openai', integration: 'default/a' })).toBe(seats);
  });

  it('with limits of ten thousand keys looks at those of the one who asks', () => {
    const records = Array.from({ length: 10_000 }, (_, index) =>
      rateRecord(`key-${index}`, { conditions: [{ key: 'api_key', values: [`key-${index}`], excludes: [] }] }),
    );
    let looks = 0;
    const watched = records.map((record) => ({
      ...record,
      get group_by() {
        looks += 1;
        return [];
      },
    }));
    const limits = book(watched);
    looks = 0;
    expect(idsOf(limits, caller('key-77'))).toEqual(['key-77']);
    expect(looks).toBeLessThan(10);
  });

  it('names counters as the operator and other replicas do, and makes each once', () => {
    const record = rateRecord('here', { group_by: ['api_key', 'metadata.team'] });
    const [seat] = book([record]).of(caller('web'), 'chatComplete', undefined).seats;
    const counter = seat?.counter({ team: 'a|b' }, undefined, 0);
    expect(counter?.key).toBe(rateKey(record, ['web', 'a|b']));
    expect(counter?.rule).toEqual({ kind: 'rate', windowMs: 60_000, value: 1 });
    expect(seat?.counter({ team: 'a|b' }, undefined, 0)).toBe(counter);
    expect(seat?.counter({}, undefined, 0)).toBeUndefined();
  });
});

describe('groups of a limit', () => {
  it('are bounded however many values callers think of, and those in use are kept', () => {
    const groups = new Groups(rateRecord('each', { group_by: ['metadata.user'] }));
    const busy = groups.of(['busy']);
    for (let user = 0; user < 50_000; user += 1) {
      groups.of([`user-${user}`]);
      if (user % 1_000 === 0) expect(groups.of(['busy'])).toBe(busy);
    }
    expect(groups.size).toBeLessThan(20_000);
  });

  it('keep no long values', () => {
    const groups = new Groups(rateRecord('each', { group_by: ['metadata.user'] }));
    const long = groups.of(['x'.repeat(1_000_000)]);
    expect(long.counterAt(0).key.length).toBeLessThan(200);
    expect(groups.of(['x'.repeat(1_000_000)])).toBe(long);
    expect(groups.of(['y'.repeat(1_000_000)]).counterAt(0).key).not.toBe(long.counterAt(0).key);
  });
});

it.each([
  [0, 0n],
  [1, 1_000_000_000_000n],
  [0.1, 100_000_000_000n],
  [0.000000000001, 1n],
  [19.99, 19_990_000_000_000n],
  [1e12, 10n ** 24n],
])('%d US dollars are counted exactly', (dollars, units) => {
  expect(picoDollars(dollars)).toBe(units);
});
