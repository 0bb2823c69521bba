/** Who may talk to whom. */
import { describe, expect, it } from 'vitest';
import { describeHelm } from './describe-helm.ts';
import { type Release, render } from './helm.ts';
import { ofKind, podTemplates } from './manifest.ts';
import { MATRIX, prefixOf } from './matrix.ts';
import { isAllowed, type Other, type Traffic } from './traffic.ts';

type Row = readonly [title: string, traffic: Traffic, expected: boolean];

function labelsOf(release: Release, component: string): Readonly<Record<string, string>> {
  const name = `${prefixOf(release)}-${component}`;
  return podTemplates(render(release)).find(([id]) => id.endsWith(`/${name}`))?.[1].metadata.labels ?? {};
}

function pod(release: Release, component: string, namespace = release.namespace): Other {
  return { pod: labelsOf(release, component), namespace };
}

const stranger: Other = { pod: { app: 'shop' }, namespace: 'shop' };
const neighbour: Other = { pod: { app: 'shop' }, namespace: 'gw' };
const prometheus: Other = { pod: { app: 'prometheus' }, namespace: 'monitoring' };

function check(release: Release, component: string, direction: 'ingress' | 'egress', rows: readonly Row[]): void {
  it.each(rows)('%s', (_title, traffic, expected) => {
    const labels = labelsOf(release, component);
    expect(labels).not.toEqual({});
    expect(isAllowed(render(release), labels, direction, traffic)).toBe(expected);
  });
}

describeHelm('by default', () => {
  const release = MATRIX.defaults;

  describe('a gateway takes', () => {
    check(release, 'gateway', 'ingress', [
      ['calls of the API from pods', { other: stranger, port: 8787 }, true],
      ['calls of the API from outside', { other: { ip: '203.0.113.9' }, port: 8787 }, true],
      ['the operator at its admin port', { other: pod(release, 'operator'), port: 8788 }, true],
      ['nobody else there', { other: neighbour, port: 8788 }, false],
      ['nobody from outside there', { other: { ip: '203.0.113.9' }, port: 8788 }, false],
      ['no other gateway there', { other: pod(release, 'gateway'), port: 8788 }, false],
      ['an operator of another namespace', { other: pod(release, 'operator', 'x'), port: 8788 }, false],
      ['nothing at another port', { other: stranger, port: 9229 }, false],
    ]);
  });

  describe('a gateway reaches', () => {
    check(release, 'gateway', 'egress', [
      ['providers', { other: { ip: '203.0.113.9' }, port: 443 }, true],
      ['providers at any port', { other: { ip: '203.0.113.9' }, port: 8443 }, true],
      ['providers over IPv6', { other: { ip: '2001:db8::1' }, port: 443 }, true],
      ['models in the cluster', { other: { pod: { app: 'llm' }, namespace: 'llm' }, port: 8000 }, true],
      ['models in a private network', { other: { ip: '10.1.2.3' }, port: 8000 }, true],
      ['name servers', { other: { ip: '10.96.0.10' }, port: 53, protocol: 'UDP' }, true],
      ['name servers on the node', { other: { ip: '169.254.20.10' }, port: 53, protocol: 'UDP' }, true],
      ['no metadata service', { other: { ip: '169.254.169.254' }, port: 80 }, false],
      ['no metadata service over TLS', { other: { ip: '169.254.169.254' }, port: 443 }, false],
      ['no agent of a node', { other: { ip: '169.254.170.2' }, port: 6443 }, false],
      ['no metadata service over IPv6', { other: { ip: 'fd00:ec2::254' }, port: 80 }, false],
      ['no link-local address', { other: { ip: 'fe80::1' }, port: 443 }, false],
      ['no wire server', { other: { ip: '168.63.129.16' }, port: 80 }, false],
    ]);
  });

  describe('an operator', () => {
    check(release, 'operator', 'ingress', [
      ['takes nothing from pods', { other: neighbour, port: 8788 }, false],
      ['takes the control plane from gateways', { other: pod(release, 'gateway'), port: 8789 }, true],
      ['takes nothing else from gateways', { other: pod(release, 'gateway'), port: 8788 }, false],
      ['takes the control plane from nobody else', { other: neighbour, port: 8789 }, false],
      ['takes it from no gateway of another namespace', { other: pod(release, 'gateway', 'x'), port: 8789 }, false],
      ['takes nothing from outside', { other: { ip: '203.0.113.9' }, port: 8788 }, false],
    ]);
    check(release, 'operator', 'egress', [
      ['reaches the API server', { other: { ip: '192.0.2.10' }, port: 6443 }, true],
      ['reaches gateways', { other: pod(release, 'gateway'), port: 8788 }, true],
      ['reaches no other pod', { other: stranger, port: 8788 }, false],
      ['reaches no metadata service', { other: { ip: '169.254.169.254' }, port: 80 }, false],
      ['reaches no plain port outside', { other: { ip: '203.0.113.9' }, port: 80 }, false],
      ['reaches no webhook, as there is none', { other: { ip: '203.0.113.9' }, port: 8443 }, false],
    ]);
  });
});

