/** Whom the operator asks, and when: in virtual time. What an answer may be: `fetch-config.test.ts`. */
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { ApiClient } from '#crds/api/api-client.ts';
import { type Replicas, startReplicas } from '#operator/replicas/replicas.ts';
import { SliceServer, slice } from './slice-server.ts';

type Say = { generation: number; hash: string; refused?: { generation: number; hash: string; reason: string } };

let server: SliceServer;
let replicas: Replicas;
let changes: number;
let gateways: Map<string, Say | 'hangs' | 'is broken'>;
let asked: { readonly origin: string; readonly atMs: number }[];
let asking: number;
let mostAsking: number;

beforeEach(() => {
  vi.useFakeTimers({
    toFake: ['setTimeout', 'clearTimeout', 'setInterval', 'clearInterval', 'Date', 'performance'],
  });
  server = new SliceServer();
  changes = 0;
  gateways = new Map();
  asked = [];
  asking = 0;
  mostAsking = 0;
});

afterEach(async () => {
  await replicas.close();
  vi.useRealTimers();
});

const elapse = (ms: number) => vi.advanceTimersByTimeAsync(ms);
const at = (generation: number): Say => ({ generation, hash: `hash-${generation}` });
const originOf = (index: number) => `http://10.0.0.${index}:8788`;

async function start(...says: (Say | 'hangs' | 'is broken')[]): Promise<void> {
  for (const [index, say] of says.entries()) gateways.set(originOf(index), say);
  server.put(podSlice(says.map((_, index) => index)));
  replicas = startReplicas({
    client: new ApiClient(server),
    namespace: 'gateways',
    service: 'gateway',
    adminPort: 8788,
    fetchConfig,
    onChange: () => {
      changes += 1;
    },
  });
  await elapse(500);
}

function podSlice(indexes: readonly number[]) {
  return slice(
    'gateway-1',
    indexes.map((index) => ({ address: `10.0.0.${index}`, pod: `gw-${index}`, ready: true })),
  );
}

/** Takes 5 ms. */
async function fetchConfig(origin: string): Promise<unknown> {
  asked.push({ origin, atMs: performance.now() });
  asking += 1;
  mostAsking = Math.max(mostAsking, asking);
  try {
    const say = gateways.get(origin);
    if (say === 'hangs') return await new Promise((resolve) => setTimeout(resolve, 1_000_000));
    await new Promise((resolve) => setTimeout(resolve, 5));
    if (say === undefined || say === 'is broken') throw new Error('connect ECONNREFUSED');
    return say;
  } finally {
    asking -= 1;
  }
}

/** Questions since the last call, by gateway. */
function questions(): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const { origin } of asked.splice(0)) counts[origin] = (counts[origin] ?? 0) + 1;
  return counts;
}

const said = () =>
  replicas.replicas().map(({ name, generation, reachable }) => `${name} ${generation}${reachable ? '' : ' (silent)'}`);

