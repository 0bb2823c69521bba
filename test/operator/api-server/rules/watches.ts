/** Watches. */
import { CONFIG_MAPS } from '#crds/api/api-object.ts';
import { type Asking, configMap } from '../asking.ts';
import type { Rule } from '../server.ts';
import { API_KEYS, apiKey } from './custom.ts';

async function version(a: Asking): Promise<string> {
  const { resourceVersion = '' } = (await a.list(CONFIG_MAPS)).metadata;
  a.lines.pop();
  return resourceVersion;
}

async function lifeOf(a: Asking, name: string): Promise<void> {
  await a.create(CONFIG_MAPS, configMap(name, { x: '1' }, { labels: { l: '1' } }), { fieldManager: 'm' });
  await a.merge(CONFIG_MAPS, name, { data: { x: '2' } }, { query: { fieldManager: 'm' } });
  await a.merge(CONFIG_MAPS, name, { data: { x: '2' } }, { query: { fieldManager: 'm' } });
  await a.merge(CONFIG_MAPS, name, { metadata: { labels: { l: '2' } } }, { query: { fieldManager: 'm' } });
  await a.remove(CONFIG_MAPS, name);
}

export const WATCH_RULES: readonly Rule[] = [
  {
    name: 'from a version tells what happened since, in order, once',
    run: async (a) => {
      const resourceVersion = await version(a);
      await lifeOf(a, 'a');
      await a.watch(CONFIG_MAPS, { resourceVersion }, { events: 4 });
    },
  },
  {
    name: 'tells of what is no longer selected as of a deletion',
    run: async (a) => {
      const resourceVersion = await version(a);
      await lifeOf(a, 'a');
      await lifeOf(a, 'b');
      await a.watch(CONFIG_MAPS, { resourceVersion, labelSelector: 'l=1' }, { events: 3 });
      await a.watch(CONFIG_MAPS, { resourceVersion, labelSelector: 'l=2' }, { events: 2 });
      await a.watch(CONFIG_MAPS, { resourceVersion, fieldSelector: 'metadata.name=b' }, { events: 1 });
    },
  },
  {
    name: 'tells of a deletion that waits as of a change',
    run: async (a) => {
      const resourceVersion = await version(a);
      await a.create(CONFIG_MAPS, configMap('a', {}, { finalizers: ['modelgateway.dev/hold'] }));
      await a.remove(CONFIG_MAPS, 'a');
      await a.merge(CONFIG_MAPS, 'a', { metadata: { finalizers: null } });
      await a.watch(CONFIG_MAPS, { resourceVersion }, { events: 3 });
    },
  },
  {
    name: 'tells of a status as of a change',
    run: async (a) => {
      const { resourceVersion } = (await a.create(API_KEYS, apiKey('a'))).metadata;
      await a.merge(API_KEYS, 'a', { status: { observedGeneration: 1 } }, { subresource: 'status' });
      await a.merge(API_KEYS, 'a', { spec: { disabled: true } });
      await a.watch(API_KEYS, { resourceVersion }, { events: 2 });
    },
  },
  {
    name: 'without a version begins with what there is',
    run: async (a) => {
      await a.create(CONFIG_MAPS, configMap('a'));
      await a.create(CONFIG_MAPS, configMap('b'));
      await a.watch(CONFIG_MAPS, {}, { events: 2 });
      await a.watch(CONFIG_MAPS, { resourceVersion: '0' }, { events: 2 });
    },
  },
  {
    name: 'tells when it has told what there was, where it is asked to',
    run: async (a) => {
      await a.create(CONFIG_MAPS, configMap('a'));
      await a.create(CONFIG_MAPS, configMap('b'));
      const query = { allowWatchBookmarks: true, sendInitialEvents: true, resourceVersionMatch: 'NotOlderThan' };
      await a.watch(CONFIG_MAPS, query);
      await a.watch(CONFIG_MAPS, { ...query, resourceVersion: '0' });
      await a.watch(CONFIG_MAPS, { ...query, resourceVersionMatch: undefined }, { events: 1 });
      await a.watch(CONFIG_MAPS, { ...query, allowWatchBookmarks: undefined, timeoutSeconds: 1 });
      await a.watch(CONFIG_MAPS, { sendInitialEvents: false, resourceVersionMatch: 'NotOlderThan', timeoutSeconds: 1 });
      await a.watch(CONFIG_MAPS, { allowWatchBookmarks: true, resourceVersion: '0' }, { events: 2 });
      await a.watch(CONFIG_MAPS, { resourceVersionMatch: 'NotOlderThan', timeoutSeconds: 1 }, { events: 1 });
    },
  },
  {
    name: 'tells where it is before it ends, and ends when it shall',
    run: async (a) => {
      const resourceVersion = await version(a);
      await a.create(CONFIG_MAPS, configMap('a'));
      const query = { resourceVersion, allowWatchBookmarks: true, timeoutSeconds: 4 };
      await a.watch(CONFIG_MAPS, query);
      await a.watch(CONFIG_MAPS, { resourceVersion, timeoutSeconds: 1 });
    },
  },
  {
    name: 'says what is wrong with a question',
    run: async (a) => {
      await a.watch(CONFIG_MAPS, { resourceVersion: 'x' }, { events: 1 });
      await a.watch(CONFIG_MAPS, { labelSelector: 'l in 1' }, { events: 1 });
      await a.watch(CONFIG_MAPS, { fieldSelector: 'data.x=1' }, { events: 1 });
      await a.watch({ ...CONFIG_MAPS, plural: 'nothings' }, {}, { events: 1 });
    },
  },
];

/** On a server that forgets when it is told to. */
export const FORGETTING_RULES: readonly Rule[] = [
  {
    name: 'a list that is continued too late ends, and may begin anew where it was',
    run: async (a, server) => {
      for (const name of ['one', 'three', 'two']) await a.create(CONFIG_MAPS, configMap(name));
      const first = await a.list(CONFIG_MAPS, { limit: 1 });
      await a.create(CONFIG_MAPS, configMap('four'));
      await server.compact();
      const late = await a.list(CONFIG_MAPS, { limit: 1, continue: String(first.metadata['continue']) });
      await a.list(CONFIG_MAPS, { limit: 5, continue: String(late.metadata['continue']) });
    },
  },
  {
    name: 'a list of a version that is forgotten is refused',
    run: async (a, server) => {
      const { resourceVersion } = (await a.create(CONFIG_MAPS, configMap('a'))).metadata;
      await a.create(CONFIG_MAPS, configMap('b'));
      await server.compact();
      await a.list(CONFIG_MAPS, { resourceVersion, resourceVersionMatch: 'Exact' });
    },
  },
  {
    name: 'a watch from a version that is forgotten ends at once',
    run: async (a, server) => {
      const { resourceVersion } = (await a.create(CONFIG_MAPS, configMap('a'))).metadata;
      await a.create(CONFIG_MAPS, configMap('b'));
      await server.compact();
      await a.watch(CONFIG_MAPS, { resourceVersion });
    },
  },
];
