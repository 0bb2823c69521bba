/** A stage whose spans go to a collector, soon after each request. */
import { type Stage, startStage } from '../conformance/stage.ts';
import type { TestGatewayOptions } from '../fakes/gateway.ts';
import type { Upstream } from '../fakes/upstream.ts';
import { type OtlpCollector, startOtlpCollector } from './otlp-collector.ts';

export interface TracedStage extends Stage {
  readonly collector: OtlpCollector;
}

/** The SDK reads its own variables from the process; those set here are taken back by `close`. */
export async function startTracedStage(
  count: number,
  manifests: (upstreams: readonly Upstream[]) => string = () => '',
  options: TestGatewayOptions = {},
  variables: Readonly<Record<string, string>> = {},
): Promise<TracedStage> {
  const collector = await startOtlpCollector();
  const all = { OTEL_EXPORTER_OTLP_ENDPOINT: collector.origin, OTEL_BSP_SCHEDULE_DELAY: '20', ...variables };
  const before = { ...process.env };
  Object.assign(process.env, all);
  const stage = await startStage(count, manifests, () => ({ ...options, env: process.env }));
  return {
    ...stage,
    collector,
    async close() {
      await stage.close();
      await collector.close();
      for (const name of Object.keys(all)) {
        if (before[name] === undefined) delete process.env[name];
        else process.env[name] = before[name];
      }
    },
  };
}
