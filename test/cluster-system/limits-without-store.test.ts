/** Limits by `kubectl apply`, of a real operator and three real gateways that share no store: each takes its share. */
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { cluster } from '../cluster/cluster.ts';
import { describeCluster } from '../cluster/describe-cluster.ts';
import { waitFor } from '../fakes/wait-for.ts';
import { at } from '../helm/manifest.ts';
import { askAs, burst, limitOn, type Served, startServed, TOKENS_SERVED } from './served.ts';
import { PATIENCE_MS, type Stage, startStage } from './stage.ts';
import { apiKey } from './world.ts';

const RATE = 20;
const STEP = { timeout: 60_000 };

describeCluster('limits without a store, of a real operator and three real gateways', () => {
  let stage: Stage;
  let served: Served;
  let key = '';

  beforeAll(async () => {
    served = await startServed();
    stage = await startStage(cluster());
    await stage.apply(served.config(), apiKey('caller'), apiKey('spender'));
    key = await stage.keyOf('caller');
    await stage.wait('gatewayconfig/chat');
  }, 120_000);
  afterAll(async () => {
    await stage?.stop();
    await served?.upstream.close();
  });

  /** Before it is told, a gateway takes itself for one of as many as there could be. */
  const knowOneAnother = async () => {
    // There is none before the operator has heard of them.
    const shares = await stage.read('configmap/edge-shares', stage.release.namespace).catch(() => ({}));
    const text = at<string>(shares, 'data.shares') ?? '{}';
    const { replicas = [], version } = JSON.parse(text) as { replicas?: string[]; version?: number };
    const known = await Promise.all(stage.gateways.map((gateway) => gateway.sharesVersion()));
    return replicas.length === stage.gateways.length && known.every((one) => one === version);
  };

  it('each replica admits its share, and all together what the limit says', STEP, async () => {
    await stage.apply(limitOn('RateLimitPolicy', 'caller', 'caller', { type: 'requests', unit: 'rpm', value: RATE }));
    await stage.wait('ratelimitpolicy/caller');
    await waitFor(knowOneAnother, 'the gateways to know of one another', PATIENCE_MS);
    expect((await burst(stage, 'caller', key, 150)).admitted).toBe(RATE);
    expect(served.of('caller')).toHaveLength(RATE);
  });

  describe('a budget', () => {
    const NAME = 'usagelimitpolicy/spender';
    const LIMIT = 30 * TOKENS_SERVED;
    const used = async () => at<number>(await stage.read(NAME), 'status.usage.0.used');
    const isTold = async () => (await used()) === served.of('spender').length * TOKENS_SERVED;

    it('is summed in its status over all replicas, and what one of them used outlives it', STEP, async () => {
      const spender = await stage.keyOf('spender');
      await stage.apply(limitOn('UsageLimitPolicy', 'spender', 'spender', { type: 'tokens', credit_limit: LIMIT }));
      await stage.wait(NAME);
      expect((await burst(stage, 'spender', spender, 12, 1)).admitted).toBe(12);
      await waitFor(isTold, 'the status to say what all have used', PATIENCE_MS);

      await stage.gateway(2).process.kill();
      await stage.kubectl(['delete', 'endpointslice', '-n', stage.release.namespace, stage.gateway(2).name]);
      const two = stage.gateways.slice(0, 2);
      const total = () => served.of('spender').length * TOKENS_SERVED;
      // Others may have the room of the dead one, once everybody has heard of what was used.
      const isNearlySpent = async () => {
        await Promise.all(two.map(({ origin }) => askAs(origin, 'spender', spender)));
        await sleep(50);
        return total() > LIMIT - 4 * TOKENS_SERVED;
      };
      await waitFor(isNearlySpent, 'the budget to be nearly spent', PATIENCE_MS);
      await burst({ gateways: two }, 'spender', spender, 40);
      expect(total()).toBeLessThanOrEqual(LIMIT);
      await waitFor(isTold, 'the status to say it', PATIENCE_MS);
      expect(at(await stage.read(NAME), 'status.usage.0.remaining')).toBe(LIMIT - total());
    });
  });
}, ['helm', 'address']);
