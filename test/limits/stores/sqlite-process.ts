/** A process that counts in a file until it is killed, and tells how much it has settled. Argument: the file. */
import { writeSync } from 'node:fs';
import { setTimeout as wait } from 'node:timers/promises';
import { SqliteStore } from '#gateway/limits/sqlite-store.ts';
import { budget, mustTake, rate } from './counters.ts';

const store = new SqliteStore({ path: process.argv[2] ?? '', log: { event: () => undefined } });
const counters = [rate('minute', 1e9), budget('money', 10n ** 18n)] as const;
// Never settled.
await mustTake(store, counters[0], 1_000_000, counters[1], 1_000_000);
for (let settled = 0; ; settled++) {
  writeSync(1, `${performance.timeOrigin + performance.now()} ${settled}\n`);
  (await mustTake(store, counters[0], 5, counters[1], 5)).hold.settle([1, 1]);
  await wait(1);
}
