import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Exchange } from '#gateway/exchange.ts';
import type { Bill } from '#gateway/money/bill.ts';
import { type Ledger, LedgerUnavailable, openLedger } from '#gateway/money/ledger.ts';
import { waitFor } from '../fakes/wait-for.ts';
import { anAttempt, anExchange, TRACE_ID } from '../gateway/telemetry/settled-exchange.ts';
import { type LedgerFile, ledgerFile } from './ledger-file.ts';
import { usage } from './prices.ts';

let file: LedgerFile;
let ledger: Ledger;
let faults: string[];
beforeEach(() => {
  faults = [];
  file = ledgerFile();
  ledger = open();
});
afterEach(() => {
  ledger.close();
  file.remove();
});

function open(): Ledger {
  return openLedger(file.path, { onFault: (error) => faults.push(error.message) });
}

const BILL: Bill = { usage: usage(9, 12), estimated: false, cost: 142_500_000, priceVersion: 'openai-1' };

function entry(id: string, over: Partial<Exchange> = {}): Exchange {
  return anExchange({ id, bill: BILL, ...over });
}

function ids(): unknown[] {
  return file.rows().map((row) => row['request_id']);
}

function reopen(): void {
  ledger.close();
  ledger = open();
}

describe('an entry', () => {
  it('says who paid what for which usage of which target, and by which prices', () => {
    const used = usage(
      100,
      50,
      { cached_tokens: 40, cache_creation_tokens: 10, audio_tokens: 5 },
      { reasoning_tokens: 30, accepted_prediction_tokens: 2 },
    );
    const attempts = [
      anAttempt({ provider: 'elsewhere' }),
      anAttempt({ integration: 'team-a/main', model: 'gpt-sent' }),
    ];
    const before = Date.now();
    ledger.append(entry('req-7', { attempts, bill: { ...BILL, usage: used, estimated: true } }));
    reopen();
    const [row, ...more] = file.rows();
    expect(more).toEqual([]);
    expect({ ...row }).toEqual({
      request_id: 'req-7',
      trace_id: TRACE_ID,
      at_ms: expect.any(Number),
      namespace: 'team-a',
      key: 'checkout',
      endpoint: 'chatComplete',
      config: 'chat',
      provider: 'openai',
      integration: 'team-a/main',
      model: 'gpt-sent',
      answered_model: 'gpt-4o-mini-2024-07-18',
      status: 200,
      input_tokens: 100,
      cache_read_tokens: 40,
      cache_write_tokens: 10,
      output_tokens: 50,
      reasoning_tokens: 30,
      usage: JSON.stringify(used),
      estimated: 1,
      cost: 142_500_000,
      price_version: 'openai-1',
    });
    expect(Number(row?.['at_ms'])).toBeGreaterThanOrEqual(before);
    expect(Number(row?.['at_ms'])).toBeLessThanOrEqual(Date.now());
  });

  it('of a model without a price has no cost, which is not 0', () => {
    ledger.append(entry('req-1', { bill: { ...BILL, cost: undefined, priceVersion: undefined } }));
    reopen();
    expect(file.rows('SELECT cost, price_version FROM entries')).toEqual([{ cost: null, price_version: null }]);
    expect(file.rows('SELECT usd FROM costs')).toEqual([{ usd: null }]);
  });

  it('is none where nothing was used', () => {
    ledger.append(anExchange({ bill: undefined }));
    reopen();
    expect(file.rows()).toEqual([]);
  });

  it('can be read as dollars', () => {
    for (const cost of [0, 1, 4_500_000, 10 ** 12, 1_250_000_000_001])
      ledger.append(entry(`req-${cost}`, { bill: { ...BILL, cost } }));
    reopen();
    expect(file.rows('SELECT usd FROM costs').map(({ usd }) => usd)).toEqual([
      '0.000000000000',
      '0.000000000001',
      '0.000004500000',
      '1.000000000000',
      '1.250000000001',
    ]);
  });
});

describe('entries', () => {
  it('are there within a second, without an end', async () => {
    ledger.append(entry('a'));
    ledger.append(entry('b'));
    expect(file.rows()).toEqual([]);
    await waitFor(() => file.rows().length === 2, 'the entries', 3_000);
    ledger.append(entry('c'));
    await waitFor(() => file.rows().length === 3, 'the next entry', 3_000);
    expect(ids()).toEqual(['a', 'b', 'c']);
  });

  it('are written at once where there are many', () => {
    for (let index = 0; index < 2_500; index += 1) ledger.append(entry(`req-${index}`));
    expect(file.rows('SELECT count(*) AS count FROM entries')).toEqual([{ count: 2_000 }]);
    reopen();
    expect(new Set(ids()).size).toBe(2_500);
  });

  it('of former runs stay', () => {
    for (const id of ['a', 'b', 'c']) {
      ledger.append(entry(id));
      reopen();
    }
    expect(ids()).toEqual(['a', 'b', 'c']);
  });

  it('add up exactly', () => {
    for (let index = 0; index < 1_000; index += 1)
      ledger.append(entry(`req-${index}`, { bill: { ...BILL, cost: 9_000_000_000_000_001 } }));
    reopen();
    expect(file.rows('SELECT CAST(sum(cost) AS TEXT) AS sum FROM entries')).toEqual([{ sum: '9000000000000001000' }]);
  });
});

describe('a ledger that cannot be written', () => {
  it('says so once, keeps what it has, and writes it when it can', async () => {
    file.run('ALTER TABLE entries RENAME TO gone');
    for (let index = 0; index < 1_200; index += 1) ledger.append(entry(`req-${index}`));
    await new Promise((resolve) => setTimeout(resolve, 1_200));
    expect(faults).toHaveLength(1);
    expect(faults[0]).toContain('entries');
    file.run('ALTER TABLE gone RENAME TO entries');
    await waitFor(() => file.rows().length === 1_200, 'the entries', 5_000);
    expect(new Set(ids()).size).toBe(1_200);
    file.run('ALTER TABLE entries RENAME TO gone');
    ledger.append(entry('late'));
    await waitFor(() => faults.length === 2, 'another fault', 3_000);
    file.run('ALTER TABLE gone RENAME TO entries');
  });

  it('does not open where there can be no file', () => {
    const wrong = join(file.directory, 'file');
    writeFileSync(wrong, 'no directory');
    mkdirSync(join(file.directory, 'taken'));
    for (const path of [join(wrong, 'ledger.db'), join(file.directory, 'taken')])
      expect(() => openLedger(path, { onFault: () => undefined })).toThrow(LedgerUnavailable);
  });
});
