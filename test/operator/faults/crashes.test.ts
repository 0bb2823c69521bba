/** O1: the operator dies after any of its writes, or never learns that one was done. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { pass } from '../../crds/api/virtual-time.ts';
import type { Outcome } from './outcome.ts';
import { openStage, type Stage, type StageOptions, useStages } from './stage.ts';
import { STEPS, take } from './workload.ts';

useStages();

const STEP_MS = 4_000;
/** A new process is ready, waits for the Lease of the dead one, and catches up. */
const RECOVERY_MS = 22_000;

/** Of one process, its Lease included. */
function writesOf(stage: Stage, who = 'operator-0'): number {
  return stage.server.writes({ who }).length;
}

/** The workload. `deaths`: writes after which a process dies, each counted from its own first; the next one follows. */
async function work(stage: Stage, deaths: readonly number[] = []): Promise<number> {
  let [run, died] = [stage.start(), 0];
  let isDead = false;
  stage.server.onWrite(({ who }) => {
    if (isDead || who !== run.identity || writesOf(stage, who) !== deaths[died]) return;
    isDead = true;
    run.crash();
  });
  const revive = async () => {
    while (isDead) {
      [run, died, isDead] = [stage.start(), died + 1, false];
      await pass(RECOVERY_MS);
    }
  };
  await pass(STEP_MS);
  await revive();
  for (const step of STEPS) {
    take(step, stage.server);
    await pass(STEP_MS);
    await revive();
  }
  await pass(2 * STEP_MS);
  await revive();
  return died;
}

interface End {
  readonly outcome: Outcome;
  readonly died: number;
  readonly writes: number;
}

async function end(deaths: readonly number[] = [], options: StageOptions = {}): Promise<End> {
  const stage = openStage(options);
  const died = await work(stage, deaths);
  const { outcome } = stage;
  const writes = writesOf(stage);
  await stage.close();
  return { outcome, died, writes };
}

describe('O1: a crash', () => {
  it('after any write leaves what the next operator brings to the same end', async () => {
    const { outcome, writes } = await end();
    expect(writes).toBeGreaterThan(80);
    for (let number = 1; number <= writes; number++) {
      const after = await end([number]);
      // How many Events there are to write is not the same in each run: after the last write nothing dies.
      if (after.writes >= number) expect(after.died, `write ${number}`).toBe(1);
      expect(after.outcome, `write ${number}`).toEqual(outcome);
    }
  });

  it('again and again, with writes under way at the same time, changes nothing of the end either', async () => {
    const { outcome } = await end();
    const deaths = fc.array(fc.integer({ min: 1, max: 30 }), { minLength: 2, maxLength: 4 });
    await fc.assert(
      fc.asyncProperty(deaths, fc.constantFrom(0, 3, 40), async (numbers, latencyMs) => {
        const after = await end(numbers, { latencyMs });
        expect(after.died).toBeGreaterThan(0);
        expect(after.outcome).toEqual(outcome);
      }),
      { numRuns: 20 },
    );
  });
});

describe('O1: a restart', () => {
  it('of an operator that has nothing to do writes nothing, whatever gateways say meanwhile', async () => {
    const stage = openStage();
    const run = stage.start();
    for (const step of STEPS) {
      take(step, stage.server);
      await pass(STEP_MS);
    }
    await stage.settle();
    const [{ outcome }, writes] = [stage, stage.writes.length];
    for (const gateway of stage.gateways) gateway.isDeaf = true;
    run.crash();
    const next = stage.start();
    await pass(RECOVERY_MS);
    expect(next.isLeader()).toBe(true);
    stage.addGateway();
    await pass(60_000);
    expect(stage.writes.slice(writes)).toEqual([]);
    expect(stage.outcome).toEqual(outcome);
  });
});

describe('O1: an answer that is lost', () => {
  it.each(['POST', 'PUT', 'PATCH'] as const)('of any %s changes nothing of the end', async (method) => {
    const { outcome } = await end();
    for (let nth = 1, hits = 1; hits > 0; nth++) {
      const stage = openStage();
      const lost = stage.server.faults.onRequest({ who: 'operator-0', method, nth, times: 1 }, { cutAfterBytes: 0 });
      await work(stage);
      hits = lost.hits;
      expect(stage.outcome, `${method} ${nth}`).toEqual(outcome);
      expect(nth > 10 || hits === 1).toBe(true);
      await stage.close();
    }
  });
});
