/** Values that the chart is rendered with, from nothing to everything. */
import type { Release } from './helm.ts';

const everywhere = { namespaceSelector: { matchLabels: { 'kubernetes.io/metadata.name': 'monitoring' } } };

const workload = {
  replicas: 3,
  logLevel: 'debug',
  resources: { requests: { cpu: '1', memory: '512Mi' }, limits: { cpu: 2, memory: '2Gi' } },
  extraEnv: [
    { name: 'OTEL_EXPORTER_OTLP_ENDPOINT', value: 'http://collector.monitoring:4318' },
    { name: 'NODE_NAME', valueFrom: { fieldRef: { fieldPath: 'spec.nodeName' } } },
  ],
  extraVolumes: [{ name: 'authority', configMap: { name: 'authority' } }],
  extraVolumeMounts: [{ name: 'authority', mountPath: '/etc/authority', readOnly: true }],
  podAnnotations: { 'team.example/owner': 'platform' },
  podLabels: { 'team.example/tier': 'edge' },
  serviceAccount: { annotations: { 'cloud.example/role': 'model-gateway' } },
  podDisruptionBudget: { enabled: true, maxUnavailable: '25%' },
  topologySpread: { topologyKeys: ['kubernetes.io/hostname'], whenUnsatisfiable: 'DoNotSchedule' },
  nodeSelector: { 'kubernetes.io/os': 'linux' },
  tolerations: [{ key: 'dedicated', operator: 'Equal', value: 'gateway', effect: 'NoSchedule' }],
  affinity: {
    nodeAffinity: {
      preferredDuringSchedulingIgnoredDuringExecution: [
        { weight: 1, preference: { matchExpressions: [{ key: 'disk', operator: 'In', values: ['ssd'] }] } },
      ],
    },
  },
  priorityClassName: 'system-cluster-critical',
};

const everything = {
  image: {
    repository: 'registry.example:5000/platform/model-gateway',
    tag: '1.2.3',
    digest: `sha256:${'0123456789abcdef'.repeat(4)}`,
    pullPolicy: 'Always',
    pullSecrets: [{ name: 'registry-credentials' }],
  },
  organisationNamespace: 'shared',
  listenHost: '::',
  runAsUser: 1234,
  rbac: { aggregateToDefaultRoles: true },
  snapshot: { maxShards: 4 },
  store: {
    url: 'rediss+sentinel://limits:@one.cache:26379,[fd00:1::9]:26380/master',
    passwordSecret: { name: 'store', key: 'store-password' },
    caSecret: { name: 'authority', key: 'authority.pem' },
    timeoutMs: 40,
  },
  apiKeyPrefix: 'acme-',
  userApiKey: { rotationPeriod: 'monthly', ttlDays: 90 },
  alertWebhook: { url: 'https://alerts.example:8443/hook?team=a' },
  operator: workload,
  gateway: {
    ...workload,
    autoscaling: {
      enabled: true,
      minReplicas: 3,
      maxReplicas: 50,
      targetCpuPercent: 60,
      targetRequestsInFlight: 200,
    },
    requestHosts: ['https://llm.example:8443', 'http://[fd00::1]:8000'],
    embeddingModel: '@embedder/text-embedding-3-small',
    cacheBytes: '128Mi',
    cacheKeySecret: { name: 'cache', key: 'cache-keys' },
    drain: { graceSeconds: 10, limitSeconds: 600 },
    stateSizeLimit: '128Mi',
    service: {
      type: 'LoadBalancer',
      nodePort: 30080,
      annotations: { 'cloud.example/internal': 'true' },
      loadBalancerClass: 'cloud.example/nlb',
      loadBalancerSourceRanges: ['10.0.0.0/8'],
      externalTrafficPolicy: 'Local',
    },
  },
  networkPolicy: {
    callers: [{ namespaceSelector: { matchLabels: { 'kubernetes.io/metadata.name': 'team-a' } } }],
    monitoring: [everywhere],
    apiServer: { cidrs: ['192.0.2.10/32', 'fd00:1::10/128'], ports: [6443] },
    store: {
      peers: [{ namespaceSelector: { matchLabels: { 'kubernetes.io/metadata.name': 'cache' } } }],
      ports: [6379, 26379, 26380],
    },
    egress: {
      clusterCidrs: ['10.0.0.0/8', 'fd00:1::/32'],
      extra: [
        {
          to: [{ podSelector: { matchLabels: { app: 'llm' } }, namespaceSelector: {} }],
          ports: [{ port: 8000, protocol: 'TCP' }],
        },
      ],
    },
  },
  monitoring: {
    podMonitor: { enabled: true, labels: { release: 'prometheus' }, interval: '15s' },
    rules: { enabled: true, labels: { release: 'prometheus' } },
    dashboard: { enabled: true },
  },
};

const minimal = {
  crds: { install: false },
  runAsUser: null,
  snapshot: { maxShards: 1 },
  operator: { replicas: 1, podDisruptionBudget: { enabled: false }, topologySpread: { topologyKeys: [] } },
  gateway: {
    replicas: 1,
    autoscaling: { enabled: false },
    apiWatch: false,
    podDisruptionBudget: { enabled: false },
    topologySpread: { topologyKeys: [] },
  },
  networkPolicy: { enabled: false },
};

/** Every release has another name and namespace, so that nothing can be right by being called `model-gateway`. */
export const MATRIX = {
  defaults: { name: 'demo', namespace: 'gw' },
  everything: { name: 'all-on', namespace: 'platform', values: everything },
  minimal: { name: 'm', namespace: 'small', values: minimal },
  'named namespaces': { name: 'tenants', namespace: 'gw', values: { watchNamespaces: ['team-a', 'team-b', 'gw'] } },
  'a name of its own': { name: 'demo', namespace: 'gw', values: { fullnameOverride: 'edge' } },
  'the longest name': { name: 'x'.repeat(53), namespace: 'n'.repeat(63) },
  'no token': { name: 'volume-only', namespace: 'gw', values: { gateway: { apiWatch: false } } },
  'a store without secrets': {
    name: 'counts',
    namespace: 'gw',
    values: { store: { url: 'redis://redis.cache:6379/2' }, alertWebhook: { secret: { name: 'alerts' } } },
  },
  'a port of the nodes': {
    name: 'nodes',
    namespace: 'gw',
    values: { gateway: { service: { type: 'NodePort', nodePort: 31000 } } },
  },
} as const satisfies Readonly<Record<string, Release>>;

/** What all names of a release begin with. */
export function prefixOf({ name, values }: Release): string {
  return (values as { fullnameOverride?: string } | undefined)?.fullnameOverride ?? name;
}

export const CASES: readonly (readonly [string, Release])[] = Object.entries(MATRIX);