describe('replicas', () => {
  it('are found by the name of their service, and asked at once', async () => {
    await start(at(3), at(2));
    expect(new URL(server.paths[0] ?? '', 'http://server').searchParams.get('labelSelector')).toBe(
      'kubernetes.io/service-name=gateway',
    );
    expect(server.paths[0]).toMatch(/^\/apis\/discovery\.k8s\.io\/v1\/namespaces\/gateways\/endpointslices\?/);
    expect(replicas.replicas()).toEqual([
      { name: 'gw-0', address: '10.0.0.0', generation: 3, hash: 'hash-3', reachable: true },
      { name: 'gw-1', address: '10.0.0.1', generation: 2, hash: 'hash-2', reachable: true },
    ]);
    await expect(replicas.whenSynced).resolves.toBeUndefined();
  });

  it('are asked seldom while nothing is awaited', async () => {
    await start(at(3), at(3));
    replicas.ask(3);
    questions();
    await elapse(60_000);
    for (const count of Object.values(questions())) {
      expect(count).toBeGreaterThanOrEqual(5);
      expect(count).toBeLessThanOrEqual(7);
    }
  });

  it('are asked at once after a publication, and every 50 to 100 ms until they serve it', async () => {
    await start(at(3), at(3));
    questions();
    replicas.ask(4);
    expect(questions()).toEqual({ [originOf(0)]: 1, [originOf(1)]: 1 });
    await elapse(1_000);
    gateways.set(originOf(1), at(4));
    const { [originOf(0)]: count = 0 } = questions();
    expect(count).toBeGreaterThanOrEqual(8);
    expect(count).toBeLessThanOrEqual(20);
    await elapse(120);
    expect(said()).toEqual(['gw-0 3', 'gw-1 4']);
    questions();
    await elapse(5_000);
    const later = questions();
    expect(later[originOf(1)]).toBeUndefined();
    expect(later[originOf(0)]).toBeGreaterThan(40);
  });

  it('are asked every 5 s once they have not served it for 30 s, and sooner again after the next publication', async () => {
    await start(at(3));
    replicas.ask(4);
    await elapse(31_000);
    questions();
    await elapse(60_000);
    const { [originOf(0)]: count = 0 } = questions();
    expect(count).toBeGreaterThanOrEqual(11);
    expect(count).toBeLessThanOrEqual(14);
    replicas.ask(4);
    expect(questions()).toEqual({});
    replicas.ask(5);
    await elapse(1_000);
    expect(questions()[originOf(0)]).toBeGreaterThan(7);
  });

  it('that refused it are not asked on, until something newer is published', async () => {
    await start(at(3));
    gateways.set(originOf(0), { ...at(3), refused: { ...at(4), reason: 'configs: broken' } });
    replicas.ask(4);
    await elapse(200);
    expect(replicas.replicas()[0]?.refused).toEqual({ generation: 4, hash: 'hash-4', reason: 'configs: broken' });
    questions();
    await elapse(5_000);
    expect(questions()).toEqual({});
    replicas.ask(5);
    await elapse(1_000);
    expect(questions()[originOf(0)]).toBeGreaterThan(7);
    gateways.set(originOf(0), at(5));
    await elapse(200);
    expect(replicas.replicas()[0]).toEqual({
      name: 'gw-0',
      address: '10.0.0.0',
      generation: 5,
      hash: 'hash-5',
      reachable: true,
    });
  });

  it('that hang delay no other', async () => {
    await start('hangs', at(3), at(3));
    replicas.ask(4);
    gateways.set(originOf(1), at(4));
    gateways.set(originOf(2), at(4));
    await elapse(120);
    expect(said()).toEqual(['gw-0 0 (silent)', 'gw-1 4', 'gw-2 4']);
    questions();
    await elapse(10_000);
    // Each question is given up after a second.
    expect(questions()[originOf(0)]).toBeLessThanOrEqual(10);
    gateways.set(originOf(0), at(4));
    await elapse(1_200);
    expect(said()[0]).toBe('gw-0 4');
  });

  it('that do not answer keep what they said, and come back', async () => {
    await start(at(3));
    gateways.set(originOf(0), 'is broken');
    await elapse(11_000);
    expect(said()).toEqual(['gw-0 3 (silent)']);
    gateways.set(originOf(0), at(3));
    await elapse(11_000);
    expect(said()).toEqual(['gw-0 3']);
  });

  it('that come are asked at once; those that go are forgotten, and anew when they come back', async () => {
    await start(at(3), at(3));
    replicas.ask(3);
    gateways.set(originOf(2), at(3));
    server.put(podSlice([1, 2]));
    await elapse(100);
    expect(said()).toEqual(['gw-1 3', 'gw-2 3']);
    questions();
    await elapse(30_000);
    expect(questions()[originOf(0)]).toBeUndefined();
    gateways.set(originOf(0), 'is broken');
    server.put(podSlice([0]));
    await elapse(100);
    expect(said()).toEqual(['gw-0 0 (silent)']);
    server.remove('gateway-1');
    await elapse(100);
    expect(said()).toEqual([]);
  });

  it('that take the address of another are other ones', async () => {
    await start(at(3));
    gateways.set(originOf(0), 'is broken');
    server.put(slice('gateway-1', [{ address: '10.0.0.0', pod: 'gw-new', ready: true }]));
    await elapse(100);
    expect(said()).toEqual(['gw-new 0 (silent)']);
  });

  it('may have addresses of either family', async () => {
    await start();
    gateways.set('http://[fd00::1]:8788', at(3));
    server.put(slice('gateway-6', [{ address: 'fd00::1', pod: 'gw-6' }], 'IPv6'));
    await elapse(100);
    expect(said()).toEqual(['gw-6 3']);
  });

  it('are asked at the port admin of their slice, and are other ones when it is another', async () => {
    await start();
    const at9 = (port: number) =>
      slice('gateway-9', [{ address: '10.0.0.9', pod: 'gw-9' }], 'IPv4', [{ name: 'admin', port }]);
    gateways.set('http://10.0.0.9:9001', at(3));
    server.put(at9(9001));
    await elapse(100);
    expect(replicas.replicas()).toEqual([
      { name: 'gw-9', address: '10.0.0.9', port: 9001, generation: 3, hash: 'hash-3', reachable: true },
    ]);
    server.put(at9(9002));
    await elapse(100);
    expect(said()).toEqual(['gw-9 0 (silent)']);
    expect(new Set(asked.map(({ origin }) => origin))).toEqual(
      new Set(['http://10.0.0.9:9001', 'http://10.0.0.9:9002']),
    );
  });

  it('are asked some at a time, however many there are', async () => {
    await start(...Array.from({ length: 200 }, () => at(3)));
    expect(said().filter((line) => line.endsWith(' 3'))).toHaveLength(200);
    replicas.ask(4);
    for (const origin of gateways.keys()) gateways.set(origin, at(4));
    await elapse(300);
    expect(said().filter((line) => line.endsWith(' 4'))).toHaveLength(200);
    expect(mostAsking).toBe(32);
  });
});

