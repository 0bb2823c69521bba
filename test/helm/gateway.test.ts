/** The gateway's Deployment, Service and autoscaler, and what both containers are told. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { describe, expect, it } from 'vitest';
import { chartValues } from '#crds/chart/values.ts';
import { environmentName } from '#crds/command/parse-flags.ts';
import { sharesObject, snapshotObjects } from '#crds/snapshot/object-names.ts';
import { describeHelm } from './describe-helm.ts';
import { type Release, render } from './helm.ts';
import { at, type Manifest, ofKind, only, type PodSpec, podSpecOf, podTemplates } from './manifest.ts';
import { CASES, MATRIX, prefixOf } from './matrix.ts';

interface Source {
  readonly configMap?: Projected;
  readonly secret?: Projected;
}

interface Projected {
  readonly name: string;
  readonly optional: boolean;
  readonly items: readonly { readonly key: string; readonly path: string }[];
}

function gatewayOf(release: Release): PodSpec {
  return podSpecOf(render(release), `${prefixOf(release)}-gateway`);
}

function operatorOf(release: Release): PodSpec {
  return podSpecOf(render(release), `${prefixOf(release)}-operator`);
}

/** Values of a flag among a container's arguments. */
function flag({ containers }: PodSpec, name: string): readonly string[] {
  const prefix = `--${name}=`;
  return (containers[0]?.args ?? []).filter((arg) => arg.startsWith(prefix)).map((arg) => arg.slice(prefix.length));
}

/** As Helm takes them: null is what the chart says. */
function withoutNull(values: object = {}): unknown {
  return JSON.parse(JSON.stringify(values), (_key, value) => value ?? undefined);
}

function withValues(values: object): Release {
  return { name: 'demo', namespace: 'gw', values };
}

