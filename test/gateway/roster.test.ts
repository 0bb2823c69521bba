import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { Roster, type Rostered } from '#gateway/roster.ts';
import { Slab } from '#gateway/upstream/slab.ts';

class Guest implements Rostered {
  place = -1;
  readonly name: number;
  constructor(name: number) {
    this.name = name;
  }
}

describe('a roster', () => {
  it('holds what a Set would hold, whatever comes and goes', () => {
    const steps = fc.array(fc.tuple(fc.boolean(), fc.nat(9)), { maxLength: 200 });
    fc.assert(
      fc.property(steps, (moves) => {
        const guests = Array.from({ length: 10 }, (_, name) => new Guest(name));
        const roster = new Roster<Guest>();
        const model = new Set<Guest>();
        const enter = (guest: Guest) => {
          roster.add(guest);
          model.add(guest);
        };
        const leave = (guest: Guest) => {
          roster.delete(guest);
          model.delete(guest);
        };
        for (const [enters, name] of moves) {
          const guest = guests[name] as Guest;
          (enters && !model.has(guest) ? enter : leave)(guest);
          expect(roster.size).toBe(model.size);
        }
        expect(new Set(roster.list())).toEqual(model);
        for (const guest of guests) expect(guest.place === -1).toBe(!model.has(guest));
      }),
    );
  });

  it('gives out those that a condition holds for, once', () => {
    const roster = new Roster<Guest>();
    for (let name = 0; name < 10; name += 1) roster.add(new Guest(name));
    expect(roster.takeWhere(({ name }) => name % 2 === 0).map(({ name }) => name)).toEqual([0, 2, 4, 6, 8]);
    expect(roster.size).toBe(5);
    expect(roster.takeWhere(({ name }) => name % 2 === 0)).toEqual([]);
    expect(
      roster
        .list()
        .map(({ name }) => name)
        .toSorted(),
    ).toEqual([1, 3, 5, 7, 9]);
  });

  it('may be walked while its guests leave', () => {
    const roster = new Roster<Guest>();
    for (let name = 0; name < 5; name += 1) roster.add(new Guest(name));
    for (const guest of roster.list()) roster.delete(guest);
    expect(roster.size).toBe(0);
  });

  it('minds no guest who leaves twice', () => {
    const roster = new Roster<Guest>();
    const [one, two] = [new Guest(1), new Guest(2)];
    roster.add(one);
    roster.add(two);
    roster.delete(one);
    roster.delete(one);
    expect(roster.list()).toEqual([two]);
  });
});

describe('a slab', () => {
  it('copies, and never gives the same bytes twice', () => {
    const slab = new Slab();
    const source = Buffer.alloc(64 * 1024);
    const sizes = fc.array(fc.integer({ min: 1, max: 64 * 1024 }), { minLength: 1, maxLength: 40 });
    fc.assert(
      fc.property(sizes, (lengths) => {
        const slices = lengths.map((bytes, index) => {
          source.fill(index % 251, 0, bytes);
          return slab.copyOf(source, bytes);
        });
        for (const [index, slice] of slices.entries()) {
          expect(slice.length).toBe(lengths[index]);
          expect(slice.every((byte) => byte === index % 251)).toBe(true);
        }
      }),
      { numRuns: 20 },
    );
  });
});
