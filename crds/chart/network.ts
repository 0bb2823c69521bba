/** Values that say who may talk to whom, and who looks on. */
import { z } from '../config/words.ts';
import { cidr, freeList, stringMap } from './shapes.ts';

/** Where clouds keep the credentials of a node; link-local addresses at large. */
const METADATA_CIDRS = ['169.254.0.0/16', '168.63.129.16/32', '100.100.100.200/32', 'fe80::/10', 'fd00:ec2::254/128'];

const apiServer = z
  .strictObject({
    cidrs: z.array(cidr).max(32).default([]).describe('Addresses of the API server. Empty: any address at its ports.'),
    ports: z.array(z.int().min(1).max(65535)).min(1).max(8).default([443, 6443]).describe('Ports of the API server.'),
  })
  .prefault({})
  .describe('Where the API server is.');

const store = z
  .strictObject({
    peers: freeList('Where the store of limits is, as a NetworkPolicy has it. Empty: where upstreams may be.'),
    ports: z
      .array(z.int().min(1).max(65535))
      .min(1)
      .max(8)
      .default([6379, 26379])
      .describe('Ports of the store, and of its sentinels.'),
  })
  .prefault({})
  .describe('Where the store of limits is.');

const egress = z
  .strictObject({
    deniedCidrs: z.array(cidr).max(64).default(METADATA_CIDRS).describe('Ranges that the gateway never reaches.'),
    clusterCidrs: z
      .array(cidr)
      .max(64)
      .default([])
      .describe('Ranges of pods, Services and nodes. Given: the gateway reaches nothing of the cluster but `extra`.'),
    extra: freeList('Egress rules of the gateway besides, as a NetworkPolicy has them.'),
  })
  .prefault({})
  .describe('What the gateway reaches.');

export const networkPolicy = z
  .strictObject({
    enabled: z.boolean().default(true).describe('Whether there are NetworkPolicies.'),
    callers: freeList('Peers that may call the API, as a NetworkPolicy has them. Empty: anyone.'),
    monitoring: freeList('Peers that may read metrics, as a NetworkPolicy has them. Empty: none.'),
    apiServer,
    store,
    egress,
  })
  .prefault({})
  .describe('NetworkPolicies of the pods.');

const optional = (what: string) => ({
  enabled: z.boolean().default(false).describe(`Whether there is ${what}.`),
  labels: stringMap.describe('Its labels besides.'),
});

export const monitoring = z
  .strictObject({
    podMonitor: z
      .strictObject({
        ...optional('a PodMonitor for the operator and one for the gateway'),
        interval: z
          .string()
          .max(16)
          .regex(/^[0-9]+(ms|s|m)$/, { error: 'must be a duration such as 30s' })
          .default('30s')
          .describe('Time between two scrapes.'),
      })
      .prefault({})
      .describe('For the Prometheus operator.'),
    rules: z
      .strictObject(optional('a PrometheusRule with alerts'))
      .prefault({})
      .describe('Alerts for the Prometheus operator.'),
    dashboard: z
      .strictObject({
        enabled: z.boolean().default(false).describe('Whether there is a ConfigMap with a Grafana dashboard.'),
        labels: z
          .record(z.string(), z.string().max(63))
          .meta({ maxProperties: 64 })
          .default({ grafana_dashboard: '1' })
          .describe("Labels that Grafana's sidecar looks for."),
      })
      .prefault({})
      .describe('A dashboard for Grafana.'),
  })
  .prefault({})
  .describe('What looks on.');
