/** A process that is killed at once loses the entries of its last second at most, and its ledger opens again. */
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { endAll, launch, start } from '../operator/embedded-process.ts';
import { makeFolder } from '../operator/folder.ts';
import { ledgerAt } from './ledger-file.ts';

const LOSS_MS = 1_000;
const LOAD_MS = 2_500;
const WIDTH = 4;
const CONFIG = `
apiVersion: modelgateway.dev/v1alpha1
kind: GatewayConfig
metadata: {name: sim, annotations: {modelgateway.dev/default: "true"}}
spec: {provider: simulator}
`;

afterAll(endAll);

interface Told {
  readonly id: string;
  readonly atMs: number;
  readonly tokens: number;
}

/** Asks until `isOver`; what was answered whole. */
async function load(origin: string, isOver: () => boolean): Promise<Told[]> {
  const told: Told[] = [];
  const caller = async () => {
    while (!isOver()) {
      const body = JSON.stringify({ model: 'delay-5', messages: [{ role: 'user', content: 'Say this again' }] });
      const headers = { 'content-type': 'application/json' };
      const response = await fetch(`${origin}/v1/chat/completions`, { method: 'POST', headers, body });
      const { usage } = (await response.json()) as { usage: { total_tokens: number } };
      told.push({
        id: response.headers.get('x-request-id') ?? '',
        atMs: performance.now(),
        tokens: usage.total_tokens,
      });
    }
  };
  await Promise.all(Array.from({ length: WIDTH }, () => caller().catch(() => undefined)));
  return told;
}

describe('a killed process', () => {
  it('has written all but its last second, each entry once, and goes on in the same file', async () => {
    const running = await start(makeFolder({ 'sim.yaml': CONFIG }), ['--manifests', '.', '--data', 'data', '--open']);
    const ledger = ledgerAt(join(running.folder.path, 'data/ledger.db'));
    let killedAtMs = Number.POSITIVE_INFINITY;
    setTimeout(() => {
      killedAtMs = performance.now();
      running.child.kill('SIGKILL');
    }, LOAD_MS);
    const told = await load(running.origin, () => killedAtMs !== Number.POSITIVE_INFINITY);
    await running.ended;
    const owed = told.filter(({ atMs }) => atMs < killedAtMs - LOSS_MS);
    expect(owed.length).toBeGreaterThan(20);
    const rows = ledger.rows();
    const ids = rows.map((row) => row['request_id']);
    expect(new Set(ids).size).toBe(ids.length);
    expect(new Set(owed.map(({ id }) => id)).difference(new Set(ids))).toEqual(new Set());
    const tokensOf = new Map(told.map(({ id, tokens }) => [id, tokens]));
    for (const row of rows.filter((each) => tokensOf.has(String(each['request_id']))))
      expect(Number(row['input_tokens']) + Number(row['output_tokens'])).toBe(tokensOf.get(String(row['request_id'])));

    const again = await start(running.folder, ['--manifests', '.', '--data', 'data', '--open']);
    let asked = false;
    const more = await load(again.origin, () => {
      const over = asked;
      asked = true;
      return over;
    });
    expect(more.length).toBeGreaterThan(0);
    again.child.kill('SIGTERM');
    expect(await again.ended).toBe(0);
    const after = ledger.rows().map((row) => row['request_id']);
    expect(after.slice(0, ids.length)).toEqual(ids);
    expect(after).toHaveLength(ids.length + more.length);
  }, 60_000);
});

describe('a place where no ledger can be', () => {
  it('is refused at the start, naming the flag', async () => {
    const folder = makeFolder({ 'sim.yaml': CONFIG, 'data/ledger.db/taken': '' });
    const { ended, text } = launch(
      folder,
      ['--manifests', '.', '--data', 'data', '--open', '--port', '0', '--admin-port', '0'],
      {},
    );
    expect(await ended).not.toBe(0);
    expect(text.errors).toMatch(/--data: the ledger .*ledger\.db cannot be opened/);
    folder.remove();
  }, 30_000);
});
