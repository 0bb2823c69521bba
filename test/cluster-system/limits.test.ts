/** Limits by `kubectl apply`, of a real operator and three real gateways that count in one real Redis. */
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { SCOPES } from '#crds/kinds/scopes.ts';
import { cluster } from '../cluster/cluster.ts';
import { describeCluster } from '../cluster/describe-cluster.ts';
import { waitFor } from '../fakes/wait-for.ts';
import { at } from '../helm/manifest.ts';
import { describeRedis } from '../limits/stores/describe-redis.ts';
import { type RedisServers, startRedis } from '../limits/stores/redis-servers.ts';
import { mostInAnyWindow } from '../limits/stores/windows.ts';
import { askAs, burst, limitOn, type Served, startServed, TOKENS_SERVED } from './served.ts';
import { PATIENCE_MS, type Stage, startStage } from './stage.ts';
import { apiKey } from './world.ts';

const WINDOW_MS = 60_000;
const RATE = 20;
/** A machine that is busy with others must not think the store away. */
const STORE_TIMEOUT_MS = 2_000;
const RECOVERED_MS = 5_000;
const STEP = { timeout: 60_000 };

describeRedis('limits in a store', () => {
  describeCluster('of a real operator, three real gateways and a real Redis', () => {
    let [stage, redis, served]: [Stage | undefined, RedisServers | undefined, Served | undefined] = [
      undefined,
      undefined,
      undefined,
    ];
    const on = () => {
      if (stage === undefined || redis === undefined || served === undefined) throw new Error('not started');
      return { stage, redis, served };
    };
    const keys = new Map<string, string>();
    const keyOf = (caller: string) => keys.get(caller) ?? '';

    beforeAll(async () => {
      [redis, served] = await Promise.all([startRedis(), startServed()]);
      const store = { url: redis.url, timeoutMs: STORE_TIMEOUT_MS };
      stage = await startStage(cluster(), { values: { store }, hasControlPlane: true });
      const callers = ['steady', 'spender', 'turning', 'limited', 'outlasting'];
      const scopes = [...SCOPES.keys()].filter((scope) => scope.startsWith('policies.'));
      await stage.apply(served.config(), ...callers.map((name) => apiKey(name)), apiKey('manager', { scopes }));
      for (const name of [...callers, 'manager']) keys.set(name, await stage.keyOf(name));
      await stage.wait('gatewayconfig/chat');
    }, 120_000);
    afterAll(async () => {
      await stage?.stop();
      await redis?.stop();
      await served?.upstream.close();
    });

    /** Asks every gateway at once. */
    const everywhere = (caller: string, key = keyOf(caller)) =>
      Promise.all(on().stage.gateways.map(async ({ origin }) => (await askAs(origin, caller, key)).status));
    const all = (status: number) => on().stage.gateways.map(() => status);

    it('a rate limit holds over all three together, exactly, by what the upstream saw', STEP, async () => {
      const { stage, served } = on();
      await stage.apply(limitOn('RateLimitPolicy', 'steady', 'steady', { type: 'requests', unit: 'rpm', value: RATE }));
      await stage.wait('ratelimitpolicy/steady');
      const { statuses, admitted } = await burst(stage, 'steady', keyOf('steady'), 150);
      expect(admitted).toBe(RATE);
      expect(statuses.filter((status) => status === 429)).toHaveLength(150 - RATE);
      expect(served.of('steady')).toHaveLength(RATE);
    });

    it(
      'a budget that is spent answers 412 everywhere, says so in its status, and is reset by an annotation',
      STEP,
      async () => {
        const { stage, served } = on();
        const name = 'usagelimitpolicy/spender';
        const spec = { type: 'tokens', credit_limit: 5 * TOKENS_SERVED, alert_threshold: TOKENS_SERVED };
        await stage.apply(limitOn('UsageLimitPolicy', 'spender', 'spender', spec));
        await stage.wait(name);
        const spend = async () => {
          for (
            let turn = 0;
            (await askAs(stage.gateway(turn % 3).origin, 'spender', keyOf('spender'))).status === 200;
          )
            turn += 1;
        };
        await spend();
        expect(await everywhere('spender')).toEqual(all(412));
        const usedTokens = served.of('spender').length * TOKENS_SERVED;
        expect(usedTokens).toBe(4 * TOKENS_SERVED);
        const usage = async () => at<object>(await stage.read(name), 'status.usage.0');
        const isTold = async () => at(await usage(), 'used') === usedTokens;
        await waitFor(isTold, 'the status to say what was used', PATIENCE_MS);
        expect(await usage()).toMatchObject({ group: 'spender', type: 'tokens', credit_limit: 200, alerted: true });

        await stage.kubectl(['annotate', '-n', stage.tenant, name, 'modelgateway.dev/reset-usage=once']);
        for (const { name: replica, origin } of stage.gateways) {
          const isReset = async () => (await askAs(origin, 'spender', keyOf('spender'))).status === 200;
          await waitFor(isReset, `a reset at ${replica}`, PATIENCE_MS);
        }
        await waitFor(async () => Number(at(await usage(), 'used')) < usedTokens, 'a new count', PATIENCE_MS);
      },
    );

    it('a key is rotated by an annotation under load, and no request fails', { timeout: 90_000 }, async () => {
      const { stage } = on();
      const secret = async () => at<string>(await stage.read('secret/turning-api-key'), 'data.api_key') ?? '';
      const current = async () => Buffer.from(await secret(), 'base64').toString();
      const [failures, former]: [string[], string] = [[], keyOf('turning')];
      let [isOver, count] = [false, 0];
      const caller = async (gateway: number) => {
        let key = former;
        while (!isOver) {
          const { origin } = stage.gateway(gateway);
          let answer = await askAs(origin, 'turning', key);
          if (answer.status === 401) {
            key = await current();
            answer = await askAs(origin, 'turning', key);
          }
          count += 1;
          if (answer.status !== 200) failures.push(`${answer.status} ${answer.text}`);
          await sleep(5);
        }
      };
      const load = Promise.all([0, 1, 2, 0, 1, 2].map(caller));
      await stage.kubectl(['annotate', '-n', stage.tenant, 'apikey/turning', 'modelgateway.dev/rotate=once']);
      await waitFor(async () => (await current()) !== former, 'another key in the Secret', PATIENCE_MS);
      const next = await current();
      // At once, without waiting for anything: it was served before it was told.
      expect(await everywhere('turning', next)).toEqual(all(200));
      expect(await everywhere('turning', former)).toEqual(all(200));
      isOver = true;
      await load;
      expect(failures).toEqual([]);
      expect(count).toBeGreaterThan(20);
    });

    it('a policy that is posted to a gateway is a custom resource, and limits', STEP, async () => {
      const { stage, served } = on();
      const about = { conditions: [{ key: 'api_key', value: 'limited' }], group_by: [{ key: 'api_key' }] };
      const response = await fetch(`${stage.gateway(1).origin}/v1/policies/rate-limits`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', 'x-gateway-api-key': keyOf('manager') },
        body: JSON.stringify({ name: 'By hand', type: 'requests', unit: 'rph', value: 7, ...about }),
      });
      const { id } = (await response.json()) as { id: string };
      expect(response.status).toBe(200);
      const names = (await stage.kubectl(['get', '-n', stage.tenant, 'ratelimitpolicies', '-o', 'json'])) || '{}';
      const items = at<{ metadata: { name: string; uid: string }; spec: object }[]>(JSON.parse(names), 'items') ?? [];
      const made = items.find(({ metadata }) => [metadata.uid, metadata.name].includes(id));
      expect(made?.spec).toMatchObject({ type: 'requests', unit: 'rph', value: 7, ...about });
      await stage.wait(`ratelimitpolicy/${made?.metadata.name}`);
      expect((await burst(stage, 'limited', keyOf('limited'), 40)).admitted).toBe(7);
      expect(served.of('limited')).toHaveLength(7);
    });

    it('while the Redis is killed requests go on, which is told; when it is back all is as before', {
      timeout: 90_000,
    }, async () => {
      const { stage, redis } = on();
      await stage.apply(
        limitOn('RateLimitPolicy', 'outlasting', 'outlasting', { type: 'requests', unit: 'rpm', value: 1_000_000 }),
      );
      await stage.wait('ratelimitpolicy/outlasting');
      const statuses = new Map<number, number>();
      let isOver = false;
      const caller = async (gateway: number) => {
        while (!isOver) {
          const { status } = await askAs(stage.gateway(gateway).origin, 'outlasting', keyOf('outlasting'));
          statuses.set(status, (statuses.get(status) ?? 0) + 1);
          await sleep(10);
        }
      };
      const load = Promise.all([0, 1, 2].map(caller));
      const degraded = () =>
        Promise.all(stage.gateways.map((gateway) => gateway.metric('modelgateway_store_degraded')));
      const warning = () => stage.condition('ratelimitpolicy/outlasting', 'Warning');
      expect(await degraded()).toEqual([0, 0, 0]);
      const [node] = redis.nodes;
      await node?.process.kill();
      await waitFor(async () => (await degraded()).every((value) => value === 1), 'the metric', PATIENCE_MS);
      await waitFor(async () => (await warning())?.reason === 'StoreDegraded', 'the condition', PATIENCE_MS);

      const again = await startRedis([], node?.port);
      try {
        const startedMs = performance.now();
        await waitFor(async () => (await degraded()).every((value) => value === 0), 'its end', PATIENCE_MS);
        expect(performance.now() - startedMs).toBeLessThan(RECOVERED_MS);
        await waitFor(async () => (await warning())?.reason !== 'StoreDegraded', 'the condition to go', PATIENCE_MS);
        isOver = true;
        await load;
      } finally {
        isOver = true;
        await again.stop();
      }
      expect([...statuses.keys()]).toEqual([200]);
      expect(statuses.get(200)).toBeGreaterThan(100);
    });

    it('in no window was more served than the rate limit says, whatever happened meanwhile', STEP, () => {
      const { served } = on();
      expect(mostInAnyWindow(served.admissionsOf('steady'), WINDOW_MS)).toBeLessThanOrEqual(RATE);
    });
  }, ['helm', 'address']);
});
