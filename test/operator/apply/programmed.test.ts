/** What is said of Programmed while publications, replicas and objects come, change and go. */
import fc from 'fast-check';
import { beforeEach, describe, expect, it } from 'vitest';
import type { Snapshot } from '#crds/snapshot/contract.ts';
import { Programmed } from '#operator/apply/programmed.ts';
import { conditionOf, type ObjectStatus } from '#operator/compile/status.ts';
import type { Replica } from '#operator/replicas/replica.ts';
import { replica, snapshotOf, statusOf } from './cases.ts';

const A = statusOf('a');
const B = statusOf('b');

let programmed: Programmed;
let generation = 0;
/** Compiled last. */
let snapshot: Snapshot;

beforeEach(() => {
  programmed = new Programmed();
  generation = 0;
  snapshot = snapshotOf({});
});

function compiled(models: Readonly<Record<string, string>>): Snapshot {
  snapshot = snapshotOf(models);
  return snapshot;
}

function publish(models: Readonly<Record<string, string>>): void {
  generation += 1;
  programmed.published({ generation, hash: `hash-${generation}` }, compiled(models));
}

/** `True Programmed: served by 1 of 1 replica` of an object, by its name. */
function say(
  replicas: readonly Replica[],
  statuses: readonly ObjectStatus[] = [A, B],
): Record<string, string | undefined> {
  return Object.fromEntries(
    programmed.of({ snapshot, statuses }, replicas).map((status) => {
      const condition = conditionOf(status, 'Programmed');
      return [status.name, `${condition?.status} ${condition?.reason}: ${condition?.message}`];
    }),
  );
}

const three = (...generations: number[]) => generations.map((served, index) => replica(index, served));
const SERVED = 'True Programmed: served by 3 of 3 replicas';

describe('an object that is new', () => {
  it('is pending until every replica serves it', () => {
    publish({ a: 'one', b: 'one' });
    expect(say(three(0, 0, 0)).a).toBe('False Pending: 0 of 3 replicas serve it');
    expect(say(three(0, 1, 0)).a).toBe('False Pending: 1 of 3 replicas serve it');
    expect(say(three(1, 1, 1))).toEqual({ a: SERVED, b: SERVED });
  });

  it('is served by replicas that are further already', () => {
    publish({ a: 'one' });
    expect(say(three(7, 8, 9), [A]).a).toBe(SERVED);
  });

  it('counts a single replica in the singular', () => {
    publish({ a: 'one' });
    expect(say([replica(0, 0)], [A]).a).toBe('False Pending: 0 of 1 replica serves it');
    expect(say([replica(0, 1)], [A]).a).toBe('True Programmed: served by 1 of 1 replica');
  });

  it('is unknown while nothing is published, and while no replica is ready', () => {
    compiled({ a: 'one', b: 'one' });
    expect(say(three(1, 1, 1)).a).toBe('Unknown Pending: not published yet');
    publish({ a: 'one', b: 'one' });
    expect(say([]).a).toBe('Unknown Pending: no gateway replica is ready');
  });
});

describe('an object that is served', () => {
  beforeEach(() => {
    publish({ a: 'one', b: 'one' });
    say(three(1, 1, 1));
  });

  it.each([
    ['none is ready', []],
    ['one has gone', [replica(0, 1)]],
    ['one is new and serves nothing', [...three(1, 1, 1), replica(3, 0)]],
    ['one has started with what it had before', [replica(0, 0), replica(1, 1), replica(2, 1)]],
    ['one refuses what came later', [replica(0, 1, { generation: 2, reason: 'broken' }), replica(1, 1)]],
  ])('stays so, in the same words, when %s', (_, replicas) => {
    expect(say(replicas)).toEqual({ a: SERVED, b: SERVED });
  });

  it('stays so when another object changes, which alone is pending', () => {
    publish({ a: 'one', b: 'two' });
    expect(say(three(2, 1, 1))).toEqual({ a: SERVED, b: 'False Pending: 1 of 3 replicas serve it' });
    expect(say(three(2, 2))).toEqual({ a: SERVED, b: 'True Programmed: served by 2 of 2 replicas' });
  });

  it('stays so when the same is published again', () => {
    programmed.published({ generation, hash: 'hash-1' }, compiled({ a: 'one', b: 'one' }));
    expect(say(three(1, 0, 0)).a).toBe(SERVED);
  });

  it('is pending again with every change of its own, one back to what it was included', () => {
    publish({ a: 'two', b: 'one' });
    publish({ a: 'one', b: 'one' });
    expect(say(three(2, 2, 2)).a).toBe('False Pending: 0 of 3 replicas serve it');
    expect(say(three(3, 3, 3)).a).toBe(SERVED);
  });

  it('keeps its words while a bad version of it is not accepted, and after', () => {
    expect(say(three(1, 1, 1), [{ ...A, served: 'last-good' }]).a).toBe('False LastGoodServed: ');
    expect(say(three(1), [A]).a).toBe(SERVED);
  });

  it('starts anew when it is deleted and made anew, even between two looks', () => {
    expect(say(three(1, 1, 0), [statusOf('a', { uid: 'another' }), B])).toEqual({
      a: 'False Pending: 2 of 3 replicas serve it',
      b: SERVED,
    });
  });

  it('starts anew when it was gone for a while', () => {
    publish({ b: 'one' });
    expect(Object.keys(say(three(2, 2, 2), [B]))).toEqual(['b']);
    publish({ a: 'one', b: 'one' });
    expect(say(three(2, 2, 2))).toEqual({ a: 'False Pending: 0 of 3 replicas serve it', b: SERVED });
  });

  it('starts anew when somebody else has published in between', () => {
    generation += 1;
    publish({ a: 'one', b: 'one' });
    expect(say(three(2, 3, 3)).a).toBe('False Pending: 2 of 3 replicas serve it');
    expect(say(three(3, 3, 3)).a).toBe(SERVED);
  });

  it('is judged by what is served when publications begin from the start', () => {
    publish({ a: 'two', b: 'one' });
    programmed.published({ generation: 1, hash: 'hash-1' }, compiled({ a: 'one', b: 'one' }));
    expect(say([replica(0, 1, { generation: 2, reason: 'broken' })]).a).toBe(
      'True Programmed: served by 1 of 1 replica',
    );
  });
});

