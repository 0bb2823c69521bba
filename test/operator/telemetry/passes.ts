/** Passes of the loop, for tests of what is told of them. */
import type { Condition } from '#operator/compile/status.ts';
import { type ObjectStatus, withProgrammed } from '#operator/compile/status.ts';
import type { Pass } from '#operator/loop.ts';
import { snapshotOf, statusOf } from '../apply/cases.ts';

const WORDS: Readonly<Record<string, Omit<Condition, 'type' | 'message'>>> = {
  served: { status: 'True', reason: 'Programmed' },
  pending: { status: 'False', reason: 'Pending' },
  unpublished: { status: 'False', reason: 'NotPublished' },
  refused: { status: 'False', reason: 'RefusedByGateway' },
};

/** `how`: a word of the table, or `bad`: not accepted. */
export function object(name: string, how: string, generation = 1, message = 'spec: bad'): ObjectStatus {
  const isBad = how === 'bad';
  const programmed = WORDS[how] ?? { status: 'False', reason: 'NotAccepted' };
  const status = statusOf(name, { generation, message, ...(isBad ? { isRefused: true, served: 'none' } : {}) });
  return withProgrammed(status, { type: 'Programmed', message: how === 'refused' ? message : '', ...programmed });
}

export function pass(statuses: readonly ObjectStatus[], over: Partial<Pass> = {}): Pass {
  return {
    generation: 1,
    statuses,
    problems: [],
    snapshot: snapshotOf({}),
    isPublished: true,
    issued: [],
    writeFailures: [],
    tookMs: 20,
    ...over,
  };
}
