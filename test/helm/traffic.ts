/** What NetworkPolicies let through: as the API's documentation has it, for pods and addresses. */
import { BlockList, isIPv6 } from 'node:net';
import { at, type Manifest, ofKind, selects } from './manifest.ts';

type Labels = Readonly<Record<string, string>>;
interface Selector {
  readonly matchLabels?: Labels;
}

export interface Peer {
  readonly ipBlock?: { readonly cidr: string; readonly except?: readonly string[] };
  readonly podSelector?: Selector;
  readonly namespaceSelector?: Selector;
}

interface Rule {
  readonly ports?: readonly { readonly port: number; readonly protocol?: string }[];
  readonly from?: readonly Peer[];
  readonly to?: readonly Peer[];
}

/** The other end: a pod of the cluster, or an address outside. */
export type Other =
  | { readonly pod: Labels; readonly namespace: string; readonly ip?: never }
  | { readonly ip: string; readonly pod?: never };

export interface Traffic {
  readonly other: Other;
  readonly port: number;
  readonly protocol?: 'TCP' | 'UDP';
}

function isWithin(ip: string, cidr: string): boolean {
  const [address = '', bits = ''] = cidr.split('/');
  const family = isIPv6(address) ? 'ipv6' : 'ipv4';
  if (isIPv6(ip) !== isIPv6(address)) return false;
  const list = new BlockList();
  list.addSubnet(address, Number(bits), family);
  return list.check(ip, family);
}

function matches({ ipBlock, podSelector, namespaceSelector }: Peer, other: Other, own: string): boolean {
  if (other.ip !== undefined) {
    if (ipBlock === undefined || !isWithin(other.ip, ipBlock.cidr)) return false;
    return !(ipBlock.except ?? []).some((range) => isWithin(other.ip, range));
  }
  if (ipBlock !== undefined) return false;
  const namespace = { 'kubernetes.io/metadata.name': other.namespace };
  const isNear =
    namespaceSelector === undefined ? other.namespace === own : selects(namespaceSelector.matchLabels ?? {}, namespace);
  return isNear && selects(podSelector?.matchLabels ?? {}, other.pod);
}

function lets(rule: Rule, { other, port, protocol = 'TCP' }: Traffic, own: string): boolean {
  const { ports, from, to } = rule;
  if (ports !== undefined && !ports.some((row) => row.port === port && (row.protocol ?? 'TCP') === protocol)) {
    return false;
  }
  const peers = from ?? to ?? [];
  return peers.length === 0 || peers.some((peer) => matches(peer, other, own));
}

/** Whether pods with these labels may take (`ingress`) or make (`egress`) a connection. */
export function isAllowed(
  objects: readonly Manifest[],
  pod: Labels,
  direction: 'ingress' | 'egress',
  traffic: Traffic,
): boolean {
  const type = direction === 'ingress' ? 'Ingress' : 'Egress';
  const policies = ofKind(objects, 'NetworkPolicy').filter(
    (policy) =>
      selects(at(policy, 'spec.podSelector.matchLabels') ?? {}, pod) &&
      at<string[]>(policy, 'spec.policyTypes')?.includes(type),
  );
  if (policies.length === 0) return true;
  return policies.some((policy) =>
    (at<Rule[]>(policy, `spec.${direction}`) ?? []).some((rule) =>
      lets(rule, traffic, policy.metadata.namespace ?? ''),
    ),
  );
}