describe('a refusal', () => {
  const refusing = (of: number, served: number) => [
    replica(0, 3),
    replica(1, served, { generation: of, reason: 'configs: broken' }),
  ];

  beforeEach(() => {
    publish({ a: 'one', b: 'one' });
    say(three(1, 1, 1));
    publish({ a: 'two', b: 'one' });
  });

  it('is told of the objects that changed since what the replica serves, with its name and reason', () => {
    expect(say(refusing(2, 1))).toEqual({ a: 'False RefusedByGateway: gateway-1: configs: broken', b: SERVED });
  });

  it('stands while a newer publication is not yet answered, and says nothing of what came with that', () => {
    publish({ a: 'two', b: 'two' });
    expect(say(refusing(2, 1))).toEqual({
      a: 'False RefusedByGateway: gateway-1: configs: broken',
      b: 'False Pending: 1 of 2 replicas serve it',
    });
  });

  it('is over once the replica serves what came later', () => {
    publish({ a: 'three', b: 'one' });
    say(refusing(3, 1));
    expect(say([replica(0, 3), replica(1, 3)]).a).toBe('True Programmed: served by 2 of 2 replicas');
  });

  it('is over once the replica is gone', () => {
    say(refusing(2, 1));
    expect(say([replica(0, 2)]).a).toBe('True Programmed: served by 1 of 1 replica');
  });

  it('of something older than the object does not concern it', () => {
    publish({ a: 'three', b: 'one' });
    expect(say(refusing(2, 1)).a).toBe('False Pending: 1 of 2 replicas serve it');
  });
});

describe('what could not be published', () => {
  beforeEach(() => {
    publish({ a: 'one', b: 'one' });
    say(three(1, 1, 1));
  });

  it('is told of the objects that it would have changed, and of no others', () => {
    programmed.notPublished(compiled({ a: 'one', b: 'two' }), 'snapshot: too large');
    expect(say(three(1, 1, 1))).toEqual({ a: SERVED, b: 'False NotPublished: snapshot: too large' });
  });

  it('is over once it is published, or what is published again', () => {
    programmed.notPublished(compiled({ a: 'one', b: 'two' }), 'snapshot: too large');
    say(three(1, 1, 1));
    programmed.published({ generation, hash: 'hash-1' }, compiled({ a: 'one', b: 'one' }));
    expect(say(three(1, 0, 0)).b).toBe(SERVED);
    programmed.notPublished(compiled({ a: 'one', b: 'two' }), 'snapshot: too large');
    publish({ a: 'one', b: 'two' });
    expect(say(three(2, 1, 1)).b).toBe('False Pending: 1 of 3 replicas serve it');
  });

  it('is told of everything where nothing was ever published', () => {
    programmed = new Programmed();
    programmed.notPublished(compiled({ a: 'one', b: 'one' }), 'no answer');
    expect(say(three(1, 1, 1))).toMatchObject({
      a: 'False NotPublished: no answer',
      b: 'False NotPublished: no answer',
    });
    expect(programmed.generation).toBe(0);
  });
});

describe('what is compiled and about to be published', () => {
  it('is not served, whatever is known of what was published before', () => {
    publish({ a: 'one', b: 'one' });
    say(three(1, 1, 1));
    compiled({ a: 'one', b: 'two', c: 'one' });
    expect(say(three(9, 9, 9), [A, B, statusOf('c')])).toEqual({
      a: SERVED,
      b: 'Unknown Pending: not published yet',
      c: 'Unknown Pending: not published yet',
    });
  });
});