describeHelm('with everything set', () => {
  const release = MATRIX.everything;

  describe('a gateway takes', () => {
    check(release, 'gateway', 'ingress', [
      ['calls of those who are named', { other: { pod: {}, namespace: 'team-a' }, port: 8787 }, true],
      ['calls of nobody else', { other: stranger, port: 8787 }, false],
      ['the test of helm', { other: pod(release, 'test'), port: 8787 }, true],
      ['monitoring', { other: prometheus, port: 8788 }, true],
      ['no call of monitoring', { other: prometheus, port: 8787 }, false],
    ]);
  });

  describe('a gateway reaches', () => {
    check(release, 'gateway', 'egress', [
      ['providers', { other: { ip: '203.0.113.9' }, port: 443 }, true],
      ['no address of the cluster', { other: { ip: '10.1.2.3' }, port: 443 }, false],
      ['no IPv6 address of the cluster', { other: { ip: 'fd00:1::5' }, port: 443 }, false],
      ['no pod', { other: { pod: { app: 'shop' }, namespace: 'shop' }, port: 8000 }, false],
      ['what is named besides', { other: { pod: { app: 'llm' }, namespace: 'llm' }, port: 8000 }, true],
      ['that at no other port', { other: { pod: { app: 'llm' }, namespace: 'llm' }, port: 22 }, false],
      ['the store', { other: { pod: { app: 'redis' }, namespace: 'cache' }, port: 6379 }, true],
      ['the sentinels', { other: { pod: { app: 'redis' }, namespace: 'cache' }, port: 26380 }, true],
      ['nothing else where the store is', { other: { pod: { app: 'redis' }, namespace: 'cache' }, port: 80 }, false],
      ['no store of others', { other: { pod: { app: 'redis' }, namespace: 'shop' }, port: 6379 }, false],
      ['the operator for the control plane', { other: pod(release, 'operator'), port: 8789 }, true],
      ['the operator for nothing else', { other: pod(release, 'operator'), port: 8788 }, false],
      ['the API server', { other: { ip: '192.0.2.10' }, port: 6443 }, true],
      ['the API server over IPv6', { other: { ip: 'fd00:1::10' }, port: 6443 }, true],
      ['name servers', { other: { ip: '10.96.0.10' }, port: 53, protocol: 'TCP' }, true],
    ]);
  });

  describe('an operator', () => {
    check(release, 'operator', 'ingress', [['takes monitoring', { other: prometheus, port: 8788 }, true]]);
    check(release, 'operator', 'egress', [
      ['reaches the API server', { other: { ip: '192.0.2.10' }, port: 6443 }, true],
      ['reaches nothing else outside', { other: { ip: '192.0.2.11' }, port: 6443 }, false],
      ['reaches the webhook of alerts', { other: { ip: '203.0.113.9' }, port: 8443 }, true],
      ['reaches no other port there', { other: { ip: '203.0.113.9' }, port: 443 }, false],
      ['reaches no address of the cluster for it', { other: { ip: '10.1.2.3' }, port: 8443 }, false],
      ['reaches no metadata service for it', { other: { ip: '169.254.169.254' }, port: 8443 }, false],
    ]);
  });
});

describeHelm('where alerts are posted', () => {
  const posting = (url: string): Release => ({ name: 'demo', namespace: 'gw', values: { alertWebhook: { url } } });
  const outside = (port: number): Traffic => ({ other: { ip: '203.0.113.9' }, port });

  describe('an operator reaches', () => {
    check(MATRIX['a store without secrets'], 'operator', 'egress', [
      ['a webhook that a Secret names', outside(443), true],
    ]);
    check(posting('http://alerts.example/a:1/b'), 'operator', 'egress', [
      ['a plain one', outside(80), true],
      ['it at no port of its path', outside(1), false],
    ]);
    check(posting('http://alerts.ops:9093/'), 'operator', 'egress', [
      ['one in the cluster', { other: { pod: { app: 'alerts' }, namespace: 'ops' }, port: 9093 }, true],
    ]);
  });
});

describeHelm('without a token', () => {
  const values = { gateway: { apiWatch: false }, networkPolicy: { egress: { clusterCidrs: ['10.0.0.0/8'] } } };

  describe('a gateway', () => {
    check({ name: 'demo', namespace: 'gw', values }, 'gateway', 'egress', [
      ['does not reach the API server', { other: { ip: '10.96.0.1' }, port: 443 }, false],
      ['reaches providers', { other: { ip: '203.0.113.9' }, port: 443 }, true],
    ]);
  });
});

describeHelm('where no policy is asked for', () => {
  it('there is none', () => expect(ofKind(render(MATRIX.minimal), 'NetworkPolicy')).toEqual([]));
});
