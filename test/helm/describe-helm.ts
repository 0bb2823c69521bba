/** Suites that need helm, and no cluster. */
import { describe, it } from 'vitest';
import { isContinuousIntegration } from '../cluster/continuous-integration.ts';
import { hasHelm } from './helm.ts';

const REASON = 'helm: there is none on the PATH, and none could be built: install Go 1.26 (https://go.dev/dl/)';

/** `describe` where this machine has helm. Elsewhere the suite is left out, which the end of the run's output says; in CI it fails. */
export function describeHelm(name: string, body: () => void): void {
  if (hasHelm) {
    describe(name, body);
  } else if (isContinuousIntegration(process.env)) {
    it(`${name}: has what it needs`, () => {
      throw new Error(REASON);
    });
  } else {
    const leftOut = { suite: `the chart: ${name}`, reasons: [REASON] };
    it.runIf(false)(`${name} (left out: no helm)`, { meta: { leftOut } }, () => undefined);
  }
}
