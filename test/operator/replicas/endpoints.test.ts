import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { ApiObject } from '#crds/api/api-object.ts';
import { allEndpointsOf, endpointsOf } from '#operator/replicas/endpoints.ts';
import { type EndpointLine, type SlicePort, slice } from './slice-server.ts';

const said = (...slices: readonly ApiObject[]) =>
  endpointsOf(slices).map(({ name, address, port }) =>
    [name, address, port].filter((part) => part !== undefined).join(' '),
  );

describe('endpoints', () => {
  it.each<[string, EndpointLine, string[]]>([
    ['that is ready', { address: '10.0.0.1', pod: 'gw-1', ready: true }, ['gw-1 10.0.0.1']],
    ['that does not say so', { address: '10.0.0.1', pod: 'gw-1' }, ['gw-1 10.0.0.1']],
    ['that is not ready', { address: '10.0.0.1', pod: 'gw-1', ready: false }, []],
    ['that leaves', { address: '10.0.0.1', pod: 'gw-1', ready: true, terminating: true }, []],
    ['that is no pod', { address: '10.0.0.1', ready: true }, ['10.0.0.1 10.0.0.1']],
  ])('one %s', (_, line, expected) => {
    expect(said(slice('a', [line]))).toEqual(expected);
  });

  it('are all asked what they counted, those that are not ready or leave as well', () => {
    const lines = [
      { address: '10.0.0.1', pod: 'gw-1', ready: false },
      { address: '10.0.0.2', pod: 'gw-2', ready: true, terminating: true },
      { address: '10.0.0.3', pod: 'gw-3', ready: true },
    ];
    const slices = [slice('a', lines), slice('b', lines.slice(1))];
    expect(allEndpointsOf(slices).map(({ name }) => name)).toEqual(['gw-1', 'gw-2', 'gw-3']);
    expect(endpointsOf(slices).map(({ name }) => name)).toEqual(['gw-3']);
  });

  it('are in order of their names', () => {
    const lines = ['gw-3', 'gw-1', 'gw-2'].map((pod, index) => ({ address: `10.0.0.${index}`, pod }));
    expect(said(slice('a', lines))).toEqual(['gw-1 10.0.0.1', 'gw-2 10.0.0.2', 'gw-3 10.0.0.0']);
  });

  it('count once where two slices have them, as while they are rearranged', () => {
    const line = { address: '10.0.0.1', pod: 'gw-1', ready: true };
    expect(said(slice('a', [line]), slice('b', [line]))).toEqual(['gw-1 10.0.0.1']);
    expect(said(slice('a', [{ address: '10.0.0.1' }, { address: '10.0.0.1' }]))).toEqual(['10.0.0.1 10.0.0.1']);
  });

  it('are one for a pod of both families, and IPv6 where there is nothing else', () => {
    const v4 = slice('a', [{ address: '10.0.0.1', pod: 'gw-1' }]);
    const v6 = slice('b', [{ address: 'fd00::1', pod: 'gw-1' }], 'IPv6');
    expect(said(v6, v4)).toEqual(['gw-1 10.0.0.1']);
    expect(said(v6)).toEqual(['gw-1 fd00::1']);
  });

  it.each([
    ['host names', slice('a', [{ address: 'gw.example' }], 'FQDN')],
    ['no endpoints', { ...slice('a', []), endpoints: null }],
    ['an endpoint without address', { ...slice('a', []), endpoints: [{ addresses: [] }] }],
    ['something else', { ...slice('a', []), endpoints: 'none' }],
  ])('are not in a slice of %s, which hides no other', (_, odd) => {
    expect(said(odd, slice('b', [{ address: '10.0.0.1' }]))).toEqual(['10.0.0.1 10.0.0.1']);
  });

  it.each<[string, SlicePort[] | null | undefined, string]>([
    [
      'a port that is called admin',
      [
        { name: 'http', port: 8787 },
        { name: 'admin', port: 9000 },
      ],
      'gw-1 10.0.0.1 9000',
    ],
    ['ports of other names', [{ name: 'http', port: 8787 }, { name: null, port: 1 }, { port: 2 }], 'gw-1 10.0.0.1'],
    ['a port admin without a number, which means all', [{ name: 'admin', port: null }], 'gw-1 10.0.0.1'],
    ['no ports', [], 'gw-1 10.0.0.1'],
    ['null for ports', null, 'gw-1 10.0.0.1'],
    ['nothing about ports', undefined, 'gw-1 10.0.0.1'],
  ])('of a slice with %s', (_, ports, expected) => {
    expect(said(slice('a', [{ address: '10.0.0.1', pod: 'gw-1' }], 'IPv4', ports))).toEqual([expected]);
  });

  it('are several on one address where their slices differ in the port, with and without a pod', () => {
    const at = (name: string, port: number, pod?: string) =>
      slice(name, [{ address: '10.0.0.1', ...(pod === undefined ? {} : { pod }) }], 'IPv4', [{ name: 'admin', port }]);
    expect(said(at('a', 1, 'gw-1'), at('b', 2, 'gw-2'))).toEqual(['gw-1 10.0.0.1 1', 'gw-2 10.0.0.1 2']);
    expect(said(at('a', 1), at('b', 2), at('c', 1))).toEqual(['10.0.0.1 1 10.0.0.1 1', '10.0.0.1 2 10.0.0.1 2']);
  });

  it('are the same in whatever order slices come', () => {
    const line = fc.record({
      address: fc.constantFrom('10.0.0.1', '10.0.0.2', '10.0.0.3'),
      pod: fc.constantFrom('gw-1', 'gw-2'),
      ready: fc.boolean(),
    });
    const ports = fc.constantFrom(undefined, [{ name: 'admin', port: 1 }], [{ name: 'admin', port: 2 }]);
    const slices = fc.array(fc.tuple(fc.array(line, { maxLength: 4 }), ports), { minLength: 2, maxLength: 4 });
    fc.assert(
      fc.property(slices, (lists) => {
        const objects = lists.map(([lines, named], index) => slice(`s${index}`, lines, 'IPv4', named));
        expect(said(...objects.toReversed())).toEqual(said(...objects));
      }),
    );
  });
});
