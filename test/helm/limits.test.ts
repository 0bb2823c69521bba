/** What the containers are given of a store of limits, and of those who are told of budgets. */
import { describe, expect, it } from 'vitest';
import { environmentName } from '#crds/command/parse-flags.ts';
import { describeHelm } from './describe-helm.ts';
import { type Release, render } from './helm.ts';
import { at, podSpecOf } from './manifest.ts';
import { CASES, MATRIX, prefixOf } from './matrix.ts';

function specOf(release: Release, component: string) {
  return podSpecOf(render(release), `${prefixOf(release)}-${component}`);
}

function argsOf(release: Release, component: string): readonly string[] {
  return specOf(release, component).containers[0]?.args ?? [];
}

/** Where a file of the store lies, by the Secret's name and key; undefined where it is not mounted. */
function mountedAt(release: Release, name: string, key: string): string | undefined {
  const { containers, volumes = [] } = specOf(release, 'gateway');
  for (const volume of volumes) {
    const sources = at<{ secret?: { name: string; items: { key: string; path: string }[] } }[]>(
      volume,
      'projected.sources',
    );
    const item = sources?.find(({ secret }) => secret?.name === name)?.secret?.items.find((one) => one.key === key);
    const mount = containers[0]?.volumeMounts?.find((one) => one.name === volume.name);
    if (item !== undefined && mount?.readOnly === true) return `${mount.mountPath}/${item.path}`;
  }
  return undefined;
}

describeHelm('the secrets of a store', () => {
  it('lie where the gateway is told that they are', () => {
    const args = argsOf(MATRIX.everything, 'gateway');
    const password = mountedAt(MATRIX.everything, 'store', 'store-password');
    const authority = mountedAt(MATRIX.everything, 'authority', 'authority.pem');
    expect(password).toBeDefined();
    expect(authority).toBeDefined();
    expect(args).toContain(`--store-password-file=${password}`);
    expect(args).toContain(`--store-ca-file=${authority}`);
    const keys = mountedAt(MATRIX.everything, 'cache', 'cache-keys');
    expect(keys).toBeDefined();
    expect(args).toContain(`--cache-key-file=${keys}`);
  });

  it('can be one without the other', () => {
    const store = { url: 'rediss://redis', caSecret: { name: 'authority' } };
    const release = { name: 'demo', namespace: 'gw', values: { store } };
    expect(argsOf(release, 'gateway')).toContain(`--store-ca-file=${mountedAt(release, 'authority', 'ca.crt')}`);
    expect(argsOf(release, 'gateway').filter((arg) => arg.includes('password'))).toEqual([]);
  });

  it.each(CASES)('are nowhere mounted where there are none: %s', (title, release) => {
    const names = specOf(release, 'gateway').volumes?.map(({ name }) => name) ?? [];
    expect(names.includes('store')).toBe(title === 'everything');
  });

  it.each(CASES)('are none of the operator’s: %s', (_title, release) => {
    expect(JSON.stringify(specOf(release, 'operator'))).not.toMatch(/--(store|cache)-/);
  });
});

describeHelm('a webhook', () => {
  const release = MATRIX['a store without secrets'];

  it('whose URL is in a Secret is read from there, by the variable of its flag', () => {
    const { containers } = specOf(release, 'operator');
    expect(containers[0]?.env).toEqual([
      { name: environmentName('alert-webhook'), valueFrom: { secretKeyRef: { name: 'alerts', key: 'url' } } },
    ]);
    expect(argsOf(release, 'operator').filter((arg) => arg.includes('webhook'))).toEqual([]);
  });

  it('is beside what else the environment holds', () => {
    const values = {
      alertWebhook: { secret: { name: 'alerts' } },
      operator: { extraEnv: [{ name: 'A', value: 'b' }] },
    };
    const { containers } = specOf({ name: 'demo', namespace: 'gw', values }, 'operator');
    expect(containers[0]?.env?.map(({ name }) => name)).toEqual([environmentName('alert-webhook'), 'A']);
  });

  it('is not looked for by gateways', () => {
    expect(JSON.stringify(specOf(release, 'gateway'))).not.toContain('alerts');
  });
});

describe('what all gateways need to count alone', () => {
  describeHelm('is how many there may be', () => {
    it.each([
      ['as the autoscaler may make', { autoscaling: { maxReplicas: 7 } }, 7],
      ['as there are', { autoscaling: { enabled: false }, replicas: 4 }, 4],
    ])('%s', (_title, gateway, replicas) => {
      const release = { name: 'demo', namespace: 'gw', values: { gateway } };
      expect(argsOf(release, 'gateway')).toContain(`--replicas=${replicas}`);
    });
  });
});