describe('an operator that starts again', () => {
  const words = 'served by 5 of 5 replicas';
  const start = (isNew: boolean) => {
    programmed = new Programmed({ stored: ({ name }) => (name === 'a' ? words : undefined) });
    programmed.published({ generation: 7, hash: 'hash-7', isNew }, compiled({ a: 'one', b: 'one' }));
  };

  it('believes what is stored where nothing else is published since', () => {
    start(false);
    expect(say(three(7, 0, 0))).toEqual({
      a: `True Programmed: ${words}`,
      b: 'False Pending: 1 of 3 replicas serve it',
    });
  });

  it('keeps what is stored until it has published, even if that fails', () => {
    programmed = new Programmed({ stored: ({ name }) => (name === 'a' ? words : undefined) });
    compiled({ a: 'one', b: 'one' });
    const kept = `True Programmed: ${words}`;
    expect(say([])).toEqual({ a: kept, b: 'Unknown Pending: not published yet' });
    programmed.notPublished(snapshot, 'no answer');
    expect(say([])).toEqual({ a: kept, b: 'False NotPublished: no answer' });
    programmed.published({ generation: 7, hash: 'hash-7', isNew: false }, snapshot);
    expect(say(three(7, 6, 6)).a).toBe('False Pending: 1 of 3 replicas serve it');
  });

  it('asks all replicas anew where what it publishes is new', () => {
    start(true);
    expect(say(three(7, 0, 0)).a).toBe('False Pending: 1 of 3 replicas serve it');
    expect(say(three(7, 7, 7)).a).toBe(SERVED);
  });

  it('believes nothing stored of what changes later', () => {
    start(false);
    say(three(7, 7, 7));
    programmed.published({ generation: 8, hash: 'hash-8' }, compiled({ a: 'two', b: 'one' }));
    expect(say(three(7, 7, 7)).a).toBe('False Pending: 0 of 3 replicas serve it');
  });
});

describe('Programmed', () => {
  it.each([
    ['Incomplete', { served: 'none' as const }],
    ['NotAccepted', { served: 'none' as const, isRefused: true }],
    ['LastGoodServed', { served: 'last-good' as const, isRefused: true }],
  ])('is %s whatever replicas say, and Ready says so', (reason, how) => {
    publish({ a: 'one' });
    const [status] = programmed.of({ snapshot, statuses: [statusOf('a', how)] }, three(1, 1, 1));
    expect(status && conditionOf(status, 'Programmed')).toMatchObject({ status: 'False', reason });
    expect(status && conditionOf(status, 'Ready')).toMatchObject({ status: 'False', reason: 'NotReady' });
  });

  it('is True only of what all ready replicas have served, and is never taken back without a change', () => {
    fc.assert(
      fc.property(fc.array(STEP, { maxLength: 30 }), (steps) => {
        programmed = new Programmed();
        generation = 0;
        const model = new Model();
        for (const step of steps) {
          model.take(step);
          const said = say(
            model.ready(),
            model.present().map((name) => statusOf(name)),
          );
          expect(model.present().filter((name) => said[name]?.startsWith('True'))).toEqual(model.served());
        }
      }),
    );
  });
});

const NAMES = ['a', 'b', 'c'];
const STEP = fc.oneof(
  fc.record({ publish: fc.dictionary(fc.constantFrom(...NAMES), fc.constantFrom('one', 'two')) }),
  fc.record({ replica: fc.nat(2), serves: fc.boolean() }),
  fc.record({ gone: fc.nat(2) }),
);
type Step = typeof STEP extends fc.Arbitrary<infer T> ? T : never;

/** The same, said in the plainest way. */
class Model {
  #current: Readonly<Record<string, string>> = {};
  readonly #since = new Map<string, number>();
  readonly #served = new Set<string>();
  readonly #replicas = new Map<number, Replica>();

  take(step: Step): void {
    if ('publish' in step) this.#publish(step.publish);
    else if ('gone' in step) this.#replicas.delete(step.gone);
    else this.#replicas.set(step.replica, replica(step.replica, step.serves ? generation : 0));
    if (this.#replicas.size === 0) return;
    for (const name of this.present()) {
      if (this.ready().every((each) => each.generation >= (this.#since.get(name) ?? 0))) this.#served.add(name);
    }
  }

  present(): string[] {
    return NAMES.filter((name) => this.#current[name] !== undefined);
  }

  ready(): Replica[] {
    return [...this.#replicas.values()];
  }

  served(): string[] {
    return this.present().filter((name) => this.#served.has(name));
  }

  #publish(models: Readonly<Record<string, string>>): void {
    publish(models);
    for (const name of NAMES.filter((one) => this.#current[one] !== models[one])) {
      this.#since.set(name, generation);
      this.#served.delete(name);
    }
    this.#current = { ...models };
  }
}
