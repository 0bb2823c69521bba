import { expect } from 'vitest';
import { type OperatorRun, openStage, type Stage, type StageOptions } from './stage.ts';
import { BEGINNING } from './workload.ts';

/** One operator, which without a fault has made of the beginning what there is to make of it. */
export async function running(options: StageOptions = {}): Promise<{ stage: Stage; run: OperatorRun }> {
  const stage = openStage(options);
  const run = stage.start();
  stage.server.apply(BEGINNING);
  await stage.settle();
  expect(run.faults).toEqual([]);
  return { stage, run };
}