describeHelm('every rendering', () => {
  describe.each(CASES)('%s', (_title, release) => {
    const gateway = gatewayOf(release);
    const volumes = new Map(gateway.volumes?.map((volume) => [volume.name, volume]));

    it('projects every object of the snapshot into one volume, under the name of its shard', () => {
      const maxShards = Number(flag(gateway, 'max-shards')[0]);
      const sources = at<Source[]>(volumes.get('snapshot'), 'projected.sources') ?? [];
      const found = sources.map(({ configMap, secret }) => {
        const projected = configMap ?? secret;
        expect(projected).toMatchObject({ optional: true });
        const [item] = projected?.items ?? [];
        return { kind: configMap ? 'ConfigMap' : 'Secret', name: projected?.name, key: item?.key, file: item?.path };
      });
      const [index, ...shards] = snapshotObjects(prefixOf(release), maxShards);
      expect(found).toEqual([index, sharesObject(prefixOf(release)), ...shards]);
    });

    it('tells the gateway which of how many replicas it is', () => {
      const { autoscaling, replicas } = chartValues.parse(withoutNull(release.values)).gateway;
      expect(flag(gateway, 'replicas')).toEqual([String(autoscaling.enabled ? autoscaling.maxReplicas : replicas)]);
      expect(gateway.containers[0]?.env?.[0]).toEqual({
        name: environmentName('replica-name'),
        valueFrom: { fieldRef: { fieldPath: 'metadata.name' } },
      });
    });

    it('keeps the last good snapshot in memory, bounded', () => {
      expect(volumes.get('state')).toEqual({
        name: 'state',
        emptyDir: { medium: 'Memory', sizeLimit: expect.stringMatching(/Mi$/) },
      });
    });

    it('tells the gateway where its volumes are', () => {
      const mounts = new Map(gateway.containers[0]?.volumeMounts?.map((mount) => [mount.name, mount]));
      expect(mounts.get('snapshot')).toMatchObject({ mountPath: flag(gateway, 'snapshot-dir')[0], readOnly: true });
      expect(mounts.get('state')?.mountPath).toBe(flag(gateway, 'state-dir')[0]);
      expect(mounts.get('state')?.readOnly).toBeUndefined();
    });

    it('is given as long to stop as its drain takes, and a little more', () => {
      const seconds = (Number(flag(gateway, 'grace-ms')[0]) + Number(flag(gateway, 'drain-ms')[0])) / 1000;
      expect(gateway.terminationGracePeriodSeconds).toBe(seconds + 15);
    });

    it('watches the API where it has a token, and only there', () => {
      const isBlind = gateway.containers[0]?.args.includes('--no-api-watch');
      expect(isBlind).toBe(gateway.automountServiceAccountToken === false);
    });

    it('agrees with the operator on release, namespace and shards', () => {
      const operator = operatorOf(release);
      for (const name of ['release', 'namespace', 'max-shards', 'admin-port']) {
        expect(flag(operator, name), name).toHaveLength(1);
        expect(flag(operator, name), name).toEqual(flag(gateway, name));
      }
      expect(flag(operator, 'gateway-admin-port')).toEqual(flag(gateway, 'admin-port'));
    });

    it('lets the operator find it by its Service', () => {
      const [name = ''] = flag(operatorOf(release), 'gateway-service');
      const service = only(render(release), 'Service', name);
      expect(service.metadata.namespace).toBe(release.namespace);
    });

    it('exposes the API by its Service, and nothing else', () => {
      const service = only(render(release), 'Service', `${prefixOf(release)}-gateway`);
      expect(ofKind(render(release), 'Service')).toHaveLength(2);
      expect(at(service, 'spec.ports')).toEqual([
        expect.objectContaining({ name: 'http', port: 80, targetPort: 'http', protocol: 'TCP' }),
      ]);
      expect(gateway.containers[0]?.ports).toEqual([
        { name: 'http', containerPort: Number(flag(gateway, 'port')[0]), protocol: 'TCP' },
        { name: 'admin', containerPort: Number(flag(gateway, 'admin-port')[0]), protocol: 'TCP' },
      ]);
    });

    it('finds the control plane by the Service of the operator, which no one outside reaches', () => {
      const service = only(render(release), 'Service', `${prefixOf(release)}-operator`);
      const { name, namespace } = service.metadata;
      expect(flag(gateway, 'operator-url')).toEqual([`http://${name}.${namespace}:8789`]);
      expect(service['spec']).toMatchObject({
        type: 'ClusterIP',
        ports: [expect.objectContaining({ port: 8789, targetPort: 'api', protocol: 'TCP' })],
      });
      const operator = operatorOf(release);
      expect(operator.containers[0]?.ports).toContainEqual({
        name: 'api',
        containerPort: Number(flag(operator, 'api-port')[0]),
        protocol: 'TCP',
      });
      expect(flag(operator, 'api-host')).toEqual(flag(operator, 'admin-host'));
    });

    it('is asked for its health at the admin port', () => {
      for (const spec of [gateway, operatorOf(release)]) {
        const probes = ['startupProbe', 'livenessProbe', 'readinessProbe'].map((name) => at(spec.containers[0], name));
        expect(probes.map((probe) => at(probe, 'httpGet'))).toEqual([
          { path: '/healthz', port: 'admin' },
          { path: '/healthz', port: 'admin' },
          { path: '/readyz', port: 'admin' },
        ]);
      }
    });

    it('has a number of replicas by one that sets it', () => {
      const deployment = only(render(release), 'Deployment', `${prefixOf(release)}-gateway`);
      const scalers = ofKind(render(release), 'HorizontalPodAutoscaler');
      expect(scalers.length === 0).toBe(typeof at(deployment, 'spec.replicas') === 'number');
      for (const scaler of scalers) {
        expect(at(scaler, 'spec.scaleTargetRef')).toEqual({
          apiVersion: 'apps/v1',
          kind: 'Deployment',
          name: deployment.metadata.name,
        });
      }
    });
  });
});

describeHelm('the defaults', () => {
  const gateway = gatewayOf(MATRIX.defaults);

  it('drain for 5 s and 300 s within 320 s', () => {
    expect(flag(gateway, 'grace-ms')).toEqual(['5000']);
    expect(flag(gateway, 'drain-ms')).toEqual(['300000']);
    expect(gateway.terminationGracePeriodSeconds).toBe(320);
  });

  it('scale from 2 to 20 by CPU', () => {
    const [scaler] = ofKind(render(MATRIX.defaults), 'HorizontalPodAutoscaler');
    expect(scaler?.apiVersion).toBe('autoscaling/v2');
    expect(scaler?.spec).toMatchObject({ minReplicas: 2, maxReplicas: 20 });
    expect(at(scaler, 'spec.metrics')).toEqual([
      { type: 'Resource', resource: { name: 'cpu', target: { type: 'Utilization', averageUtilization: 70 } } },
    ]);
  });

  it('take no replica away before another is there', () => {
    const deployment = only(render(MATRIX.defaults), 'Deployment', 'demo-gateway');
    expect(at(deployment, 'spec.strategy.rollingUpdate.maxUnavailable')).toBe(0);
  });

  it('spread over nodes and zones where they can', () => {
    expect(gateway.topologySpreadConstraints).toEqual(
      ['kubernetes.io/hostname', 'topology.kubernetes.io/zone'].map((topologyKey) => ({
        maxSkew: 1,
        topologyKey,
        whenUnsatisfiable: 'ScheduleAnyway',
        labelSelector: {
          matchLabels: {
            'app.kubernetes.io/name': 'model-gateway',
            'app.kubernetes.io/instance': 'demo',
            'app.kubernetes.io/component': 'gateway',
          },
        },
        matchLabelKeys: ['pod-template-hash'],
      })),
    );
  });

  it('run two operators, of which a lease of their own elects one', () => {
    const deployment = only(render(MATRIX.defaults), 'Deployment', 'demo-operator');
    expect(at(deployment, 'spec.replicas')).toBe(2);
    expect(flag(operatorOf(MATRIX.defaults), 'lease')).toEqual(['demo-operator']);
  });

  it('let no request name a host', () => expect(flag(operatorOf(MATRIX.defaults), 'request-host')).toEqual([]));
});

