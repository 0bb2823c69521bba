/** Values of the gateway's part of the chart. */
import { z } from '../config/words.ts';
import { keyOfSecret } from './limit-values.ts';
import { cidr, optionalName, quantity, stringMap } from './shapes.ts';
import { workloadFields } from './workload.ts';

const autoscaling = z
  .strictObject({
    enabled: z.boolean().default(true).describe('Whether a HorizontalPodAutoscaler sets the replicas.'),
    minReplicas: z.int().min(1).max(1000).default(2).describe('Fewest replicas.'),
    maxReplicas: z.int().min(1).max(1000).default(20).describe('Most replicas.'),
    targetCpuPercent: z.int().min(1).max(1000).default(70).describe('CPU in use, in percent of what is requested.'),
    targetRequestsInFlight: z
      .int()
      .min(0)
      .max(100_000)
      .default(0)
      .describe('Running requests per pod, where an adapter serves modelgateway_requests_in_flight. 0: not looked at.'),
  })
  .prefault({})
  .describe('How many replicas there are.');

const drain = z
  .strictObject({
    graceSeconds: z
      .int()
      .min(0)
      .max(300)
      .default(5)
      .describe('Time for which a stopping gateway still takes requests.'),
    limitSeconds: z
      .int()
      .min(1)
      .max(3600)
      .default(300)
      .describe('Time for which running requests and streams may then go on.'),
  })
  .prefault({})
  .describe('How a gateway stops; terminationGracePeriodSeconds follows from it.');

const service = z
  .strictObject({
    type: z.enum(['ClusterIP', 'NodePort', 'LoadBalancer']).default('ClusterIP').describe('Type of the Service.'),
    nodePort: z
      .int()
      .min(0)
      .max(65535)
      .default(0)
      .describe('Port on every node, for NodePort and LoadBalancer. 0: any.'),
    annotations: stringMap.describe('Annotations of the Service, for a load balancer for example.'),
    loadBalancerClass: optionalName
      .or(
        z
          .string()
          .max(317)
          .regex(/^[a-z0-9.-]+\/[A-Za-z0-9._-]+$/),
      )
      .default('')
      .describe("Class of the load balancer. Empty: the cluster's default."),
    loadBalancerSourceRanges: z
      .array(cidr)
      .max(64)
      .default([])
      .describe('Who may use the load balancer. Empty: anyone.'),
    externalTrafficPolicy: z
      .enum(['Cluster', 'Local'])
      .default('Cluster')
      .describe('Local keeps the address of the caller, for NodePort and LoadBalancer.'),
  })
  .prefault({})
  .describe('The Service: port 80 is the API, and nothing else is reached by it.');

const origin = z
  .string()
  .max(512)
  .regex(/^https?:\/\/[^/?#@\s]+$/, { error: 'must be an origin such as https://llm.example:8443' });

export const gatewayValues = z
  .strictObject({
    ...workloadFields({
      replicas: { count: 2, description: 'Replicas where autoscaling is off.' },
      requests: { cpu: '500m', memory: '256Mi' },
      limits: { memory: '1Gi' },
    }),
    autoscaling,
    apiWatch: z
      .boolean()
      .default(true)
      .describe('Whether gateways watch their snapshot through the API. false: no token; a change takes up to 90 s.'),
    requestHosts: z
      .array(origin)
      .max(256)
      .default([])
      .describe('Origins that a request may name as its custom host. Empty: none.'),
    embeddingModel: z
      .string()
      .max(512)
      .regex(/^(@[a-z0-9]([a-z0-9.-]*[a-z0-9])?\/\S+)?$/, { error: 'must be @slug/model, or empty' })
      .default('')
      .describe(
        'Who says what means the same, for caches of mode semantic: an Integration of the organisation namespace and a model. Empty: nobody, and semantic is simple.',
      ),
    cacheBytes: z
      .string()
      .max(18)
      .regex(/^[0-9]{1,15}(Ki|Mi|Gi)?$/, { error: 'must be bytes such as 64Mi' })
      .default('64Mi')
      .describe('Memory of each gateway for its cache. Where there is a store, answers lie in it.'),
    cacheKeySecret: keyOfSecret(
      'keys',
      'Keys that cached answers are encrypted with, one a line; read when a gateway starts.',
    ),
    drain,
    stateSizeLimit: quantity.default('64Mi').describe('Memory for the last good snapshot, which outlives a restart.'),
    service,
  })
  .prefault({})
  .describe('What serves requests.');
