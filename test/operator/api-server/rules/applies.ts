/** Server-side apply: who owns what. */
import { CONFIG_MAPS } from '#crds/api/api-object.ts';
import { configMap } from '../asking.ts';
import type { Rule } from '../server.ts';
import { API_KEYS, apiKey } from './custom.ts';

const force = { query: { force: true } };
const label = (labels: object) => ({ metadata: { name: 'a', labels } });

export const APPLY_RULES: readonly Rule[] = [
  {
    name: 'creates, and does nothing where nothing is new',
    run: async (a) => {
      await a.apply(CONFIG_MAPS, configMap('a', { x: '1' }), 'm');
      await a.apply(CONFIG_MAPS, configMap('a', { x: '1' }), 'm');
      await a.apply(CONFIG_MAPS, configMap('a', { x: '1' }), 'n');
      await a.apply(CONFIG_MAPS, configMap('a', { x: '2' }, { namespace: a.namespace }), 'm');
    },
  },
  {
    name: 'takes away what its manager no longer names, unless another owns it',
    run: async (a) => {
      await a.apply(CONFIG_MAPS, configMap('a', { both: '1', mine: '1' }, { labels: { l: '1' } }), 'm');
      await a.apply(CONFIG_MAPS, configMap('a', { both: '1', yours: '1' }), 'n');
      await a.apply(CONFIG_MAPS, configMap('a', {}), 'm');
      await a.apply(CONFIG_MAPS, { metadata: { name: 'a' } }, 'n');
    },
  },
  {
    name: 'conflicts with who owns the value, by name, unless it is forced',
    run: async (a) => {
      await a.apply(CONFIG_MAPS, configMap('a', { x: '1', y: '1' }), 'one');
      await a.merge(CONFIG_MAPS, 'a', { data: { z: '1' } }, { query: { fieldManager: 'two' } });
      await a.apply(CONFIG_MAPS, configMap('a', { x: '2' }), 'm');
      await a.apply(CONFIG_MAPS, configMap('a', { x: '2', y: '2', z: '2' }), 'm');
      await a.apply(CONFIG_MAPS, configMap('a', { z: '2' }), 'm');
      await a.apply(CONFIG_MAPS, configMap('a', { x: '2', z: '2' }), 'm', force);
      await a.apply(CONFIG_MAPS, configMap('a', { x: '3', y: '1' }), 'one');
    },
  },
  {
    name: 'is another manager than one who updates under the same name',
    run: async (a) => {
      await a.create(CONFIG_MAPS, configMap('a', { x: '1' }), { fieldManager: 'm' });
      await a.apply(CONFIG_MAPS, configMap('a', { x: '2' }), 'm');
      await a.apply(CONFIG_MAPS, configMap('a', { x: '2' }), 'm', force);
      await a.merge(CONFIG_MAPS, 'a', { data: { x: '3' } }, { query: { fieldManager: 'm' } });
      await a.apply(CONFIG_MAPS, configMap('a', {}), 'm', force);
    },
  },
  {
    name: 'loses what others overwrite or delete',
    run: async (a) => {
      await a.apply(CONFIG_MAPS, configMap('a', { x: '1', y: '1' }), 'm');
      await a.merge(CONFIG_MAPS, 'a', { data: { x: '2', y: null } }, { query: { fieldManager: 'n' } });
      await a.apply(CONFIG_MAPS, configMap('a', { x: '1', y: '1' }), 'm');
      await a.apply(CONFIG_MAPS, configMap('a', { y: '1' }), 'm');
    },
  },
  {
    name: 'says what it lacks',
    run: async (a) => {
      await a.apply(CONFIG_MAPS, configMap('a'), undefined);
      await a.apply(CONFIG_MAPS, { ...configMap('a'), apiVersion: 'v2' }, 'm');
      await a.apply(CONFIG_MAPS, { ...configMap('a'), kind: 'Secret' }, 'm');
      await a.apply(CONFIG_MAPS, configMap('a', {}, { managedFields: [{}] }), 'm');
      await a.apply(CONFIG_MAPS, configMap('a', {}, { resourceVersion: '1' }), 'm');
      await a.apply(CONFIG_MAPS, configMap('a', {}, { uid: 'another' }), 'm');
      await a.apply(CONFIG_MAPS, { ...configMap('a'), colour: 'red' }, 'm');
      await a.apply(CONFIG_MAPS, { metadata: { name: 'a' }, data: 'text' }, 'm');
      await a.apply(CONFIG_MAPS, configMap('Not_A_Name'), 'm');
      await a.apply(CONFIG_MAPS, { metadata: { name: 'b' } }, 'm', { name: 'a' });
    },
  },
  {
    name: 'may name the version that it means',
    run: async (a) => {
      const { metadata } = await a.apply(CONFIG_MAPS, configMap('a', { x: '1' }), 'm');
      const { resourceVersion } = metadata;
      await a.apply(CONFIG_MAPS, configMap('a', { x: '2' }, { resourceVersion }), 'm');
      await a.apply(CONFIG_MAPS, configMap('a', { x: '3' }, { resourceVersion }), 'm');
    },
  },
  {
    name: 'owns labels, annotations and finalizers one by one',
    run: async (a) => {
      const metadata = { labels: { l: '1' }, annotations: { n: '1' }, finalizers: ['modelgateway.dev/one'] };
      await a.apply(CONFIG_MAPS, configMap('a', {}, metadata), 'm');
      await a.apply(CONFIG_MAPS, configMap('a', {}, { labels: { k: '1' }, finalizers: ['modelgateway.dev/two'] }), 'n');
      await a.apply(CONFIG_MAPS, configMap('a', {}, { labels: { l: '1' } }), 'm');
    },
  },
  {
    name: 'of a custom resource counts generations, and leaves the status alone',
    run: async (a) => {
      await a.apply(API_KEYS, apiKey('a', { status: { observedGeneration: 9 } }), 'm');
      await a.apply(API_KEYS, apiKey('a', { spec: { type: 'workspace-user' } }), 'm');
      await a.apply(API_KEYS, apiKey('a', { spec: { type: 'workspace-service' } }), 'n');
      await a.apply(API_KEYS, apiKey('a', { ...label({ l: '1' }), spec: { type: 'workspace-user' } }), 'm');
      await a.apply(API_KEYS, apiKey('a', { spec: { type: 'workspace-user', scopes: ['a.b', 'c.d'] } }), 'm');
      await a.apply(API_KEYS, apiKey('a', { spec: { type: 'workspace-user', scopes: ['c.d'] } }), 'm');
      await a.apply(API_KEYS, apiKey('a', { spec: { type: 'elsewhere' } }), 'm');
      await a.apply(API_KEYS, apiKey('a', { spec: {} }), 'm');
      await a.apply(
        API_KEYS,
        { apiVersion: 'modelgateway.dev/v1alpha1', kind: 'ApiKey', metadata: { name: 'a' } },
        'n',
      );
    },
  },
];
