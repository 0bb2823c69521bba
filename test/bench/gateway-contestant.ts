/** The gateway as a process of its own on one core, with a snapshot of the size that is asked for. */
import { createHash } from 'node:crypto';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Snapshot } from '#crds/snapshot/contract.ts';
import { NO_RECORDS } from '../fakes/no-records.ts';
import { type Contestant, type UpstreamOrigins, WORKLOADS } from './contestant.ts';
import { startPinned } from './process.ts';

const PROGRAM = fileURLToPath(new URL('gateway-process.ts', import.meta.url));
const NAMESPACE = 'bench';
const KEY = 'bench-key-0000000000000000';

export interface SnapshotSize {
  readonly configs: number;
  readonly keys: number;
  /** Rate limits that each request counts in; default none. */
  readonly policies?: number;
  /** Answers are kept in memory: from the second request on each is a hit. */
  readonly cache?: boolean;
  /** URL of the store that they are counted in; default: memory. */
  readonly store?: string;
}

const UNITS = ['rpm', 'rph', 'rpd', 'rpw'] as const;

/** One that never refuses: half of them of all requests, half of each key on its own. */
function policyRecord(index: number): Snapshot['rate_limits'][number] {
  const name = `policy-${index}`;
  return {
    kind: 'RateLimitPolicy',
    namespace: NAMESPACE,
    name,
    path: '',
    id: `RateLimitPolicy ${NAMESPACE}/${name}`,
    label: name,
    workspace: NAMESPACE,
    conditions: [{ key: 'api_key', values: ['*'], excludes: [] }],
    group_by: [index % 2 === 0 ? 'workspace_id' : 'api_key'],
    type: 'requests',
    unit: UNITS[index % UNITS.length] ?? 'rpm',
    value: 1e12,
  };
}

function configRecord(name: string, origin: string, cached = false): Snapshot['configs'][number] {
  const target = { provider: 'openai', custom_host: `${origin}/v1` };
  const config = {
    strategy: { mode: 'fallback' as const },
    retry: { attempts: 2 },
    targets: [target, target],
    ...(cached && { cache: { mode: 'simple' as const } }),
  };
  return { namespace: NAMESPACE, name, shared_with: [], is_default: false, config };
}

function keyRecord(name: string, key: string): Snapshot['keys'][number] {
  return {
    namespace: NAMESPACE,
    name,
    digest: createHash('sha256').update(key).digest('hex'),
    type: 'workspace-service',
    allow_config_override: true,
    metadata: {},
    disabled: false,
  };
}

/** A config a workload, and as many others as are asked for; a caller's key among the others. */
export function benchSnapshot(upstream: UpstreamOrigins, size: SnapshotSize): Snapshot {
  const others = Array.from({ length: Math.max(0, size.configs - WORKLOADS.length) }, (_, index) =>
    configRecord(`config-${index}`, upstream.origin('unary')),
  );
  const keys = Array.from({ length: size.keys - 1 }, (_, index) =>
    keyRecord(`key-${index}`, `other-key-${index}-00000000`),
  );
  return {
    ...NO_RECORDS,
    settings: { organisation_namespace: 'model-gateway', request_hosts: [] },
    configs: [...WORKLOADS.map((workload) => configRecord(workload, upstream.origin(workload), size.cache)), ...others],
    integrations: [],
    credentials: [],
    keys: [...keys, keyRecord('bench', KEY)],
    rate_limits: Array.from({ length: size.policies ?? 0 }, (_, index) => policyRecord(index)),
    refused: [],
  };
}

/** Starts one; `name` tells several apart. */
export async function startGatewayContestant(
  name: string,
  core: number,
  directory: string,
  upstream: UpstreamOrigins,
  size: SnapshotSize,
): Promise<Contestant> {
  mkdirSync(directory, { recursive: true });
  const file = join(directory, `${name}.json`);
  writeFileSync(file, JSON.stringify(benchSnapshot(upstream, size)));
  const { pid, firstLine, stop } = startPinned(
    core,
    process.execPath,
    [PROGRAM, file, ...(size.store === undefined ? [] : [size.store])],
    'stderr',
  );
  const { origin } = JSON.parse(await firstLine);
  return {
    name,
    pid,
    stop,
    origin: () => origin,
    headers: (workload) => ({ 'x-gateway-api-key': KEY, 'x-gateway-config': workload }),
  };
}
