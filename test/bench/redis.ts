/** The store of shared counts, on a core. */
import { setTimeout } from 'node:timers/promises';
import { freePorts } from '../cluster/free-ports.ts';
import { redisProgram } from '../limits/stores/describe-redis.ts';
import { startPinned } from './process.ts';

const START_MS = 500;

export async function startBenchRedis(core: number): Promise<{ readonly url: string; stop(): Promise<void> }> {
  const program = redisProgram();
  if (program === undefined)
    throw new Error('The bench of stores needs redis-server or valkey-server: install it first.');
  const [port = 0] = await freePorts(1);
  const quiet = ['--save', '', '--loglevel', 'warning', '--bind', '127.0.0.1'];
  const { stop } = startPinned(core, program, ['--port', String(port), ...quiet]);
  await setTimeout(START_MS);
  return {
    url: `redis://127.0.0.1:${port}`,
    async stop() {
      await stop();
    },
  };
}
