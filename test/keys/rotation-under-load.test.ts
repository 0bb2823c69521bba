/** Keys that are replaced under callers who know nothing of it but where their Secret is. */
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { waitFor } from '../fakes/wait-for.ts';
import { type RotationStage, startRotationStage } from './rotation-stage.ts';

const ROTATIONS = 20;
const CALLERS = 6;
/** From the end of one transition to the next rotation. */
const DAY_MS = 86_400_000;
const LIMIT_MS = 240_000;

let stage: RotationStage;
let atEnd: () => Promise<void> = async () => {};
beforeAll(async () => {
  // Clocks stand still where no test sets them: what ends at a time ends to the millisecond.
  vi.useFakeTimers({ toFake: ['Date'], now: Date.parse('2026-03-01T00:00:00Z') });
  stage = await startRotationStage();
  await waitFor(() => stage.serve('present'), 'the first snapshot at every gateway', 20_000);
});
afterAll(async () => {
  await atEnd();
  vi.useRealTimers();
  await stage.close();
});

async function statusOf(origin: string, key: string): Promise<number> {
  const response = await fetch(`${origin}/v1/chat/completions`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', authorization: `Bearer ${key}` },
    body: JSON.stringify({ model: 'm', messages: [{ role: 'user', content: 'Hello' }] }),
  });
  await response.text();
  return response.status;
}

function statusesOf(key: string): Promise<number[]> {
  return Promise.all(stage.gateways.map(({ origin }) => statusOf(origin, key)));
}

interface Load {
  readonly failures: string[];
  count: number;
  reads: number;
  end(): Promise<void>;
}

/** Each caller reads the Secret when it is refused, asks once more, and goes round the gateways. */
function startLoad(): Load {
  let isOver = false;
  const load = { failures: [] as string[], count: 0, reads: 0 };
  const callers = Array.from({ length: CALLERS }, async (_, number) => {
    let { api_key: key = '' } = stage.secret();
    for (let turn = number; !isOver; turn++) {
      const { origin = '' } = stage.gateways[turn % stage.gateways.length] ?? {};
      let status = await statusOf(origin, key);
      if (status === 401) {
        load.reads += 1;
        key = stage.secret()['api_key'] ?? '';
        status = await statusOf(origin, key);
      }
      load.count += 1;
      if (status !== 200) load.failures.push(`${status} of ${origin} in turn ${turn}`);
    }
  });
  return Object.assign(load, {
    async end() {
      isOver = true;
      await Promise.all(callers);
    },
  });
}

describe('twenty rotations of a key, with three gateways under load', () => {
  it('fail no request of callers that read the Secret when they are refused', { timeout: LIMIT_MS }, async () => {
    const load = startLoad();
    const keys = new Set<string>();
    atEnd = () => load.end();
    for (let rotation = 0; rotation < ROTATIONS; rotation++) {
      const { api_key: former = '' } = stage.secret();
      keys.add(former);
      stage.write(`word-${rotation}`);
      await waitFor(() => stage.secret()['api_key'] !== former, `the new key of rotation ${rotation}`, 20_000);
      // At this very moment, whichever gateway is asked.
      expect(await statusesOf(stage.secret()['api_key'] ?? ''), `new, ${rotation}`).toEqual([200, 200, 200]);
      await waitFor(() => stage.serve('present', 'previous'), 'the transition at every gateway', 20_000);
      const endMs = Date.parse(stage.secret()['previous_expires_at'] ?? '');
      expect(endMs - Date.now()).toBe(30 * 60_000);
      vi.setSystemTime(endMs - 1);
      expect(await statusesOf(former), `former, ${rotation}`).toEqual([200, 200, 200]);
      vi.setSystemTime(endMs);
      expect(await statusesOf(former), `ended, ${rotation}`).toEqual([401, 401, 401]);
      stage.look();
      await waitFor(() => stage.secret()['previous_expires_at'] === undefined, 'the end of the transition', 20_000);
      vi.setSystemTime(endMs + DAY_MS);
    }
    await load.end();
    expect(load.failures).toEqual([]);
    expect(keys.size).toBe(ROTATIONS);
    // They were refused, and read it anew: about once a rotation each.
    expect(load.reads).toBeGreaterThan(ROTATIONS);
    expect(load.count).toBeGreaterThan(CALLERS * ROTATIONS);
    expect(stage.faults).toEqual([]);
  });
});