describe('onChange', () => {
  it('tells of what replicas say, many at once, and of nothing else', async () => {
    await start(at(3), at(3), at(3));
    expect(changes).toBeGreaterThan(0);
    expect(changes).toBeLessThanOrEqual(3);
    changes = 0;
    await elapse(60_000);
    expect(changes).toBe(0);
    replicas.ask(4);
    await elapse(300);
    expect(changes).toBe(0);
    for (const index of [0, 1, 2]) gateways.set(originOf(index), at(4));
    await elapse(300);
    expect(changes).toBeGreaterThanOrEqual(1);
    expect(changes).toBeLessThanOrEqual(3);
  });

  it('tells once where all serve it, and waits a little while some do not', async () => {
    await start(at(3), at(3), at(3));
    changes = 0;
    for (const index of [0, 1]) gateways.set(originOf(index), at(4));
    replicas.ask(4);
    await elapse(100);
    expect(changes).toBe(0);
    await elapse(100);
    expect(changes).toBe(1);
    gateways.set(originOf(2), at(4));
    await elapse(120);
    expect(changes).toBe(2);
  });

  it('tells at once where the last one serves it, though others were not told of yet', async () => {
    await start(at(3), at(3), at(3));
    changes = 0;
    for (const index of [0, 1, 2]) gateways.set(originOf(index), at(4));
    replicas.ask(4);
    await elapse(20);
    expect(changes).toBe(1);
    await elapse(1_000);
    expect(changes).toBe(1);
  });

  it('tells of replicas that come and go, and not of slices that are written anew', async () => {
    await start(at(3), at(3));
    changes = 0;
    server.put(podSlice([0, 1]));
    await elapse(100);
    expect(changes).toBe(0);
    server.put(podSlice([0]));
    await elapse(100);
    expect(changes).toBe(1);
  });
});

describe('close()', () => {
  it('ends all questions', async () => {
    await start(at(3), 'hangs');
    replicas.ask(4);
    await replicas.close();
    await elapse(2_000);
    questions();
    changes = 0;
    await elapse(60_000);
    expect(questions()).toEqual({});
    expect(changes).toBe(0);
    expect(vi.getTimerCount()).toBeLessThanOrEqual(1);
  });
});
