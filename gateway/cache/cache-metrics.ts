/** What Prometheus is told of the place where answers are kept. */
import { Counter, Gauge, type Registry } from 'prom-client';
import type { CacheMeans } from './cache-means.ts';

export function registerCacheMetrics(registry: Registry, { answers, faults }: CacheMeans): void {
  new Gauge({
    name: 'modelgateway_cache_bytes',
    help: 'Bytes of answers that are kept in this process; a store that all replicas share counts its own.',
    registers: [registry],
    collect() {
      this.set(answers.bytes);
    },
  });
  new Counter({
    name: 'modelgateway_cache_faults_total',
    help: 'Lookups and entries that failed: of the shared store, or of the model that says what means the same.',
    labelNames: ['of'],
    registers: [registry],
    collect() {
      this.reset();
      this.inc({ of: 'store' }, faults.store);
      this.inc({ of: 'embedding' }, faults.embedding);
    },
  });
}
