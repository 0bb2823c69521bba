/** What the containers are told is what their commands take. */
import { statSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { type FlagTable, parseFlags } from '#crds/command/parse-flags.ts';
import { GATEWAY_FLAGS } from '#gateway/flags.ts';
import { OPERATOR_FLAGS } from '#operator/flags.ts';
import { describeHelm } from './describe-helm.ts';
import { REPOSITORY, type Release, render } from './helm.ts';
import { podSpecOf } from './manifest.ts';
import { CASES, MATRIX, prefixOf } from './matrix.ts';

function argsOf(release: Release, component: string): readonly string[] {
  return podSpecOf(render(release), `${prefixOf(release)}-${component}`).containers[0]?.args ?? [];
}

function valuesOf<T extends FlagTable>(table: T, release: Release, component: string) {
  const [, ...argv] = argsOf(release, component);
  const parsed = parseFlags(table, { argv, environment: {}, takesPaths: false });
  if ('problem' in parsed) throw new Error(parsed.problem);
  return parsed.values;
}

describeHelm('every rendering', () => {
  describe.each(CASES)('%s', (_title, release) => {
    it.each([
      ['operator', OPERATOR_FLAGS],
      ['gateway', GATEWAY_FLAGS],
    ] as const)('the %s is a file of the image, with flags that it takes', (component, table) => {
      const [file = '', ...argv] = argsOf(release, component);
      expect(file).toBe(`${component}/main.ts`);
      expect(statSync(`${REPOSITORY}/${file}`).isFile()).toBe(true);
      expect(parseFlags(table, { argv, environment: {}, takesPaths: false })).not.toHaveProperty('problem');
    });

    it('both look for the same objects', () => {
      const place = { namespace: release.namespace, release: prefixOf(release) };
      const operator = valuesOf(OPERATOR_FLAGS, release, 'operator');
      expect(operator).toMatchObject(place);
      expect(valuesOf(GATEWAY_FLAGS, release, 'gateway')).toMatchObject({
        ...place,
        'max-shards': operator['max-shards'],
      });
    });

    it('no kubelet writes a Service into their environment, where it would be read as a flag', () => {
      for (const component of ['operator', 'gateway']) {
        expect(podSpecOf(render(release), `${prefixOf(release)}-${component}`).enableServiceLinks).toBe(false);
      }
    });
  });
});

describeHelm('the defaults of the chart', () => {
  it('are those of the gateway', () => {
    const {
      namespace: _namespace,
      release: _release,
      'operator-url': operatorUrl,
      replicas,
      ...given
    } = valuesOf(GATEWAY_FLAGS, MATRIX.defaults, 'gateway');
    expect(replicas).toBe(20);
    expect(operatorUrl).toBe('http://demo-operator.gw:8789');
    const parsed = parseFlags(GATEWAY_FLAGS, { argv: [], environment: {}, takesPaths: false });
    expect(parsed).toMatchObject({ values: given });
  });

  it('are those of the operator', () => {
    const given = valuesOf(OPERATOR_FLAGS, MATRIX.defaults, 'operator');
    const parsed = parseFlags(OPERATOR_FLAGS, { argv: [], environment: {}, takesPaths: false });
    const own = ['namespace', 'release', 'gateway-service', 'lease'];
    const rest = Object.fromEntries(Object.entries(given).filter(([flag]) => !own.includes(flag)));
    expect(parsed).toMatchObject({ values: rest });
    expect(given).toMatchObject({ 'gateway-service': 'demo-gateway', lease: 'demo-operator' });
  });
});

describeHelm('what is set', () => {
  it('arrives at the operator', () => {
    expect(valuesOf(OPERATOR_FLAGS, MATRIX.everything, 'operator')).toMatchObject({
      'organisation-namespace': 'shared',
      'request-host': ['https://llm.example:8443', 'http://[fd00::1]:8000'],
      'max-shards': 4,
      'admin-host': '::',
      'log-level': 'debug',
      'api-key-prefix': 'acme-',
      'user-api-key-rotation-period': 'monthly',
      'user-api-key-ttl-days': 90,
      'alert-webhook': 'https://alerts.example:8443/hook?team=a',
    });
    expect(valuesOf(OPERATOR_FLAGS, MATRIX['named namespaces'], 'operator')['watch-namespace']).toEqual([
      'team-a',
      'team-b',
      'gw',
    ]);
  });

  it('arrives at the gateway', () => {
    expect(valuesOf(GATEWAY_FLAGS, MATRIX.everything, 'gateway')).toMatchObject({
      host: '::',
      'admin-host': '::',
      'grace-ms': 10_000,
      'drain-ms': 600_000,
      'max-shards': 4,
      'no-api-watch': false,
      replicas: 50,
      store: {
        kind: 'sentinel',
        isTls: true,
        nodes: [
          { host: 'one.cache', port: 26379 },
          { host: 'fd00:1::9', port: 26380 },
        ],
        master: 'master',
        username: 'limits',
        password: undefined,
      },
      'store-timeout-ms': 40,
      'cache-bytes': 134_217_728,
      'embedding-model': { slug: 'embedder', model: 'text-embedding-3-small' },
    });
    expect(valuesOf(GATEWAY_FLAGS, MATRIX['a store without secrets'], 'gateway')).toMatchObject({
      store: { kind: 'single', isTls: false, nodes: [{ host: 'redis.cache', port: 6379 }], database: 2 },
      'store-password-file': undefined,
      'store-ca-file': undefined,
      'store-timeout-ms': 25,
    });
    expect(valuesOf(GATEWAY_FLAGS, MATRIX.minimal, 'gateway').replicas).toBe(1);
    expect(valuesOf(GATEWAY_FLAGS, MATRIX['no token'], 'gateway')['no-api-watch']).toBe(true);
  });
});
