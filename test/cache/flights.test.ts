import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { CacheKey } from '#gateway/cache/cache-key.ts';
import { type FailureCause, Flights, type FlightsOptions, type Lead, type Seat } from '#gateway/cache/flights.ts';
import { keyOf } from './requests.ts';

type Leading = Lead<string, string, string>;

/** A request, and all that it was told. */
class Request {
  readonly told: string[] = [];
  readonly name: string;
  lead: Leading | undefined;
  seat: Seat<string, string, string> | undefined;

  constructor(name: string) {
    this.name = name;
  }

  /** Of the stream, as far as it has taken it. */
  heard = '';

  take(): void {
    const chunks = this.seat?.take();
    if (chunks === undefined) this.told.push('too slow');
    else this.heard += chunks.join('');
  }
}

class World {
  readonly flights: Flights<string, string, string>;
  readonly requests: Request[] = [];

  constructor(options: FlightsOptions = {}) {
    this.flights = new Flights(options);
  }

  board(key: CacheKey, form?: string): Request {
    const request = new Request(`request ${this.requests.length}`);
    this.requests.push(request);
    const { told } = request;
    const boarded = this.flights.board(key, form, {
      onChunks: () => request.take(),
      onLanded: (answer) => {
        request.take();
        told.push(`landed ${answer}`);
      },
      onFailed: (failure) => {
        request.take();
        told.push(`failed ${failure}`);
      },
      onLead: (lead) => {
        request.seat = undefined;
        request.lead = lead;
        told.push('leads');
      },
      onAlone: () => told.push('alone'),
    });
    if (boarded.role === 'lead') request.lead = boarded;
    else request.seat = boarded;
    request.take();
    return request;
  }
}

function leadOf({ lead, name }: Request): Leading {
  if (lead === undefined) throw new Error(`${name} does not lead`);
  return lead;
}

const KEY = keyOf('one');

/** A leader and `count` followers, all of one form. */
function boarded(count: number, form?: string, options: FlightsOptions = {}) {
  const world = new World(options);
  const leader = world.board(KEY, form);
  const followers = Array.from({ length: count }, () => world.board(KEY, form));
  return { world, leader, lead: leadOf(leader), followers };
}

describe('equal requests at the same time', () => {
  it('one calls, and all get what it got', () => {
    const { world, lead, followers } = boarded(50);
    expect(world.requests.filter((request) => request.lead !== undefined).length).toBe(1);
    lead.land('42');
    for (const { told } of followers) expect(told).toEqual(['landed 42']);
    expect(world.flights.size).toBe(0);
  });

  it('others do not wait for it: another key, another tenant, or one that comes after it landed', () => {
    const { world, lead } = boarded(1);
    expect(world.board(keyOf('two')).lead).toBeDefined();
    expect(world.board(keyOf('one', 'team-b')).lead).toBeDefined();
    lead.land('42');
    expect(world.board(KEY).lead).toBeDefined();
  });

  it('what a leader says after its end is not heard', () => {
    const { world, lead, followers } = boarded(1);
    lead.land('42');
    const next = world.board(KEY);
    const behind = world.board(KEY);
    lead.push('x', 1);
    lead.land('43');
    lead.fail('late', 'upstream');
    lead.scatter('late');
    expect(lead.leave()).toBe(false);
    expect(followers[0]?.told).toEqual(['landed 42']);
    expect([behind.told, next.lead !== undefined]).toEqual([[], true]);
  });
});

describe('a leader that fails', () => {
  it.each(['upstream', 'caller'] satisfies FailureCause[])(
    'by its %s: the next one leads, the others go on waiting',
    (cause) => {
      const { world, lead, followers } = boarded(3);
      lead.fail('502', cause);
      expect(followers.map(({ told }) => told)).toEqual([['leads'], [], []]);
      leadOf(followers[0] as Request).land('42');
      expect(followers.map(({ told }) => told.at(-1))).toEqual(['leads', 'landed 42', 'landed 42']);
      expect(world.flights.size).toBe(0);
    },
  );

  it('three times is enough: then all have the failure, and nobody else calls', () => {
    const { world, lead, followers } = boarded(100);
    lead.fail('first', 'upstream');
    leadOf(followers[0] as Request).fail('second', 'upstream');
    leadOf(followers[1] as Request).fail('third', 'upstream');
    expect(world.requests.filter((request) => request.lead !== undefined).length).toBe(3);
    for (const { told } of followers.slice(2)) expect(told).toEqual(['failed third']);
    expect(world.flights.size).toBe(0);
  });

  it('by what is its caller’s own tells nothing about the others', () => {
    const { lead, followers } = boarded(10);
    let leading = lead;
    for (const follower of followers) {
      leading.fail('its own', 'caller');
      leading = leadOf(follower);
    }
    for (const { told } of followers) expect(told).toEqual(['leads']);
  });

  it('with nobody behind it ends the flight', () => {
    const { world, lead } = boarded(0);
    lead.fail('502', 'upstream');
    expect(world.flights.size).toBe(0);
    expect(world.board(KEY).lead).toBeDefined();
  });

  it('never do two lead at a time, whatever happens', () => {
    const step = fc.record({
      what: fc.constantFrom(...WORDS),
      at: fc.nat(20),
    });
    fc.assert(
      fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
        const world = new Crowd();
        for (const { what, at } of steps) {
          STEPS[what](world, at);
          expect(world.leading.length).toBeLessThanOrEqual(1);
          expect(world.flights.size).toBe(world.leading.length);
          for (const { told } of world.requests)
            expect(told.filter((word) => ENDS.test(word)).length).toBeLessThanOrEqual(1);
        }
        for (let left = 100; left > 0 && world.leading.length > 0; left -= 1) world.end((lead) => lead.land('end'));
        expect(world.waiting).toEqual([]);
      }),
    );
  });
});

