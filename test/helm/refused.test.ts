/** A value that is wrong is refused by helm itself, with its path. */
import { describe, expect, it } from 'vitest';
import { chartValues } from '#crds/chart/values.ts';
import { describeHelm } from './describe-helm.ts';
import { CHART, runHelm, template } from './helm.ts';

function valuesAt(path: string, value: unknown): object {
  return path.split('.').reduceRight<unknown>((inner, step) => ({ [step]: inner }), value) as object;
}

/** Field and value that its schema refuses; helm names the field, or its owner where it is unknown. */
const WRONG: readonly (readonly [path: string, value: unknown, named?: string | undefined])[] = [
  ['gatway', {}, '/'],
  ['gateway.replica', 3, '/gateway'],
  ['gateway.service.port', 8080, '/gateway/service'],
  ['gateway.autoscaling.targetCPUPercent', 3, '/gateway/autoscaling'],
  ['operator.podDisruptionBudget.minAvailable', 1, '/operator/podDisruptionBudget'],
  ['monitoring.serviceMonitor', {}, '/monitoring'],
  ['networkPolicy.egress.deny', [], '/networkPolicy/egress'],
  ['fullnameOverride', 'Edge'],
  ['fullnameOverride', 'x'.repeat(54)],
  ['image.repository', ''],
  ['image.repository', 'registry.example/model-gateway:1.0'],
  ['image.tag', 'a b'],
  ['image.digest', 'sha256:abc'],
  ['image.pullPolicy', 'Sometimes'],
  ['image.pullSecrets', [{}], '/image/pullSecrets/0'],
  ['image.pullSecrets', ['registry'], '/image/pullSecrets/0'],
  ['watchNamespaces', 'team-a'],
  ['watchNamespaces', ['Team'], '/watchNamespaces/0'],
  ['watchNamespaces', [''], '/watchNamespaces/0'],
  ['organisationNamespace', ''],
  ['listenHost', '127.0.0.1'],
  ['runAsUser', 0],
  ['runAsUser', 'nobody'],
  ['crds.install', 'yes'],
  ['snapshot.maxShards', 12],
  ['snapshot.maxShards', 0],
  ['snapshot.maxShards', 256],
  ['store.host', 'redis', '/store'],
  ['store.url', 'http://redis:6379'],
  ['store.url', 'redis://:secret@redis:6379'],
  ['store.url', 'redis://user:secret@redis:6379'],
  ['store.url', 'redis://secret@redis:6379'],
  ['store.url', 'redis://redis:six'],
  ['store.timeoutMs', 0],
  ['store.passwordSecret', 'redis'],
  ['store.passwordSecret.name', 'Redis'],
  ['store.caSecret.key', 'a/b'],
  ['apiKeyPrefix', ''],
  ['apiKeyPrefix', 'acme.'],
  ['userApiKey.rotationPeriod', 'daily'],
  ['userApiKey.ttlDays', 3651],
  ['alertWebhook.url', 'alerts.example'],
  ['alertWebhook.secret.key', ''],
  ['networkPolicy.store.ports', []],
  ['operator.replicas', -1],
  ['operator.replicas', 1.5],
  ['operator.logLevel', 'verbose'],
  ['operator.resources.requests.cpu', '1 core'],
  ['operator.resources.cpu', '1', '/operator/resources'],
  ['operator.extraEnv', [{ value: 'x' }], '/operator/extraEnv/0'],
  ['operator.extraEnv', [{ name: 'A-B', value: 'x' }], '/operator/extraEnv/0/name'],
  ['operator.extraEnv', [{ name: 'PORT', value: 1 }], '/operator/extraEnv/0/value'],
  ['operator.podLabels.tier', 1],
  ['operator.podDisruptionBudget.maxUnavailable', 'half'],
  ['operator.topologySpread.whenUnsatisfiable', 'Never'],
  ['gateway.replicas', 'two'],
  ['gateway.autoscaling.minReplicas', 0],
  ['gateway.autoscaling.maxReplicas', 1001],
  ['gateway.apiWatch', 1],
  ['gateway.requestHosts', ['llm.example'], '/gateway/requestHosts/0'],
  ['gateway.requestHosts', ['https://llm.example/v1'], '/gateway/requestHosts/0'],
  ['gateway.requestHosts', ['https://user@llm.example'], '/gateway/requestHosts/0'],
  ['gateway.drain.graceSeconds', -1],
  ['gateway.drain.limitSeconds', 3601],
  ['gateway.stateSizeLimit', '64 MB'],
  ['gateway.service.type', 'ExternalName'],
  ['gateway.service.nodePort', 70_000],
  ['gateway.service.loadBalancerSourceRanges', ['10.0.0.1'], '/gateway/service/loadBalancerSourceRanges/0'],
  ['networkPolicy.apiServer.ports', []],
  ['networkPolicy.apiServer.cidrs', ['api.example'], '/networkPolicy/apiServer/cidrs/0'],
  ['networkPolicy.egress.deniedCidrs', ['169.254.0.0'], '/networkPolicy/egress/deniedCidrs/0'],
  ['monitoring.podMonitor.interval', '30'],
];

