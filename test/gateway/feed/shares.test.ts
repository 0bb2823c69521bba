/** What replicas are told of one another: from the volume and the API server, the newest of both. */
import { afterEach, describe, expect, it } from 'vitest';
import { encodeShares, type Shares } from '#crds/snapshot/shares.ts';
import { waitFor } from '../../fakes/wait-for.ts';
import { endAll, type FedGateway, makeStateDir, makeVolume, startFed } from './fed-gateway.ts';
import { filesOf } from './mounted-volume.ts';
import { ScriptedApi } from './scripted-api.ts';
import { version } from './versions.ts';

afterEach(endAll);

const REPLICA = { name: 'gateway-1', replicas: 2 };

function shares(number: number, more: Partial<Shares> = {}): Shares {
  return { format: 1, version: number, replicas: ['gateway-0', 'gateway-1'], processes: [], budgets: [], ...more };
}

async function follows(gateway: FedGateway, number: number): Promise<void> {
  await waitFor(async () => (await gateway.usage()).shares_version === number, `version ${number}`, 10_000);
}

describe('shares', () => {
  it('are followed from the API server, however long they are', async () => {
    const api = new ScriptedApi();
    api.publish(version(1));
    const gateway = await startFed(makeVolume().path, makeStateDir(), { api, replica: REPLICA });
    expect((await gateway.usage()).shares_version).toBe(0);
    api.putShares(encodeShares(shares(1)).toString());
    await follows(gateway, 1);
    const budgets = Array.from({ length: 5_000 }, (_, n) => ({ key: `uid-${n}|0||`, used: String(n) }));
    const packed = encodeShares(shares(2, { budgets }));
    expect(packed[0]).toBe(0x1f);
    api.putShares(packed);
    await follows(gateway, 2);
    expect(gateway.lines().filter(({ level }) => level !== 'info')).toEqual([]);
  });

  it('are followed from the volume, plain or packed, beside the snapshot', async () => {
    const volume = makeVolume();
    const gateway = await startFed(volume.path, makeStateDir(), { pollMs: 50, replica: REPLICA });
    const snapshot = filesOf(version(1));
    volume.swap(new Map([...snapshot, ['shares', encodeShares(shares(4))]]));
    await Promise.all([follows(gateway, 4), gateway.serves(1)]);
    const replicas = Array.from({ length: 4_000 }, (_, n) => `gateway-${n}-abcdefghijklmnop`);
    volume.swap(new Map([...snapshot, ['shares', encodeShares(shares(5, { replicas }))]]));
    await follows(gateway, 5);
  });

  it('that are older change nothing, wherever they come from', async () => {
    const [volume, api] = [makeVolume(), new ScriptedApi()];
    volume.swap(new Map([...filesOf(version(1)), ['shares', encodeShares(shares(7))]]));
    const gateway = await startFed(volume.path, makeStateDir(), { api, pollMs: 50, replica: REPLICA });
    await follows(gateway, 7);
    api.putShares(encodeShares(shares(6)).toString());
    api.putShares(encodeShares(shares(8)).toString());
    await follows(gateway, 8);
    volume.swap(new Map([...filesOf(version(2)), ['shares', encodeShares(shares(7))]]));
    await gateway.serves(2);
    expect((await gateway.usage()).shares_version).toBe(8);
  });

  it.each([
    ['no JSON', '{', /JSON/],
    ['another format', JSON.stringify({ ...shares(3), format: 9 }), /unknown format 9: this version reads 1/],
    ['no version', JSON.stringify({ ...shares(3), version: 'a' }), /shares\.version: must be an integer/],
    ['replicas that are no list', JSON.stringify({ ...shares(3), replicas: {} }), /shares\.replicas: must be a list/],
    [
      'an amount that is none',
      JSON.stringify(shares(3, { budgets: [{ key: 'k', used: '-1' }] })),
      /shares\.budgets\[0\]/,
    ],
    [
      'a part that is none',
      JSON.stringify(shares(3, { budgets: [{ key: 'k', used: '1', by: { 0: 'x' } }] })),
      /budgets\[0\]/,
    ],
    ['a process without a name', JSON.stringify({ ...shares(3), processes: [{ pod: 'a' }] }), /shares\.processes\[0\]/],
  ])('that are spoilt (%s) are told of once, and what was known stays', async (_title, text, reason) => {
    const volume = makeVolume();
    volume.swap(new Map([...filesOf(version(1)), ['shares', encodeShares(shares(2))]]));
    const gateway = await startFed(volume.path, makeStateDir(), { pollMs: 50, replica: REPLICA });
    await follows(gateway, 2);
    volume.swap(new Map([...filesOf(version(1)), ['shares', text]]));
    const [line] = await gateway.told('shares unreadable');
    expect(line).toMatchObject({ source: 'volume', reason: expect.stringMatching(reason) });
    expect((await gateway.usage()).shares_version).toBe(2);
    volume.swap(new Map([...filesOf(version(1)), ['shares', encodeShares(shares(3))]]));
    await follows(gateway, 3);
    expect(gateway.lines().filter(({ msg }) => msg === 'shares unreadable')).toHaveLength(1);
  });
});
