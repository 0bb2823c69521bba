/** The log into a real pipe that nobody reads: the process must go on, and say afterwards what was lost. */
import { spawn } from 'node:child_process';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, test } from 'vitest';

const LOG = new URL('../../../gateway/telemetry/log.ts', import.meta.url).href;
const LINES = 20_000;

/** Logs far more than a pipe holds, tells on standard error how late its timers were, ends when told to. */
const CHILD = `
import { createLog } from ${JSON.stringify(LOG)};
const log = createLog({ level: 'info', maxChars: 500_000 });
let latest = 0;
let due = performance.now() + 10;
const ticks = setInterval(() => {
  latest = Math.max(latest, performance.now() - due);
  due = performance.now() + 10;
}, 10);
for (let i = 0; i < ${LINES}; i++) {
  log.event('info', 'line ' + i, { padding: 'x'.repeat(50) });
  if (i % 1000 === 0) await new Promise((resolve) => setTimeout(resolve, 5));
}
process.stderr.write('logged\\n');
process.stdin.once('data', async () => {
  clearInterval(ticks);
  await log.close();
  process.stderr.write(JSON.stringify({ dropped: log.dropped, latest }) + '\\n');
  process.exit(0);
});
`;

test('a pipe that nobody reads stops nothing, and what is lost is counted', async () => {
  const { NODE_OPTIONS: _options, ...env } = process.env;
  const child = spawn(process.execPath, ['--input-type=module', '-e', CHILD], { env, stdio: ['pipe', 'pipe', 'pipe'] });
  let told = '';
  let text = '';
  child.stderr.setEncoding('utf8').on('data', (chunk: string) => {
    told += chunk;
  });
  const ended = new Promise((resolve) => child.once('close', resolve));
  for (let waited = 0; !told.includes('logged\n') && waited < 20_000; waited += 20) await sleep(20);
  expect(told).toBe('logged\n');
  child.stdout.setEncoding('utf8').on('data', (chunk: string) => {
    text += chunk;
  });
  child.stdin.write('end\n');
  await ended;
  const { dropped, latest } = JSON.parse(told.split('\n')[1] ?? '') as { dropped: number; latest: number };
  const lines = text
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line) as Record<string, unknown>);
  const kept = lines.filter(({ msg }) => String(msg).startsWith('line '));
  expect(dropped).toBeGreaterThan(1000);
  expect(kept.length + dropped).toBe(LINES);
  expect(lines.reduce((sum, line) => sum + Number(line.dropped ?? 0), 0)).toBe(dropped);
  expect(latest).toBeLessThan(1000);
});
