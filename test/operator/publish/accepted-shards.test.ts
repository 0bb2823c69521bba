/** What operators keep for later operators: the last accepted version of every object. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { Packer } from '#crds/snapshot/packer.ts';
import type { LastGood } from '#operator/compile/elect.ts';
import { decodeAccepted, encodeAccepted as encode } from '#operator/publish/accepted-shards.ts';
import { identityOf, type Manifest } from '#operator/world.ts';

function manifest(name: string, more: Partial<Manifest> & { readonly spec?: unknown } = {}): Manifest {
  const { spec = { provider: 'simulator' }, ...rest } = more;
  const metadata = {
    name,
    namespace: 'team-a',
    uid: `uid-${name}`,
    resourceVersion: '77',
    labels: { app: 'x' },
    annotations: { 'modelgateway.dev/default': 'true', 'kubectl.kubernetes.io/last-applied-configuration': '{}' },
  };
  return {
    kind: 'GatewayConfig',
    namespace: 'team-a',
    name,
    uid: `uid-${name}`,
    generation: 3,
    place: undefined,
    raw: { apiVersion: 'modelgateway.dev/v1alpha1', kind: 'GatewayConfig', metadata, spec, status: { conditions: [] } },
    ...rest,
  };
}

const encodeAccepted = (accepted: LastGood, maxShards: number) => encode(accepted, maxShards, new Packer());
const goodOf = (manifests: readonly Manifest[]): LastGood => new Map(manifests.map((one) => [identityOf(one), one]));
const sortedNames = (manifests: readonly Manifest[]) => manifests.map(({ name }) => name).sort();

describe('kept manifests', () => {
  it('come back with all that is judged of them, and nothing else', () => {
    const [back] = decodeAccepted(encodeAccepted(goodOf([manifest('chat')]), 4));
    expect(back).toEqual({
      kind: 'GatewayConfig',
      namespace: 'team-a',
      name: 'chat',
      uid: 'uid-chat',
      generation: 3,
      place: undefined,
      raw: {
        apiVersion: 'modelgateway.dev/v1alpha1',
        kind: 'GatewayConfig',
        metadata: { name: 'chat', namespace: 'team-a', annotations: { 'modelgateway.dev/default': 'true' } },
        spec: { provider: 'simulator' },
      },
    });
  });

  it('of any number and shape come back, each once, whatever their order was', () => {
    const names = fc.uniqueArray(fc.stringMatching(/^[a-z]{1,12}$/), { maxLength: 60 });
    fc.assert(
      fc.property(names, fc.jsonValue(), (some, spec) => {
        const manifests = some.map((name) => manifest(name, { spec: spec as object }));
        const shards = encodeAccepted(goodOf(manifests), 8);
        expect(sortedNames(decodeAccepted(shards))).toEqual([...some].sort());
        expect(encodeAccepted(goodOf([...manifests].reverse()), 8)).toEqual(shards);
      }),
    );
  });

  it('lie in more shards as they grow, up to the limit, and an edit changes one of them', () => {
    const large = Array.from({ length: 400 }, (_, index) =>
      manifest(`c-${index}`, { spec: { override_params: { text: String(index).repeat(4000) } } }),
    );
    const before = encodeAccepted(goodOf(large), 16);
    expect(before.length).toBe(16);
    expect(encodeAccepted(goodOf(large), 4)).toHaveLength(4);
    const edited = large.map((one, index) => (index === 7 ? manifest('c-7', { generation: 4 }) : one));
    const after = encodeAccepted(goodOf(edited), 16);
    const changed = after.filter((shard, index) => !Buffer.from(shard).equals(Buffer.from(before[index] ?? [])));
    expect(changed).toHaveLength(1);
  });

  it('that are damaged are an error, not an empty list', () => {
    expect(() => decodeAccepted([Buffer.from('no gzip')])).toThrow();
  });
});