describeHelm('what is set', () => {
  it('reaches the operator’s flags', () => {
    const operator = operatorOf(MATRIX.everything);
    expect(flag(operator, 'request-host')).toEqual([...MATRIX.everything.values.gateway.requestHosts]);
    expect(flag(operator, 'organisation-namespace')).toEqual(['shared']);
    expect(flag(operator, 'admin-host')).toEqual(['::']);
  });

  it('reaches the gateway’s flags', () => {
    const gateway = gatewayOf(MATRIX.everything);
    expect(flag(gateway, 'host')).toEqual(['::']);
    expect(flag(gateway, 'admin-host')).toEqual(['::']);
    expect(flag(gateway, 'grace-ms')).toEqual(['10000']);
    expect(flag(gateway, 'drain-ms')).toEqual(['600000']);
  });

  it('reaches the Service', () => {
    const service = ofKind(render(MATRIX.everything), 'Service').find(({ metadata }) => /gateway$/.test(metadata.name));
    expect(service?.metadata.annotations).toEqual({ 'cloud.example/internal': 'true' });
    expect(service?.spec).toMatchObject({
      type: 'LoadBalancer',
      loadBalancerClass: 'cloud.example/nlb',
      loadBalancerSourceRanges: ['10.0.0.0/8'],
      externalTrafficPolicy: 'Local',
    });
    expect(at(service, 'spec.ports.0.nodePort')).toBe(30080);
  });

  it('reaches the autoscaler', () => {
    const [scaler] = ofKind(render(MATRIX.everything), 'HorizontalPodAutoscaler');
    expect(at<Manifest[]>(scaler, 'spec.metrics')?.[1]).toEqual({
      type: 'Pods',
      pods: {
        metric: { name: 'modelgateway_requests_in_flight' },
        target: { type: 'AverageValue', averageValue: '200' },
      },
    });
  });

  it('keeps long numbers whole', () => {
    const release = withValues({ runAsUser: 1_000_700_000, gateway: { drain: { limitSeconds: 3600 } } });
    const gateway = gatewayOf(release);
    expect(gateway.securityContext).toMatchObject({ runAsUser: 1_000_700_000 });
    expect(flag(gateway, 'drain-ms')).toEqual(['3600000']);
  });
});

describeHelm('helm test', () => {
  const pod = ofKind(render(MATRIX.defaults), 'Pod')[0];
  const [, template] = (pod === undefined ? [] : podTemplates([pod]))[0] ?? [];
  const script = template?.spec.containers[0]?.args.at(-1) ?? '';

  it('is a hook, and no part of the release', () => {
    expect(pod?.metadata.annotations).toMatchObject({ 'helm.sh/hook': 'test' });
  });

  it('asks the Service', () => {
    const service = ofKind(render(MATRIX.defaults), 'Service').find(({ metadata }) => /gateway$/.test(metadata.name));
    expect(script).toContain(`http://${service?.metadata.name}.gw/v1/models`);
  });

  it.each([
    [401, { error: { type: 'authentication_error' } }, 0],
    [200, { data: [] }, 1],
    [401, { error: { type: 'unauthorized' } }, 1],
    [503, 'no gateway', 1],
  ])('of an answer %i %j makes the exit status %i', async (status, body, expected) => {
    const server = createServer((_request, response) => {
      response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
    });
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    const { port } = server.address() as AddressInfo;
    const local = script.replace(/http:[^']+/, `http://127.0.0.1:${port}/v1/models`).replace('2000', '1');
    const child = spawn(process.execPath, ['--input-type=module', '--eval', local]);
    const [code] = await once(child, 'close');
    server.close();
    expect(code).toBe(expected);
  });

  it('ends whatever happens', () => {
    expect(at(template, 'spec.activeDeadlineSeconds')).toBe(120);
    expect(at(template, 'spec.restartPolicy')).toBe('Never');
  });
});