describe('an answer that must not be shared', () => {
  it('leaves each to itself', () => {
    const { world, lead, followers } = boarded(3);
    lead.scatter('denied');
    for (const { told } of followers) expect(told).toEqual(['alone']);
    expect(world.flights.size).toBe(0);
  });

  it('breaks off for those who have a part of it', () => {
    const { world, lead, followers } = boarded(1, 'sse');
    const whole = world.board(KEY);
    lead.push('a', 1);
    lead.scatter('denied');
    expect([followers[0]?.told, whole.told]).toEqual([['failed denied'], ['alone']]);
  });
});

describe('callers who leave', () => {
  it('a leader without followers breaks its call off', () => {
    const { world, lead } = boarded(0);
    expect(lead.leave()).toBe(false);
    expect(world.flights.size).toBe(0);
  });

  it('a leader with followers lets its call go on, and they get the answer', () => {
    const { lead, followers } = boarded(2);
    lead.onDeserted = () => expect.unreachable();
    expect(lead.leave()).toBe(true);
    lead.land('42');
    for (const { told } of followers) expect(told).toEqual(['landed 42']);
  });

  it('who comes after the leader left follows too', () => {
    const { world, lead } = boarded(1);
    lead.leave();
    const late = world.board(KEY);
    lead.land('42');
    expect(late.told).toEqual(['landed 42']);
  });

  it('the call is broken off when the last follower has left as well, once', () => {
    const { world, lead, followers } = boarded(2);
    let deserted = 0;
    lead.onDeserted = () => {
      deserted += 1;
    };
    lead.leave();
    followers[0]?.seat?.leave();
    expect(deserted).toBe(0);
    followers[1]?.seat?.leave();
    followers[1]?.seat?.leave();
    expect(deserted).toBe(1);
    expect(world.flights.size).toBe(0);
  });

  it('followers who leave do not break off a call whose caller is there', () => {
    const { world, lead, followers } = boarded(2);
    lead.onDeserted = () => expect.unreachable();
    for (const { seat } of followers) seat?.leave();
    expect(world.flights.size).toBe(1);
    expect(lead.leave()).toBe(false);
  });

  it('are told nothing any more, and never lead', () => {
    const { lead, followers } = boarded(3, 'sse');
    followers[0]?.seat?.leave();
    lead.push('a', 1);
    lead.fail('502', 'caller');
    expect(followers[0]?.told).toEqual([]);
    expect(followers[0]?.lead).toBeUndefined();
  });
});

