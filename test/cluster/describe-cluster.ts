/** Suites that need a cluster. */
import { describe, it } from 'vitest';
import { clusterState } from './cluster.ts';
import { isContinuousIntegration } from './continuous-integration.ts';
import { CORE_PARTS, type Part } from './parts.ts';

declare module 'vitest' {
  interface TaskMeta {
    /** Set on what stands for a suite that was left out. */
    leftOut?: LeftOut;
  }
}

export interface LeftOut {
  readonly suite: string;
  /** Why, for each part that is missing. */
  readonly reasons: readonly string[];
}

/**
 * `describe` where this machine has etcd, kube-apiserver, kubectl and what else the suite needs. Elsewhere the suite is left
 * out, which the end of the run's output says; in CI it fails.
 */
export function describeCluster(name: string, body: () => void, needs: readonly Part[] = []): void {
  const { found, missing } = clusterState();
  const lacking = [...CORE_PARTS, ...needs].filter((part) => found[part] === undefined);
  if (lacking.length === 0) {
    describe(name, body);
    return;
  }
  const reasons = lacking.map((part) => `${part}: ${missing[part] ?? 'it was not looked for'}`);
  if (isContinuousIntegration(process.env)) {
    it(`${name}: has what it needs`, () => {
      throw new Error(reasons.join('\n'));
    });
  } else {
    it.runIf(false)(
      `${name} (left out: no ${lacking.join(', ')})`,
      { meta: { leftOut: { suite: name, reasons } } },
      () => undefined,
    );
  }
}
