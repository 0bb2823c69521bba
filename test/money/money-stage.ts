/** One gateway before one upstream, reached by Integrations with prices. */
import { type Stage, startStage } from '../conformance/stage.ts';
import type { TestGatewayOptions } from '../fakes/gateway.ts';
import { object, secret } from '../fakes/objects.ts';
import type { Upstream } from '../fakes/upstream.ts';
import { waitFor } from '../fakes/wait-for.ts';

export type Line = Readonly<Record<string, unknown>>;

export interface MoneyStage extends Stage {
  /** By way of an Integration, to its end; the log line that it left. */
  lineOf(path: string, integration: string, body: object, signal?: AbortSignal): Promise<Line>;
}

const CREDENTIALS = [{ target_field: 'api_key', secret_name: 'upstream', secret_key: 'key' }];

/** Cheap in every kind of unit, so that sums are easily told apart. */
export const HOUSE_PRICES = {
  version: 'house 1',
  pay_as_you_go: {
    request: { price: '0.001' },
    request_token: { price: '0.000001' },
    response_token: { price: '0.000002' },
    tiers: [{ above_tokens: 1_000, request_token: { price: '0.00001' } }],
  },
};

function integration(name: string, provider: string, upstream: Upstream, spec: object = {}): string {
  return object('Integration', name, {
    provider,
    secret_mappings: CREDENTIALS,
    configurations: { custom_host: `${upstream.origin}/v1` },
    ...spec,
  });
}

/** Integrations `plain` and `claude` by the price pages; `half` pays half; `house` has a price for `house-model`. */
function manifests(upstream: Upstream): string {
  return [
    secret('upstream', { key: 'upstream-key' }),
    integration('plain', 'openai', upstream),
    integration('claude', 'anthropic', upstream),
    integration('half', 'openai', upstream, {
      pricing_adjustments: { multiplier: { default: '0.5', reasoning_token: 2 } },
    }),
    integration('house', 'openai', upstream, {
      models: [{ slug: 'house-model', pricing_config: HOUSE_PRICES }],
    }),
  ].join('');
}

export async function startMoneyStage(options: TestGatewayOptions = {}): Promise<MoneyStage> {
  const stage = await startStage(
    1,
    ([upstream]) => manifests(upstream as Upstream),
    () => options,
  );
  let asked = 0;
  return {
    ...stage,
    async lineOf(path, integration, body, signal) {
      asked += 1;
      const id = `money ${asked}`;
      const headers = { 'x-gateway-provider': `@${integration}`, 'x-gateway-trace-id': id };
      // A caller who leaves has no answer, and a stream that breaks off no end: the line is what counts.
      await stage.gateway.post(path, body, headers, signal).then(
        (response) => response.text().catch(() => ''),
        () => '',
      );
      let line: Line | undefined;
      await waitFor(async () => {
        line = (await stage.gateway.logs()).find((each) => each['caller_trace_id'] === id);
        return line !== undefined;
      }, `the line of ${id}`);
      return line ?? {};
    },
  };
}