describe('a stream that others take part in', () => {
  it('they get all of it, from its start, whenever they came', () => {
    const { world, lead } = boarded(0, 'sse');
    const parts = ['a', 'b', 'c', 'd'];
    const joined: Request[] = [];
    for (const part of parts) {
      joined.push(world.board(KEY, 'sse'));
      lead.push(part, 1);
      expect(joined.map(({ heard }) => heard)).toEqual(
        joined.map(() => parts.slice(0, parts.indexOf(part) + 1).join('')),
      );
    }
    const last = world.board(KEY, 'sse');
    lead.land('whole');
    for (const { heard, told } of [...joined, last]) expect([heard, told]).toEqual(['abcd', ['landed whole']]);
  });

  it('whoever wants another form, or no stream, waits for the whole', () => {
    const { world, lead } = boarded(0, 'sse');
    const others = [world.board(KEY, 'sse with usage'), world.board(KEY)];
    lead.push('a', 1);
    expect(others.map(({ heard }) => heard)).toEqual(['', '']);
    lead.land('whole');
    for (const { heard, told, seat } of others)
      expect([heard, told, seat?.hasBegun]).toEqual(['', ['landed whole'], false]);
  });

  it('a leader without a stream is nobody’s stream', () => {
    const { world, lead } = boarded(0);
    const stream = world.board(KEY, 'sse');
    lead.land('whole');
    expect([stream.heard, stream.told]).toEqual(['', ['landed whole']]);
  });

  it('that breaks off fails those who have a part; of the others the first leads', () => {
    const { world, lead } = boarded(0, 'sse');
    const begun = world.board(KEY, 'sse');
    lead.push('a', 1);
    const waiting = [world.board(KEY), world.board(KEY)];
    lead.fail('cut', 'upstream');
    expect([begun.heard, begun.told, begun.lead]).toEqual(['a', ['failed cut'], undefined]);
    expect(waiting.map(({ told }) => told)).toEqual([['leads'], []]);
  });

  it('that breaks off before its first part fails nobody', () => {
    const { lead, followers } = boarded(2, 'sse');
    lead.fail('cut', 'upstream');
    const next = leadOf(followers[0] as Request);
    next.push('new', 1);
    next.land('whole');
    expect([followers[1]?.heard, followers[1]?.told]).toEqual(['new', ['landed whole']]);
  });

  it('of which the beginning is gone is joined by nobody: who comes then waits for the whole', () => {
    const { world, lead, followers } = boarded(1, 'sse', { maxReplayBytes: 3 });
    for (const part of ['a', 'b', 'c', 'd']) lead.push(part, 1);
    const late = world.board(KEY, 'sse');
    lead.push('e', 1);
    lead.land('whole');
    expect([followers[0]?.heard, late.heard]).toEqual(['abcde', '']);
    expect(late.told).toEqual(['landed whole']);
  });

  it('who reads too slowly is told so, and holds no more than the bound', () => {
    const world = new World({ maxReplayBytes: 3 });
    const lead = leadOf(world.board(KEY, 'sse'));
    const slow = world.board(KEY, 'sse');
    lead.push('a', 1);
    const { seat } = slow;
    slow.seat = undefined;
    for (const part of ['b', 'c', 'd']) lead.push(part, 1);
    expect(seat?.take()).toEqual(['b', 'c', 'd']);
    for (const part of ['e', 'f', 'g', 'h']) lead.push(part, 1);
    expect(seat?.take()).toBeUndefined();
  });
});

const ENDS = /^(?:landed|failed|alone)/;

/** Requests of one key of whom some lead, wait, or have left. */
class Crowd extends World {
  leading: Request[] = [];
  waiting: Request[] = [];

  come(form: string | undefined): void {
    const request = this.board(KEY, form);
    (request.lead === undefined ? this.waiting : this.leading).push(request);
  }

  /** Ends the running call, and notes what became of the others. */
  end(how: (lead: Leading) => void): void {
    const [leader] = this.leading;
    if (leader === undefined) return;
    this.leading = [];
    how(leadOf(leader));
    this.note();
  }

  leave(at: number): void {
    const request = this.waiting[at % Math.max(1, this.waiting.length)];
    this.waiting = this.waiting.filter((other) => other !== request);
    request?.seat?.leave();
    this.note();
  }

  note(): void {
    this.leading.push(...this.waiting.filter(({ lead }) => lead !== undefined));
    this.waiting = this.waiting.filter(({ lead, told }) => lead === undefined && !told.some((word) => ENDS.test(word)));
  }

  /** The leader's caller goes; its call goes on where somebody follows. */
  leaderLeaves(): void {
    const [leader] = this.leading;
    if (leader === undefined) return;
    const lead = leadOf(leader);
    lead.onDeserted = () => {
      this.leading = [];
    };
    if (!lead.leave()) this.leading = [];
  }
}

const WORDS = ['come', 'come', 'join', 'push', 'land', 'fail', 'caller', 'scatter', 'leave', 'leaderLeaves'] as const;
const STEPS: Readonly<Record<(typeof WORDS)[number], (crowd: Crowd, at: number) => void>> = {
  come: (crowd) => crowd.come(undefined),
  join: (crowd) => crowd.come('sse'),
  push: (crowd) => crowd.leading[0]?.lead?.push('x', 1),
  land: (crowd) => crowd.end((lead) => lead.land('42')),
  fail: (crowd) => crowd.end((lead) => lead.fail('502', 'upstream')),
  caller: (crowd) => crowd.end((lead) => lead.fail('401', 'caller')),
  scatter: (crowd) => crowd.end((lead) => lead.scatter('denied')),
  leave: (crowd, at) => crowd.leave(at),
  leaderLeaves: (crowd) => crowd.leaderLeaves(),
};
