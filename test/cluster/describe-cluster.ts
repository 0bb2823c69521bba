/** Suites that need a cluster. */
import { describe, it } from 'vitest';
import { type ClusterState, clusterState } from './cluster.ts';
import { isContinuousIntegration } from './continuous-integration.ts';
import { externalAddress, NO_ADDRESS } from './external-address.ts';
import { CORE_PARTS, type Part } from './parts.ts';

declare module 'vitest' {
  interface TaskMeta {
    /** Set on what stands for a suite that was left out. */
    leftOut?: LeftOut;
  }
}

export interface LeftOut {
  readonly suite: string;
  /** What it needs as a whole; default: a cluster. */
  readonly needs?: string;
  /** Why, for each part that is missing. */
  readonly reasons: readonly string[];
}

/** `address`: one that is not loopback, as EndpointSlices take no other. */
export type Need = Part | 'address';

export interface Machine extends Pick<ClusterState, 'found' | 'missing'> {
  readonly address: string | undefined;
}

/** What is needed and not there, and why. */
export function lackingOn({ found, missing, address }: Machine, needs: readonly Need[]): Map<Need, string> {
  const reasonOf = (need: Need) => {
    if (need === 'address') return address === undefined ? NO_ADDRESS : undefined;
    return found[need] === undefined ? (missing[need] ?? 'it was not looked for') : undefined;
  };
  const reasons = new Map<Need, string>();
  for (const need of needs) {
    const reason = reasonOf(need);
    if (reason !== undefined) reasons.set(need, reason);
  }
  return reasons;
}

/**
 * `describe` where this machine has etcd, kube-apiserver, kubectl and what else the suite needs. Elsewhere the suite is left
 * out, which the end of the run's output says; in CI it fails.
 */
export function describeCluster(name: string, body: () => void, needs: readonly Need[] = []): void {
  const machine = { ...clusterState(), address: externalAddress()?.address };
  const lacking = lackingOn(machine, [...CORE_PARTS, ...needs]);
  if (lacking.size === 0) {
    describe(name, body);
    return;
  }
  const reasons = [...lacking].map(([need, reason]) => `${need}: ${reason}`);
  if (isContinuousIntegration(process.env)) {
    it(`${name}: has what it needs`, () => {
      throw new Error(reasons.join('\n'));
    });
  } else {
    it.runIf(false)(
      `${name} (left out: no ${[...lacking.keys()].join(', ')})`,
      { meta: { leftOut: { suite: name, reasons } } },
      () => undefined,
    );
  }
}
