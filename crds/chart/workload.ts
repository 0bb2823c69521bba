/** What the operator's and the gateway's Deployments have in common. */
import { z } from '../config/words.ts';
import { type Amounts, freeList, freeObject, intOrPercent, optionalName, resources, stringMap } from './shapes.ts';

const LOG_LEVELS = ['debug', 'info', 'warn', 'error', 'silent'] as const;

const topologySpread = z
  .strictObject({
    topologyKeys: z
      .array(z.string().min(1).max(317))
      .max(8)
      .default(['kubernetes.io/hostname', 'topology.kubernetes.io/zone'])
      .describe('Labels of nodes over whose values the pods are spread. Empty: no constraint.'),
    whenUnsatisfiable: z
      .enum(['ScheduleAnyway', 'DoNotSchedule'])
      .default('ScheduleAnyway')
      .describe('Whether a pod waits where it cannot be spread.'),
  })
  .prefault({})
  .describe('How pods are spread over nodes and zones.');

const podDisruptionBudget = z
  .strictObject({
    enabled: z.boolean().default(true).describe('Whether there is a PodDisruptionBudget.'),
    maxUnavailable: intOrPercent.default(1).describe('Pods that may be evicted at a time: a number or a percentage.'),
  })
  .prefault({})
  .describe('How many pods may be evicted at a time.');

const environmentVariable = z.strictObject({
  name: z
    .string()
    .max(253)
    .regex(/^[A-Za-z_][A-Za-z0-9_]*$/, { error: 'must be a name such as OTEL_SERVICE_NAME' }),
  value: z.string().max(32768).optional(),
  valueFrom: freeObject.optional(),
});

export interface WorkloadDefaults {
  readonly replicas: { readonly count: number; readonly description: string };
  readonly requests: Amounts;
  readonly limits: Partial<Amounts>;
}

/** Fields of a Deployment's values. */
export function workloadFields({ replicas, requests, limits }: WorkloadDefaults) {
  return {
    replicas: z.int().min(0).max(100).default(replicas.count).describe(replicas.description),
    logLevel: z.enum(LOG_LEVELS).default('info').describe('Least level of what is logged.'),
    resources: resources(requests, limits),
    extraEnv: z.array(environmentVariable).max(64).default([]).describe('Environment variables, such as OTEL_*.'),
    extraVolumes: freeList('Volumes of the pod besides its own, for certificates of a private authority for example.'),
    extraVolumeMounts: freeList('Where the container mounts them.'),
    podAnnotations: stringMap.describe('Annotations of the pods.'),
    podLabels: stringMap.describe('Labels of the pods, besides those of the chart.'),
    serviceAccount: z
      .strictObject({ annotations: stringMap.describe('Annotations of the ServiceAccount.') })
      .prefault({})
      .describe('The pods have a ServiceAccount of their own.'),
    podDisruptionBudget,
    topologySpread,
    nodeSelector: stringMap.describe('Labels that a node must have.'),
    tolerations: freeList('Taints that the pods tolerate.'),
    affinity: freeObject.default({}).describe('Affinity of the pods.'),
    priorityClassName: optionalName.default('').describe('PriorityClass of the pods. Empty: none.'),
  };
}