/** Values that are right one by one, and wrong together. */
const TOGETHER: readonly (readonly [title: string, values: object, message: RegExp])[] = [
  [
    'more replicas at least than at most',
    { gateway: { autoscaling: { minReplicas: 5, maxReplicas: 3 } } },
    /gateway\.autoscaling\.minReplicas must be at most maxReplicas \(3\), got 5/,
  ],
  [
    'autoscaling by a share of nothing',
    { gateway: { resources: { requests: { cpu: null } } } },
    /gateway\.resources\.requests\.cpu is required where gateway\.autoscaling\.enabled/,
  ],
  [
    'a port of nodes that nothing opens',
    { gateway: { service: { nodePort: 30080 } } },
    /gateway\.service\.nodePort needs gateway\.service\.type NodePort or LoadBalancer/,
  ],
  [
    'a policy for traffic that does not come',
    { gateway: { service: { externalTrafficPolicy: 'Local' } } },
    /gateway\.service\.externalTrafficPolicy needs gateway\.service\.type/,
  ],
  [
    'a class of no load balancer',
    { gateway: { service: { type: 'NodePort', loadBalancerClass: 'nlb' } } },
    /gateway\.service\.loadBalancerClass needs gateway\.service\.type LoadBalancer/,
  ],
  [
    'callers of no load balancer',
    { gateway: { service: { loadBalancerSourceRanges: ['10.0.0.0/8'] } } },
    /gateway\.service\.loadBalancerSourceRanges needs gateway\.service\.type LoadBalancer/,
  ],
  [
    'gateways that watch an API server which they cannot reach',
    { networkPolicy: { egress: { clusterCidrs: ['10.0.0.0/8'] } } },
    /networkPolicy\.apiServer\.cidrs is required where networkPolicy\.egress\.clusterCidrs is given/,
  ],
  [
    'gateways that count in a store which they cannot reach',
    {
      store: { url: 'redis://redis' },
      gateway: { apiWatch: false },
      networkPolicy: { egress: { clusterCidrs: ['10.0.0.0/8'] } },
    },
    /networkPolicy\.store\.peers is required where networkPolicy\.egress\.clusterCidrs and store\.url are given/,
  ],
  [
    'a password of no store',
    { store: { passwordSecret: { name: 'redis' } } },
    /store\.passwordSecret\.name needs store\.url/,
  ],
  ['certificates of no store', { store: { caSecret: { name: 'redis' } } }, /store\.caSecret\.name needs store\.url/],
  [
    'certificates of a store without TLS',
    { store: { url: 'redis://redis', caSecret: { name: 'redis' } } },
    /store\.caSecret\.name needs a store\.url that begins with rediss/,
  ],
  [
    'a webhook that is told twice',
    { alertWebhook: { url: 'https://alerts.example/', secret: { name: 'alerts' } } },
    /alertWebhook\.url and alertWebhook\.secret\.name are two ways to say one thing/,
  ],
  [
    'alerts on what nobody reads',
    { monitoring: { rules: { enabled: true } } },
    /monitoring\.rules needs monitoring\.podMonitor\.enabled/,
  ],
  [
    'a label by which pods are found',
    { gateway: { podLabels: { 'app.kubernetes.io/component': 'operator' } } },
    /gateway\.podLabels: app\.kubernetes\.io\/component is the chart's own/,
  ],
];

const ROWS = WRONG.map(([path, value, named = `/${path.replaceAll('.', '/')}`]) => ({ path, value, named }));

describe('the schema in zod refuses', () => {
  it.each(ROWS)('$path: $value', ({ path, value, named }) => {
    const { error } = chartValues.safeParse(valuesAt(path, value));
    const [first] = error?.issues.map((issue) => `/${issue.path.join('/')}`) ?? [];
    expect(first?.startsWith(named), first).toBe(true);
  });
});

describeHelm('helm refuses, with the path', () => {
  it.each(ROWS)('$path: $value', ({ path, value, named }) => {
    const { status, stderr } = template({ name: 'demo', namespace: 'gw', values: valuesAt(path, value) });
    expect(status).not.toBe(0);
    expect(stderr).toContain(`at '${named === '/' ? '' : named}'`);
  });
});

describeHelm('values that contradict each other', () => {
  it.each(TOGETHER)('%s', (_title, values, message) => {
    const { status, stderr } = template({ name: 'demo', namespace: 'gw', values });
    expect(status).not.toBe(0);
    expect(stderr).toMatch(message);
  });
});

describeHelm('what parent charts add', () => {
  it.each([
    ['global values', { global: { imageRegistry: 'registry.example' } }],
    ['a condition', { enabled: true }],
  ])('%s are let in', (_title, values) => {
    expect(template({ name: 'demo', namespace: 'gw', values })).toMatchObject({ status: 0 });
  });
});

describeHelm('helm lint', () => {
  it('has nothing to say, strict as it can be', () => {
    const { status, stdout, stderr } = runHelm(['lint', '--strict', CHART]);
    expect(stdout + stderr).toMatch(/1 chart\(s\) linted, 0 chart\(s\) failed/);
    expect(stdout + stderr).not.toMatch(/\[(?:WARNING|ERROR)\]/);
    expect(status).toBe(0);
  });
});
