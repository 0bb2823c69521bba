/** Objects, snapshots and replicas for tests of what is told of them. */
import type { Snapshot } from '#crds/snapshot/contract.ts';
import { type ObjectStatus, statusOf as statusOfManifest } from '#operator/compile/status.ts';
import type { Refusal, Replica } from '#operator/replicas/replica.ts';
import { NO_RECORDS } from '../../fakes/no-records.ts';

/** A GatewayConfig per name, which asks for the model. */
export function snapshotOf(models: Readonly<Record<string, string>>): Snapshot {
  return {
    ...NO_RECORDS,
    settings: { organisation_namespace: 'model-gateway', request_hosts: [] },
    configs: Object.entries(models).map(([name, model]) => ({
      namespace: 'default',
      name,
      shared_with: [],
      is_default: false,
      config: { provider: 'simulator', override_params: { model } },
    })),
    integrations: [],
    credentials: [],
    keys: [],
    refused: [],
  };
}

export interface StatusOptions {
  readonly uid?: string;
  readonly generation?: number;
  readonly served?: ObjectStatus['served'];
  readonly isRefused?: boolean;
  readonly message?: string;
}

/** Status of `GatewayConfig default/<name>` as `compile` gives it. */
export function statusOf(name: string, options: StatusOptions = {}): ObjectStatus {
  const {
    uid = `uid-of-${name}`,
    generation = 1,
    served = 'current',
    isRefused = false,
    message = 'spec: bad',
  } = options;
  const manifest = { kind: 'GatewayConfig', namespace: 'default', name, uid, generation, raw: {}, place: undefined };
  const refused = isRefused ? ({ reason: 'InvalidSpec', message } as const) : undefined;
  return statusOfManifest(manifest, { refused, unresolved: [], warnings: [], served, isDuplicate: false });
}

export function replica(index: number, generation: number, refused?: Omit<Refusal, 'hash'>): Replica {
  return {
    name: `gateway-${index}`,
    address: `10.0.0.${index + 1}`,
    reachable: true,
    generation,
    hash: `hash-${generation}`,
    refused: refused && { ...refused, hash: `hash-${refused.generation}` },
  };
}
