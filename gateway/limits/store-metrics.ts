/** What Prometheus is told of the place where limits are counted. */
import { Counter, Gauge, type Registry } from 'prom-client';
import type { GatewayStore } from './open-store.ts';

export function registerStoreMetrics(registry: Registry, store: Pick<GatewayStore, 'state' | 'faults'>): void {
  new Gauge({
    name: 'modelgateway_store_degraded',
    help: 'Whether limits are counted by this replica alone, or kept in memory alone, because their store is away.',
    registers: [registry],
    collect() {
      this.set(store.state?.() === 'degraded' ? 1 : 0);
    },
  });
  new Counter({
    name: 'modelgateway_store_faults_total',
    help: 'Failures of the store that limits are counted in.',
    labelNames: ['reason'],
    registers: [registry],
    collect() {
      this.reset();
      for (const [reason, count] of store.faults?.() ?? []) this.inc({ reason }, count);
    },
  });
}
