/** Suites that need a Redis or Valkey server of the system. */
import { describe, it } from 'vitest';
import { isContinuousIntegration } from '../../cluster/continuous-integration.ts';
import { onPath } from '../../cluster/parts.ts';

const PROGRAMS = ['redis-server', 'valkey-server'];
const REASON = `no ${PROGRAMS.join(' or ')} is on the PATH: apt-get install redis-server, or valkey-server`;

/** Path of the server's program; undefined: this machine has none. */
export function redisProgram(): string | undefined {
  return PROGRAMS.map((program) => onPath(program, process.env)).find((path) => path !== undefined);
}

/** `describe` where there is a server. Elsewhere the suite is left out, which the end of the run's output says; in CI it fails. */
export function describeRedis(name: string, body: () => void): void {
  if (redisProgram() !== undefined) {
    describe(name, body);
  } else if (isContinuousIntegration(process.env)) {
    it(`${name}: has what it needs`, () => {
      throw new Error(REASON);
    });
  } else {
    const leftOut = { suite: name, needs: 'a Redis', reasons: [REASON] };
    it.runIf(false)(`${name} (left out: no Redis)`, { meta: { leftOut } }, () => undefined);
  }
}
