/** G33 and G34: snapshots that are refused, and snapshots that come ten times a second, while requests run. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Snapshot } from '#crds/snapshot/contract.ts';
import { encodeSnapshot } from '#crds/snapshot/encode.ts';
import type { ServedConfig } from '#gateway/admin.ts';
import { HI, type Stage, startStage, target } from '../conformance/stage.ts';
import { NO_RECORDS } from '../fakes/no-records.ts';
import { config, defaultConfig } from '../fakes/objects.ts';
import type { Upstream } from '../fakes/upstream.ts';

let stage: Stage;
beforeAll(async () => {
  stage = await startStage(1, ([upstream]) => version(upstream as Upstream, 0));
});
afterAll(() => stage.close());

/** A version says its number in two objects, which a request sees both of. */
function version(upstream: Upstream, number: number): string {
  const inner = { strategy: { mode: 'single' }, targets: [target(upstream, { override_params: { inner: number } })] };
  return defaultConfig('house', {
    override_params: { outer: number },
    strategy: { mode: 'fallback' },
    targets: [inner],
  });
}

async function served(): Promise<ServedConfig> {
  return (await (await fetch(`${stage.gateway.adminOrigin}/config`)).json()) as ServedConfig;
}

const GOOD: Snapshot = {
  ...NO_RECORDS,
  settings: { organisation_namespace: 'model-gateway', request_hosts: [] },
  configs: [],
  integrations: [],
  credentials: [],
  keys: [],
  refused: [],
};

describe('a snapshot that is refused', () => {
  const encoded = () => encodeSnapshot(GOOD, 999);
  const bend = {
    'of a wrong hash': () => {
      const { index, shards } = encoded();
      return { index: index.replace(/"hash":"[0-9a-f]{8}/, '"hash":"00000000'), shards };
    },
    'of an unknown format': () => {
      const { index, shards } = encoded();
      return { index: index.replace(/"format":"?[^,"}]+"?/, '"format":99'), shards };
    },
    'whose index is no JSON': () => ({ ...encoded(), index: '{"format":' }),
    'whose index is 50 MB': () => ({ ...encoded(), index: `{"x":"${'y'.repeat(50_000_000)}"}` }),
    'that lacks a shard': () => {
      const { index, shards } = encoded();
      return { index, shards: new Map([...shards].slice(1)) };
    },
    'whose shard was changed': () => {
      const { index, shards } = encoded();
      const [[name, packed] = ['', new Uint8Array()]] = shards;
      const bytes = Uint8Array.from(packed);
      bytes[bytes.length - 1] = (bytes.at(-1) ?? 0) ^ 1;
      return { index, shards: new Map([...shards, [name, bytes]]) };
    },
    'that names an unknown provider': () =>
      encodeSnapshot(
        {
          ...GOOD,
          configs: [
            {
              namespace: 'default',
              name: 'x',
              shared_with: [],
              is_default: true,
              config: { provider: 'nobody', api_key: 'k' },
            },
          ],
        },
        999,
      ),
  } as const;

  it.each(Object.entries(bend))('%s: the one before is kept, and the reason is told', async (what, make) => {
    const { refused: former, ...before } = await served();
    const refusals = await stage.gateway.metric('modelgateway_config_refused_total');
    const ack = stage.gateway.gateway.load(make() as ReturnType<typeof encodeSnapshot>);
    expect(ack.refused).toBeTypeOf('string');
    expect(ack.generation).toBe(before.generation);
    const { refused, ...after } = await served();
    expect(after).toEqual(before);
    // One that does not say its generation cannot be told of.
    const isNamed = !/no JSON|50 MB/.test(what);
    expect(refused).toEqual(isNamed ? { generation: 999, hash: expect.any(String), reason: ack.refused } : former);
    expect((await stage.gateway.metric('modelgateway_config_refused_total')) - refusals).toBe(1);
    expect((await stage.gateway.chat(HI)).status).toBe(200);
    expect((await fetch(`${stage.gateway.adminOrigin}/readyz`)).status).toBe(200);
  });
});

describe('ten snapshots a second', () => {
  it('fail no request, and no request sees two of them', async () => {
    const failures: unknown[] = [];
    let going = true;
    const caller = async () => {
      while (going) {
        const response = await stage.gateway.chat(HI);
        await response.text();
        if (response.status !== 200) failures.push(response.status);
      }
    };
    const before = stage.at(0).calls.length;
    const callers = Array.from({ length: 8 }, caller);
    for (let number = 1; number <= 30; number += 1) {
      stage.gateway.apply(version(stage.at(0), number) + config(`extra-${number}`, { provider: 'simulator' }));
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
    going = false;
    await Promise.all(callers);
    expect(failures).toEqual([]);
    const seen = stage
      .at(0)
      .calls.slice(before)
      .map(({ body }) => JSON.parse(body) as { inner: number; outer: number });
    expect(seen.length).toBeGreaterThan(100);
    expect(seen.every(({ inner, outer }) => inner === outer)).toBe(true);
    expect(new Set(seen.map(({ inner }) => inner)).size).toBeGreaterThan(20);
  });
});
