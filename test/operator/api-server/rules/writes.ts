/** Create, replace, merge, delete. */
import { CONFIG_MAPS, LEASES, SECRETS } from '#crds/api/api-object.ts';
import { configMap } from '../asking.ts';
import type { Rule } from '../server.ts';

const FINALIZER = { finalizers: ['modelgateway.dev/hold'] };
const DELETE = { kind: 'DeleteOptions', apiVersion: 'v1', propagationPolicy: 'Background' };
const manager = { query: { fieldManager: 'm' } };

export const WRITE_RULES: readonly Rule[] = [
  {
    name: 'what is created gets an identity, and the name is taken',
    run: async (a) => {
      const own = { labels: { l: '1' }, annotations: { a: '1' }, uid: 'mine', creationTimestamp: null };
      await a.create(CONFIG_MAPS, configMap('a', { x: '1' }, own), { fieldManager: 'm' });
      await a.read(CONFIG_MAPS, 'a');
      await a.create(CONFIG_MAPS, configMap('a', { x: '2' }));
      await a.create(CONFIG_MAPS, configMap('b', {}, { resourceVersion: '1' }));
    },
  },
  {
    name: 'a name may be made up by the server',
    run: async (a) => {
      const made = await a
        .create(CONFIG_MAPS, { metadata: { generateName: 'made-', labels: { made: 'x' } } })
        .finally(() => a.lines.pop());
      a.note(`${made.metadata.name.startsWith('made-')} ${made.metadata.name.length} ${made.metadata['generateName']}`);
    },
  },
  {
    name: 'nothing is created in a namespace that is not there',
    run: async (a) => {
      const body = JSON.stringify(configMap('a'));
      await a.send({
        method: 'POST',
        path: '/api/v1/namespaces/nowhere/configmaps',
        contentType: 'application/json',
        body,
      });
      await a.send({ method: 'POST', path: '/api/v1/configmaps', contentType: 'application/json', body });
      await a.send({ method: 'GET', path: '/api/v1/namespaces/nowhere/configmaps/a' });
      await a.send({ method: 'GET', path: '/api/v1/namespaces/nowhere/configmaps' });
      await a.send({ method: 'DELETE', path: '/api/v1/namespaces/nowhere/configmaps/a' });
      await a.apply(CONFIG_MAPS, configMap('a'), 'm', { namespace: 'nowhere' });
    },
  },
  {
    name: 'what is not there',
    run: async (a) => {
      await a.read(CONFIG_MAPS, 'a');
      await a.replace(CONFIG_MAPS, 'a', configMap('a'));
      await a.merge(CONFIG_MAPS, 'a', { data: { x: '1' } });
      await a.remove(CONFIG_MAPS, 'a');
      await a.list({ apiVersion: 'v1', kind: 'Nothing', plural: 'nothings' });
      await a.list({ apiVersion: 'modelgateway.dev/v9', kind: 'Nothing', plural: 'apikeys' });
    },
  },
  {
    name: 'a body must be of the kind and the place',
    run: async (a) => {
      await a.create(CONFIG_MAPS, { apiVersion: 'v1', kind: 'Secret', metadata: { name: 'a' } });
      await a.create(CONFIG_MAPS, { apiVersion: 'v2', kind: 'ConfigMap', metadata: { name: 'a' } });
      await a.create(CONFIG_MAPS, configMap('a', {}, { namespace: 'another' }));
      await a.create(CONFIG_MAPS, configMap('a'));
      await a.replace(CONFIG_MAPS, 'a', configMap('b'));
      await a.replace(CONFIG_MAPS, 'a', { metadata: {} });
      const path = `/api/v1/namespaces/${a.namespace}/configmaps`;
      await a.send({ method: 'POST', path, contentType: 'application/json', body: '{"a' });
      await a.send({ method: 'POST', path, contentType: 'text/csv', body: '{}' });
    },
  },
  {
    name: 'a field of another type is not read',
    run: async (a) => {
      await a.create(CONFIG_MAPS, { metadata: { name: 'a' }, data: { x: 1 } });
      await a.create(CONFIG_MAPS, { metadata: { name: 'a', labels: { l: 1 } } });
      await a.create(CONFIG_MAPS, { metadata: { name: 'a' }, data: ['x'] });
      await a.create(CONFIG_MAPS, { metadata: { name: 'a' }, binaryData: { x: '!' } });
    },
  },
  {
    name: 'names, keys, labels and sizes are checked',
    run: async (a) => {
      for (const name of ['A', 'a_b', '-a', 'a'.repeat(254), '']) await a.create(CONFIG_MAPS, configMap(name));
      await a.create(CONFIG_MAPS, configMap('a', { 'no/path': '1' }));
      await a.create(CONFIG_MAPS, configMap('a', { '..': '1' }));
      await a.create(CONFIG_MAPS, configMap('a', { large: 'x'.repeat(1_048_577) }));
      await a.create(CONFIG_MAPS, configMap('a', {}, { labels: { 'no label!': '1' } }));
      await a.create(CONFIG_MAPS, configMap('a', {}, { labels: { l: 'no value!' } }));
      await a.create(CONFIG_MAPS, configMap('a', {}, { annotations: { 'no key!': '1' } }));
      await a.create(CONFIG_MAPS, configMap('a', {}, { finalizers: ['unqualified'] }));
    },
  },
  {
    name: 'an unknown field is told, refused, or left out, as it was asked',
    run: async (a) => {
      for (const fieldValidation of ['Strict', 'Warn', 'Ignore']) {
        const name = fieldValidation.toLowerCase();
        await a.create(CONFIG_MAPS, { ...configMap(name), spec: { x: 1 } }, { fieldValidation });
      }
      await a.create(CONFIG_MAPS, { ...configMap('default'), spec: 1 });
    },
  },
  {
    name: 'a replacement names the version that it replaces',
    run: async (a) => {
      const first = await a.create(CONFIG_MAPS, configMap('a', { x: '1' }), { fieldManager: 'm' });
      const { resourceVersion, uid } = first.metadata;
      await a.replace(CONFIG_MAPS, 'a', configMap('a', { x: '2' }, { resourceVersion }), manager);
      await a.replace(CONFIG_MAPS, 'a', configMap('a', { x: '3' }, { resourceVersion }), manager);
      await a.replace(CONFIG_MAPS, 'a', configMap('a', { x: '3' }, { resourceVersion: 'x' }), manager);
      await a.replace(CONFIG_MAPS, 'a', configMap('a', { x: '4' }), manager);
      await a.replace(CONFIG_MAPS, 'a', configMap('a', { x: '5' }, { uid: 'another' }), manager);
      await a.replace(CONFIG_MAPS, 'a', configMap('a', { x: '6' }, { uid }), manager);
      await a.replace(CONFIG_MAPS, 'a', configMap('a', { x: '6' }, { uid }), manager);
    },
  },
  {
    name: 'whose uid is another is another object',
    run: async (a) => {
      const old = await a.create(CONFIG_MAPS, configMap('a', { x: '1' }));
      await a.remove(CONFIG_MAPS, 'a');
      await a.create(CONFIG_MAPS, configMap('a', { x: '2' }));
      await a.replace(CONFIG_MAPS, 'a', configMap('a', { x: '3' }, { uid: old.metadata.uid }));
      await a.replace(CONFIG_MAPS, 'a', { ...old });
      await a.merge(CONFIG_MAPS, 'a', { metadata: { uid: old.metadata.uid }, data: { x: '3' } });
      await a.apply(CONFIG_MAPS, configMap('a', { x: '3' }, { uid: old.metadata.uid }), 'm', {
        query: { force: true },
      });
      await a.remove(CONFIG_MAPS, 'a', { ...DELETE, preconditions: { uid: old.metadata.uid } });
      await a.read(CONFIG_MAPS, 'a');
    },
  },
  {
    name: 'a merge patch sets, takes away, and replaces lists',
    run: async (a) => {
      const object = configMap('a', { x: '1', y: '1' }, { labels: { l: '1' }, ...FINALIZER });
      const { metadata } = await a.create(CONFIG_MAPS, object, { fieldManager: 'm' });
      await a.merge(CONFIG_MAPS, 'a', { data: { x: null, z: '1' } }, { query: { fieldManager: 'n' } });
      await a.merge(CONFIG_MAPS, 'a', { data: { z: '1' } }, { query: { fieldManager: 'n' } });
      await a.merge(CONFIG_MAPS, 'a', { data: null }, { query: { fieldManager: 'n' } });
      await a.merge(CONFIG_MAPS, 'a', { metadata: { resourceVersion: metadata.resourceVersion }, data: { w: '1' } });
      await a.merge(CONFIG_MAPS, 'a', { metadata: { name: 'b' } });
      await a.merge(CONFIG_MAPS, 'a', { metadata: { labels: null, finalizers: [] } });
      await a.merge(CONFIG_MAPS, 'a', []);
      await a.merge(CONFIG_MAPS, 'a', { data: { x: 1 } });
    },
  },
  {
    name: 'a deletion means what it says',
    run: async (a) => {
      const { metadata } = await a.create(CONFIG_MAPS, configMap('a'));
      const { uid, resourceVersion } = metadata;
      await a.merge(CONFIG_MAPS, 'a', { data: { x: '1' } });
      await a.remove(CONFIG_MAPS, 'a', { ...DELETE, preconditions: { uid: 'another' } });
      await a.remove(CONFIG_MAPS, 'a', { ...DELETE, preconditions: { resourceVersion } });
      await a.remove(CONFIG_MAPS, 'a', { ...DELETE, preconditions: { uid } });
      await a.read(CONFIG_MAPS, 'a');
      await a.remove(CONFIG_MAPS, 'a', { ...DELETE, preconditions: { uid } });
      await a.create(CONFIG_MAPS, configMap('b'));
      await a.remove(CONFIG_MAPS, 'b');
    },
  },
  {
    name: 'what has a finalizer is marked, and goes with it',
    run: async (a) => {
      await a.create(CONFIG_MAPS, configMap('a', {}, FINALIZER), { fieldManager: 'm' });
      await a.remove(CONFIG_MAPS, 'a', DELETE);
      await a.read(CONFIG_MAPS, 'a');
      await a.remove(CONFIG_MAPS, 'a', DELETE);
      await a.create(CONFIG_MAPS, configMap('a'));
      await a.merge(CONFIG_MAPS, 'a', { data: { still: 'here' } }, manager);
      await a.merge(CONFIG_MAPS, 'a', { metadata: { finalizers: ['modelgateway.dev/hold', 'modelgateway.dev/new'] } });
      await a.merge(CONFIG_MAPS, 'a', { metadata: { finalizers: null } }, manager);
      await a.read(CONFIG_MAPS, 'a');
      await a.create(CONFIG_MAPS, configMap('a'));
    },
  },
  {
    name: 'owners are stored as they are named',
    run: async (a) => {
      const owner = { apiVersion: 'v1', kind: 'ConfigMap', name: 'owner', uid: '3b7c1d3e-0000-4000-8000-000000000000' };
      await a.create(CONFIG_MAPS, configMap('a', {}, { ownerReferences: [owner] }));
      const full = { ...owner, controller: true, blockOwnerDeletion: false };
      await a.apply(CONFIG_MAPS, configMap('b', {}, { ownerReferences: [full] }), 'm');
      await a.create(CONFIG_MAPS, configMap('c', {}, { ownerReferences: [{ ...owner, uid: '' }] }));
      await a.create(CONFIG_MAPS, configMap('c', {}, { ownerReferences: [{ ...full }, { ...full, uid: 'other' }] }));
    },
  },
  {
    name: 'an immutable object stays as it is',
    run: async (a) => {
      await a.create(CONFIG_MAPS, { ...configMap('a', { x: '1' }), immutable: true });
      await a.merge(CONFIG_MAPS, 'a', { data: { x: '2' } });
      await a.merge(CONFIG_MAPS, 'a', { immutable: null });
      await a.merge(CONFIG_MAPS, 'a', { metadata: { labels: { l: '1' } } });
    },
  },
  {
    name: 'Secrets store what is written plainly in base64',
    run: async (a) => {
      const stringData = { plain: 'ä', both: 'plain wins' };
      await a.create(SECRETS, { metadata: { name: 'a' }, data: { both: 'eA==', kept: 'eA==' }, stringData });
      await a.merge(SECRETS, 'a', { stringData: { plain: 'b' }, data: { kept: null } });
      await a.merge(SECRETS, 'a', { type: 'another' });
      await a.create(SECRETS, { metadata: { name: 'b' }, data: { bad: '?' } });
      await a.create(SECRETS, { metadata: { name: 'b' } });
      await a.apply(SECRETS, { metadata: { name: 'c' }, stringData: { x: '1' } }, 'm');
      await a.apply(SECRETS, { metadata: { name: 'c' }, data: { x: 'MQ==' } }, 'm');
      await a.create(SECRETS, { metadata: { name: 'd' }, stringData: { large: 'x'.repeat(1_048_577) } });
      await a.create(SECRETS, {
        metadata: { name: 'e' },
        type: 'kubernetes.io/basic-auth',
        stringData: { password: 'x' },
      });
    },
  },
  {
    name: 'a Lease is replaced only as the version that was read',
    run: async (a) => {
      const at = (second: number) => `2026-01-01T00:00:0${second}.000000Z`;
      const spec = {
        holderIdentity: 'one',
        leaseDurationSeconds: 15,
        acquireTime: at(1),
        renewTime: at(1),
        leaseTransitions: 0,
      };
      const lease = (renewed: object, metadata: object = {}) => ({
        metadata: { name: 'a', ...metadata },
        spec: { ...spec, ...renewed },
      });
      const { metadata } = await a.create(LEASES, lease({}), { fieldManager: 'm' });
      const { resourceVersion } = metadata;
      await a.replace(LEASES, 'a', lease({ renewTime: at(2) }, { resourceVersion }), manager);
      await a.replace(LEASES, 'a', lease({ renewTime: at(3) }, { resourceVersion }), manager);
      await a.replace(LEASES, 'a', lease({ renewTime: at(3) }), manager);
      await a.replace(LEASES, 'a', lease({}, { uid: 'another' }), manager);
      await a.create(LEASES, { metadata: { name: 'b' }, spec: { leaseDurationSeconds: 0, leaseTransitions: -1 } });
      await a.create(LEASES, { metadata: { name: 'b' }, spec: { renewTime: '2026-01-01T00:00:00Z' } });
      await a.create(LEASES, { metadata: { name: 'b' } });
      await a.replace(LEASES, 'new', { metadata: { name: 'new' }, spec: { holderIdentity: 'two' } });
    },
  },
];
