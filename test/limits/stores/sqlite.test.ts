/** Counts that outlive their process. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { setTimeout as wait } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { keptStore } from '#gateway/limits/open-store.ts';
import { WHOLE } from '#gateway/limits/share.ts';
import { SqliteStore } from '#gateway/limits/sqlite-store.ts';
import { waitFor } from '../../fakes/wait-for.ts';
import { budget, mustTake, rate, take } from './counters.ts';

const BEGIN_MS = Date.UTC(2026, 0, 1);
const MINUTE_MS = 60_000;

let folder = '';
let path = '';
let clock = { nowMs: BEGIN_MS };
let events: string[] = [];
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'model-gateway-sqlite-'));
  path = join(folder, 'usage.db');
  clock = { nowMs: BEGIN_MS };
  events = [];
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const log = { event: (_: string, message: string) => void events.push(message) };
const open = () => new SqliteStore({ path, log, now: () => clock.nowMs });
const usedOf = (store: SqliteStore, key: string) => [...store.usage()].find((budget) => budget.key === key)?.used;

describe('a store in a file', () => {
  it('knows after a restart what was settled, of windows and of budgets, to the last unit', async () => {
    const most = Number.MAX_SAFE_INTEGER;
    const before = open();
    (await mustTake(before, rate('minute', 10), 4)).hold.settle([4]);
    clock.nowMs += 10_000;
    (await mustTake(before, rate('minute', 10), 3, budget('money', 10n ** 30n), most)).hold.settle([3, most]);
    (await mustTake(before, budget('money', 10n ** 30n), most)).hold.settle([most]);
    await before.close();
    clock.nowMs += 20_000;
    const after = open();
    expect(usedOf(after, 'money')).toBe(2n * BigInt(most));
    expect(await take(after, rate('minute', 10), 4)).toMatchObject({
      ok: false,
      retryMs: 30_000,
      readings: [{ used: 7 }],
    });
    clock.nowMs += 30_000;
    await mustTake(after, rate('minute', 10), 7);
    expect(events).toEqual([]);
    await after.close();
  });

  it('forgets what was held and not settled when its process ended', async () => {
    const before = open();
    const [counter, money] = [rate('minute', 10), budget('money', 10n)];
    (await mustTake(before, counter, 2, money, 2)).hold.settle([1, 1]);
    await mustTake(before, counter, 9, money, 9);
    expect(await take(before, counter, 1)).toMatchObject({ ok: false });
    await before.close();
    const after = open();
    expect((await mustTake(after, rate('minute', 10), 9, budget('money', 10n), 9)).readings).toMatchObject([
      { used: 10 },
      { used: 10 },
    ]);
    await after.close();
  });

  it('drops what is over', async () => {
    const before = open();
    const endsMs = BEGIN_MS + MINUTE_MS;
    const all = [rate('minute', 10), 1, budget('ends', 10n, { endsMs }), 1, budget('ever', 10n), 1] as const;
    (await mustTake(before, ...all)).hold.settle([1, 1, 1]);
    await before.close();
    clock.nowMs += 24 * 60 * MINUTE_MS;
    const after = open();
    expect([...after.usage()].map(({ key }) => key)).toEqual(['ever']);
    await after.close();
    const rows = new DatabaseSync(path);
    expect(rows.prepare('SELECT key FROM counts').all()).toEqual([{ key: 'ever' }]);
    rows.close();
  });

  it('counts on where a clock was set back between two lives', async () => {
    const before = open();
    (await mustTake(before, rate('minute', 10), 10)).hold.settle([10]);
    await before.close();
    clock.nowMs -= 30 * MINUTE_MS;
    const after = open();
    expect(await take(after, rate('minute', 10), 1)).toMatchObject({ ok: false, retryMs: MINUTE_MS });
    clock.nowMs += MINUTE_MS;
    await mustTake(after, rate('minute', 10), 10);
    await after.close();
  });

  it('takes and tells once only what is settled late', async () => {
    const store = open();
    const { hold } = await mustTake(store, budget('money', 100n), 10);
    store.flush();
    hold.settle([7]);
    hold.settle([7]);
    store.flush();
    await store.close();
    const after = open();
    expect(usedOf(after, 'money')).toBe(7n);
    await after.close();
  });
});

describe('a file', () => {
  const broken: Readonly<Record<string, (file: string) => void>> = {
    'that is no database': (file) =>
      writeFileSync(file, 'not a database, but long enough to be read as one'.repeat(100)),
    'that was cut': (file) => writeFileSync(file, readFileSync(file).subarray(0, 5_000)),
    'of another layout': (file) => edit(file, 'DROP TABLE counts; CREATE TABLE counts (name TEXT) STRICT;'),
    'with a row that makes no sense': (file) => edit(file, "UPDATE counts SET amount = 'much'"),
    'with times that are none': (file) =>
      edit(file, "UPDATE counts SET amount = '[1,2,3]' WHERE window_ms IS NOT NULL"),
  };

  function edit(file: string, sql: string): void {
    const database = new DatabaseSync(file);
    database.exec(sql);
    database.close();
  }

  it.each(Object.entries(broken))('%s is moved aside, with one line that says so', async (_, destroy) => {
    const before = open();
    const all = Array.from({ length: 100 }, (_, at) => [rate(`minute-${at}`, 10), 1]).flat();
    (await mustTake(before, ...all, budget('money', 10n), 1)).hold.settle([]);
    await before.close();
    destroy(path);
    const spoilt = readFileSync(path);
    const after = open();
    expect(events).toEqual(['usage could not be read: it begins anew']);
    expect([...after.usage()]).toEqual([]);
    expect((await mustTake(after, rate('minute-1', 10), 10)).readings).toMatchObject([{ used: 10 }]);
    await after.close();
    const aside = readdirSync(folder).find((name) => /^usage\.db\.unreadable-[^-]+-\d\d-\d\dT[\d-]+\.\d+Z$/.test(name));
    expect(readFileSync(join(folder, aside ?? '')).subarray(100)).toEqual(spoilt.subarray(100));
    const again = open();
    expect(events).toHaveLength(1);
    await again.close();
  });

  it('that cannot be written is told of once, and is written when it can be', async () => {
    const store = open();
    const other = new DatabaseSync(path);
    other.exec('ALTER TABLE counts RENAME TO elsewhere');
    for (const _ of [1, 2, 3]) {
      (await mustTake(store, budget('money', 100n), 1)).hold.settle([1]);
      store.flush();
    }
    expect(store.state()).toBe('degraded');
    expect(store.faults().get('file')).toBe(3);
    expect(events).toEqual(['usage cannot be written: a restart would forget it']);
    other.exec('ALTER TABLE elsewhere RENAME TO counts');
    store.flush();
    expect(store.state()).toBe('ok');
    expect(events.slice(1)).toEqual(['usage is written again']);
    expect(other.prepare('SELECT amount FROM counts').all()).toEqual([{ amount: '3' }]);
    other.close();
    await store.close();
  });

  it('that can be nowhere is a problem that names the flag', async () => {
    writeFileSync(join(folder, 'plain'), '');
    const opening = keptStore(join(folder, 'plain', 'usage.db'))({ log, share: () => WHOLE });
    await expect(opening).rejects.toThrow(/^--data: usage cannot be kept in .*usage\.db: /);
    await expect(opening).rejects.toMatchObject({ name: 'StoreProblem' });
  });
});

describe('a process that is killed', () => {
  it('loses at most what it settled in its last second', async () => {
    const program = new URL('sqlite-process.ts', import.meta.url).pathname;
    const child = spawn(process.execPath, [program, path], { stdio: ['ignore', 'pipe', 'inherit'] });
    let output = '';
    child.stdout.on('data', (bytes: Buffer) => {
      output += bytes.toString();
    });
    const lines = () =>
      output
        .split('\n')
        .slice(0, -1)
        .map((line) => line.split(' ').map(Number));
    await waitFor(() => (lines().at(-1)?.[1] ?? 0) > 500, 'some settlements', 20_000);
    await wait(700);
    child.kill('SIGKILL');
    await once(child, 'close');
    const told = lines();
    const lastMs = told.at(-1)?.[0] ?? 0;
    const aSecondBefore = told.findLast(([atMs = 0]) => atMs < lastMs - 1_000)?.[1] ?? 0;
    expect(existsSync(`${path}-wal`)).toBe(true);
    const store = new SqliteStore({ path, log });
    expect(usedOf(store, 'money')).toBeGreaterThanOrEqual(BigInt(aSecondBefore));
    expect(usedOf(store, 'money')).toBeLessThanOrEqual(BigInt((told.at(-1)?.[1] ?? 0) + 1));
    const { used = 0 } = (await mustTake(store, rate('minute', 1e9), 0)).readings[0] ?? {};
    expect(used).toBeGreaterThanOrEqual(aSecondBefore);
    expect(used).toBeLessThan(1_000_000);
    expect(events).toEqual([]);
    await store.close();
  }, 60_000);
});
