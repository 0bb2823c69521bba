/** O1: the operator is killed at every one of its writes, and comes to the same as if it never was. */
import { afterAll, beforeAll, expect, it } from 'vitest';
import { cluster } from '../cluster/cluster.ts';
import { describeCluster } from '../cluster/describe-cluster.ts';
import { type Lane, type Run, startLane } from './lane.ts';
import type { Strike } from './write-proxy.ts';

const LANES = 3;
/** More would be a loop. */
const MOST_WRITES = 60;
/** A key's Secret, five objects of the snapshot, a shard too many, three statuses; then a shard, the index and a status again. */
const LEAST_WRITES = 12;
/** Before the first, and after each: what is stored before the next is what is stored after this one. */
const STRIKES: readonly Strike[] = [
  { at: 1, moment: 'before' },
  ...Array.from({ length: MOST_WRITES }, (_, index): Strike => ({ at: index + 1, moment: 'after' })),
];

describeCluster('a real operator that is killed', () => {
  let lanes: readonly Lane[] = [];
  let undisturbed: Run;

  beforeAll(async () => {
    lanes = await Promise.all(Array.from({ length: LANES }, () => startLane(cluster())));
  }, 120_000);
  afterAll(async () => {
    for (const lane of lanes) await lane.stop();
  });

  it('comes to one and the same when it is left alone', async () => {
    const runs = await Promise.all(lanes.map((lane) => lane.run()));
    const [first] = runs;
    if (first === undefined) throw new Error('there is no lane');
    undisturbed = first;
    for (const { outcomes, word, wasKilled } of runs) {
      expect(outcomes).toEqual(first.outcomes);
      expect({ word, wasKilled }).toEqual({ word: 'two', wasKilled: false });
    }
    const methods = new Set(first.writes.map((write) => write.split(' ')[0]));
    expect([...methods].sort()).toEqual(['DELETE', 'PATCH', 'POST', 'PUT']);
    const [before, after] = first.outcomes;
    expect(before?.hash).not.toBe(after?.hash);
    expect(after).toMatchObject({
      areKeysRight: true,
      secrets: ['caller-api-key of ApiKey caller', 'credential of nobody'],
    });
    for (const status of after?.statuses ?? []) expect(status).toContain('Programmed=True');
  }, 60_000);

  it('comes to the same at every write', async () => {
    const waiting = STRIKES.values();
    let [killed, isOver] = [0, false];
    const work = async (lane: Lane) => {
      for (const strike of waiting) {
        const { outcomes, wasKilled, word } = await lane.run(strike, undisturbed.outcomes);
        const title = `killed ${strike.moment} write ${strike.at}`;
        expect(outcomes, title).toEqual(undisturbed.outcomes);
        expect(word, title).toBe('two');
        if (wasKilled) killed += 1;
        isOver ||= !wasKilled;
        if (isOver) return;
      }
    };
    await Promise.all(lanes.map(work));
    expect(isOver, 'there was an end of writes').toBe(true);
    expect(killed).toBeGreaterThanOrEqual(LEAST_WRITES);
  }, 240_000);
}, ['helm', 'address']);
