/** Reads and lists. */
import { CONFIG_MAPS, SECRETS } from '#crds/api/api-object.ts';
import { type Asking, configMap } from '../asking.ts';
import type { Rule } from '../server.ts';
import { API_KEYS, apiKey } from './custom.ts';

const PARTIAL_LIST = 'application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io,application/json';
const PARTIAL = 'application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io,application/json';

async function three(a: Asking): Promise<void> {
  await a.create(CONFIG_MAPS, configMap('one', {}, { labels: { n: '1', odd: '' } }));
  await a.create(CONFIG_MAPS, configMap('three', {}, { labels: { n: '3', odd: '' } }));
  await a.create(CONFIG_MAPS, configMap('two', {}, { labels: { n: '2' } }));
}

async function named(a: Asking, query: object): Promise<void> {
  const { items } = (await a.list(CONFIG_MAPS, { ...query })) as unknown as {
    items?: { metadata: { name: string } }[];
  };
  if (items === undefined) return;
  a.lines.pop();
  const asked = { ...query, ...('resourceVersion' in query && { resourceVersion: '<then>' }) };
  a.note(`${JSON.stringify(asked)}: ${items.map(({ metadata }) => metadata.name)}`);
}

export const READ_RULES: readonly Rule[] = [
  {
    name: 'a list has its items in the order of their names',
    run: async (a) => {
      await a.list(CONFIG_MAPS);
      await three(a);
      await a.list(CONFIG_MAPS);
      await a.create(API_KEYS, apiKey('a'));
      await a.list(API_KEYS);
    },
  },
  {
    name: 'pages go on where the last one ended, as it was then',
    run: async (a) => {
      await three(a);
      const first = await a.list(CONFIG_MAPS, { limit: 2 });
      await a.create(CONFIG_MAPS, configMap('zero'));
      await a.remove(CONFIG_MAPS, 'two');
      const next = String(first.metadata['continue']);
      await a.list(CONFIG_MAPS, { limit: 2, continue: next });
      await a.list(CONFIG_MAPS, { limit: 2, continue: next, resourceVersion: '1' });
      await a.list(CONFIG_MAPS, { limit: 1, labelSelector: 'odd' });
      await a.list(CONFIG_MAPS, { limit: 1, continue: 'nonsense' });
      await a.list(CONFIG_MAPS, { limit: 'x' });
    },
  },
  {
    name: 'a list may be of a version',
    run: async (a) => {
      await three(a);
      const { resourceVersion } = (await a.list(CONFIG_MAPS)).metadata;
      await a.remove(CONFIG_MAPS, 'two');
      await named(a, { resourceVersion, resourceVersionMatch: 'Exact' });
      await named(a, { resourceVersion, resourceVersionMatch: 'NotOlderThan' });
      await named(a, { resourceVersion });
      await a.list(CONFIG_MAPS, { resourceVersionMatch: 'Exact' });
      await a.list(CONFIG_MAPS, { resourceVersion: 'x' });
      await a.list(CONFIG_MAPS, { resourceVersion: '99999999' });
    },
  },
  {
    name: 'labels select',
    run: async (a) => {
      await three(a);
      const selectors = [
        'n=1',
        'n==1',
        'n!=1',
        'n in (1,3)',
        'n notin (1,3)',
        'odd',
        '!odd',
        'odd,n!=3',
        'n>1',
        'n<3',
        'odd=',
        '',
      ];
      for (const labelSelector of selectors) await named(a, { labelSelector });
      for (const labelSelector of ['n=1,', '=1', 'n in 1', 'n in (1', '!', 'n ~ 1']) await named(a, { labelSelector });
    },
  },
  {
    name: 'fields select',
    run: async (a) => {
      await three(a);
      await named(a, { fieldSelector: 'metadata.name=two' });
      await named(a, { fieldSelector: 'metadata.name!=two' });
      await named(a, { fieldSelector: `metadata.namespace=${a.namespace},metadata.name=one` });
      await named(a, { fieldSelector: 'metadata.name=none' });
      await named(a, { fieldSelector: 'data.x=1' });
      await named(a, { fieldSelector: 'metadata.name' });
      await a.create(API_KEYS, apiKey('a'));
      await a.list(API_KEYS, { fieldSelector: 'metadata.name=a' });
      await a.list(API_KEYS, { fieldSelector: 'spec.type=a' });
    },
  },
  {
    name: 'metadata alone may be asked for',
    run: async (a) => {
      await a.create(SECRETS, { metadata: { name: 'a' }, stringData: { x: '1' } });
      await a.create(API_KEYS, apiKey('a'));
      await a.list(SECRETS, {}, { accept: PARTIAL_LIST });
      await a.list(API_KEYS, {}, { accept: PARTIAL_LIST });
      await a.read(SECRETS, 'a', { accept: PARTIAL });
      await a.read(SECRETS, 'gone', { accept: PARTIAL });
      await a.read(SECRETS, 'a', { accept: 'text/csv' });
      await a.list(SECRETS, {}, { accept: 'text/csv' });
      await a.watch(SECRETS, {}, { events: 1, accept: PARTIAL });
    },
  },
];
