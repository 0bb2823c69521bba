/** Events, EndpointSlices and Namespaces, as far as this project touches them. */
import { ENDPOINT_SLICES, EVENTS } from '#crds/api/api-object.ts';
import { NAMESPACES } from '../../../fakes/api-server/resources.ts';
import type { Asking, Json } from '../asking.ts';
import type { Rule } from '../server.ts';

const UID = '3b7c1d3e-0000-4000-8000-000000000000';
const at = '2026-01-01T00:00:00.000000Z';

function event(a: Asking, name: string, fields: Json = {}): Json {
  return {
    metadata: { name },
    eventTime: at,
    reportingController: 'modelgateway.dev/operator',
    reportingInstance: 'operator-0',
    type: 'Warning',
    reason: 'Refused',
    action: 'Compile',
    note: 'why',
    regarding: { apiVersion: 'v1', kind: 'ConfigMap', namespace: a.namespace, name: 'a', uid: UID },
    ...fields,
  };
}

const slice = (name: string, fields: Json = {}): Json => ({
  metadata: { name, labels: { 'kubernetes.io/service-name': 's' } },
  addressType: 'IPv4',
  endpoints: [{ addresses: ['10.1.2.3'], conditions: { ready: true }, targetRef: { kind: 'Pod', name: 'p' } }],
  ports: [{ name: 'http', port: 8787 }],
  ...fields,
});

export const BUILT_IN_RULES: readonly Rule[] = [
  {
    name: 'an Event is told once, then counted',
    run: async (a) => {
      await a.create(EVENTS, event(a, 'a'), { fieldManager: 'm' });
      await a.merge(EVENTS, 'a', { series: { count: 2, lastObservedTime: at } }, { query: { fieldManager: 'm' } });
      await a.merge(EVENTS, 'a', { series: { count: 3, lastObservedTime: at } }, { query: { fieldManager: 'm' } });
      await a.merge(EVENTS, 'a', { note: 'another' });
      await a.merge(EVENTS, 'gone', { series: { count: 2, lastObservedTime: at } });
      await a.read(EVENTS, 'a');
    },
  },
  {
    name: 'an Event must be whole',
    run: async (a) => {
      for (const field of ['eventTime', 'reportingController', 'reportingInstance', 'action', 'reason', 'type']) {
        await a.create(EVENTS, event(a, 'a', { [field]: undefined }));
      }
      await a.create(EVENTS, event(a, 'a', { type: 'Odd' }));
      await a.create(EVENTS, event(a, 'a', { note: 'x'.repeat(1_025) }));
      await a.create(EVENTS, event(a, 'a', { reason: 'x'.repeat(129) }));
      await a.create(EVENTS, event(a, 'a', { regarding: { apiVersion: 'v1', kind: 'Namespace', name: 'a' } }));
      const elsewhere = { apiVersion: 'v1', kind: 'ConfigMap', namespace: 'elsewhere', name: 'a' };
      await a.create(EVENTS, event(a, 'elsewhere', { regarding: elsewhere }));
      await a.create(EVENTS, event(a, 'a', { eventTime: 'now' }));
      await a.create(EVENTS, event(a, 'a', { series: { count: 1, lastObservedTime: at } }));
    },
  },
  {
    name: 'an EndpointSlice counts every change as a generation',
    run: async (a) => {
      await a.create(ENDPOINT_SLICES, slice('a'), { fieldManager: 'm' });
      const ports = [{ name: 'http', port: 80 }];
      await a.merge(ENDPOINT_SLICES, 'a', { ports }, { query: { fieldManager: 'm' } });
      await a.merge(ENDPOINT_SLICES, 'a', { metadata: { labels: { l: '1' } } }, { query: { fieldManager: 'm' } });
      await a.create(ENDPOINT_SLICES, { metadata: { name: 'b' }, addressType: 'IPv4' });
      const { endpoints } = await a.merge(ENDPOINT_SLICES, 'a', { endpoints: [] });
      a.lines.pop();
      a.note(`no endpoints are ${endpoints}`);
      await a.create(ENDPOINT_SLICES, slice('c', { addressType: undefined }));
      await a.create(ENDPOINT_SLICES, slice('c', { addressType: 'Odd' }));
      await a.create(ENDPOINT_SLICES, slice('c', { endpoints: [{ addresses: [] }] }));
      await a.merge(ENDPOINT_SLICES, 'a', { addressType: 'IPv6' });
    },
  },
  {
    name: 'a Namespace is active, and its name has no dots',
    run: async (a) => {
      const make = (name: string) => {
        const body = JSON.stringify({ metadata: { name } });
        return a.send({ method: 'POST', path: '/api/v1/namespaces', contentType: 'application/json', body });
      };
      await a.send({ method: 'GET', path: `/api/v1/namespaces/${a.namespace}` });
      await make(a.namespace);
      await make('a.b');
      await a.send({ method: 'GET', path: '/api/v1/namespaces/nowhere' });
      await a.list(NAMESPACES);
    },
  },
];
