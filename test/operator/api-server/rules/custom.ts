/** Objects of our own kinds: their specs, their status, their generation. */
import { CONFIG_MAPS, type Resource } from '#crds/api/api-object.ts';
import { configMap, type Json } from '../asking.ts';
import type { Rule } from '../server.ts';

const GROUP = 'modelgateway.dev/v1alpha1';
export const API_KEYS: Resource = { apiVersion: GROUP, kind: 'ApiKey', plural: 'apikeys' };
const CONFIGS: Resource = { apiVersion: GROUP, kind: 'GatewayConfig', plural: 'gatewayconfigs' };

const at = '2026-01-01T00:00:00Z';
const ready = { type: 'Ready', status: 'True', reason: 'Ready', message: '', lastTransitionTime: at };
const spec = { type: 'workspace-service' };
const status = { subresource: 'status', query: { fieldManager: 'm' } } as const;

export function apiKey(name: string, fields: Json = {}): Json {
  return { apiVersion: GROUP, kind: 'ApiKey', metadata: { name }, spec, ...fields };
}

export const CUSTOM_RULES: readonly Rule[] = [
  {
    name: 'is stored with its defaults, and without a status',
    run: async (a) => {
      await a.create(API_KEYS, apiKey('a', { status: { observedGeneration: 1 } }), { fieldManager: 'm' });
      await a.create(API_KEYS, apiKey('a'));
      await a.create(API_KEYS, apiKey('b', { spec: { ...spec, defaults: { config_id: 'c' } } }));
      await a.create(API_KEYS, { metadata: { name: 'c' }, spec });
    },
  },
  {
    name: 'is refused field by field',
    run: async (a) => {
      await a.create(API_KEYS, apiKey('Not_A_Name'));
      await a.create(API_KEYS, { apiVersion: GROUP, kind: 'ApiKey', metadata: { name: 'a' } });
      await a.create(API_KEYS, apiKey('a', { spec: {} }));
      await a.create(API_KEYS, apiKey('a', { spec: { type: 'another', scopes: 'all', description: '' } }));
      await a.create(API_KEYS, apiKey('a', { spec: { ...spec, defaults: { metadata: { k: 1 } } } }));
      await a.create(API_KEYS, apiKey('a', { spec: { ...spec, expires_at: 'soon' } }));
      await a.create(API_KEYS, apiKey('a', { spec: null }));
    },
  },
  {
    name: 'says of unknown fields what was asked',
    run: async (a) => {
      const unknown = { spec: { ...spec, colour: 'red', defaults: { size: 1 } }, more: 1 };
      for (const fieldValidation of ['Strict', 'Warn', 'Ignore']) {
        await a.create(API_KEYS, apiKey(fieldValidation.toLowerCase(), unknown), { fieldValidation });
      }
      await a.create(API_KEYS, apiKey('default', unknown));
      await a.merge(API_KEYS, 'default', { spec: { colour: 'red' } }, { query: { fieldValidation: 'Strict' } });
      await a.apply(API_KEYS, apiKey('applied', unknown), 'm');
      await a.apply(API_KEYS, apiKey('applied', unknown), 'm', { query: { fieldValidation: 'Strict' } });
    },
  },
  {
    name: 'keeps the rules that are no schema',
    run: async (a) => {
      const config = (name: string, body: Json) => ({
        apiVersion: GROUP,
        kind: 'GatewayConfig',
        metadata: { name },
        spec: body,
      });
      await a.create(CONFIGS, config('a', { strategy: { mode: 'conditional' }, targets: [{ provider: 'simulator' }] }));
      await a.create(CONFIGS, config('b', { provider: 'simulator' }));
      await a.create(CONFIGS, config('c', { strategy: { mode: 'elsewhere' }, targets: [] }));
    },
  },
  {
    name: 'counts generations of the spec alone',
    run: async (a) => {
      await a.create(API_KEYS, apiKey('a'), { fieldManager: 'm' });
      await a.merge(API_KEYS, 'a', { spec: { disabled: true } }, { query: { fieldManager: 'm' } });
      await a.merge(API_KEYS, 'a', { spec: { disabled: true } }, { query: { fieldManager: 'm' } });
      await a.merge(API_KEYS, 'a', { metadata: { labels: { l: '1' } } }, { query: { fieldManager: 'm' } });
      await a.merge(API_KEYS, 'a', { metadata: { generation: 9 } }, { query: { fieldManager: 'm' } });
      await a.merge(API_KEYS, 'a', { status: { observedGeneration: 2 } }, status);
      await a.merge(API_KEYS, 'a', { status: { observedGeneration: 2 } }, status);
    },
  },
  {
    name: 'has a status behind a door of its own',
    run: async (a) => {
      const made = await a.create(API_KEYS, apiKey('a'), { fieldManager: 'm' });
      await a.merge(API_KEYS, 'a', { spec: { disabled: true }, status: { observedGeneration: 1 } }, status);
      await a.merge(API_KEYS, 'a', { status: { observedGeneration: 5 } }, { query: { fieldManager: 'm' } });
      await a.replace(API_KEYS, 'a', apiKey('a', { status: { observedGeneration: 6 } }), status);
      const { resourceVersion } = (await a.read(API_KEYS, 'a')).metadata;
      const whole = {
        metadata: { name: 'a', resourceVersion },
        spec: { type: 'workspace-user' },
        status: { conditions: [ready] },
      };
      await a.replace(API_KEYS, 'a', apiKey('a', whole), status);
      await a.replace(API_KEYS, 'a', { ...made, status: { observedGeneration: 7 } }, status);
      await a.send({ method: 'GET', path: `/apis/${GROUP}/namespaces/${a.namespace}/apikeys/a/status` });
      await a.merge(API_KEYS, 'gone', { status: {} }, status);
      await a.create(CONFIG_MAPS, configMap('a'));
      await a.merge(CONFIG_MAPS, 'a', { status: {} }, status);
    },
  },
  {
    name: 'takes no status that its schema refuses',
    run: async (a) => {
      await a.create(API_KEYS, apiKey('a'));
      const bad = { ...ready, status: 'Maybe', reason: 'two words' };
      await a.apply(API_KEYS, apiKeyStatus({ conditions: [bad] }), 'm', status);
      await a.apply(API_KEYS, apiKeyStatus({ conditions: [{ type: 'Ready' }] }), 'm', status);
      await a.apply(API_KEYS, apiKeyStatus({ conditions: [ready, ready] }), 'm', status);
      await a.apply(API_KEYS, apiKeyStatus({ conditions: [{ ...ready, type: undefined }] }), 'm', status);
      await a.apply(API_KEYS, apiKeyStatus({ observedGeneration: -1 }), 'm', status);
      await a.apply(API_KEYS, apiKeyStatus({ colour: 'red' }), 'm', status);
      await a.merge(API_KEYS, 'a', { status: { conditions: [ready, ready] } }, status);
      await a.merge(API_KEYS, 'a', { status: { conditions: [{ type: 'Ready' }] } }, status);
    },
  },
  {
    name: 'is replaced only as the version that was read',
    run: async (a) => {
      const made = await a.create(API_KEYS, apiKey('a'), { fieldManager: 'm' });
      const changed = { ...made, spec: { ...spec, disabled: true } };
      await a.replace(API_KEYS, 'a', apiKey('a'), { query: { fieldManager: 'm' } });
      await a.replace(API_KEYS, 'a', changed, { query: { fieldManager: 'm' } });
      await a.replace(API_KEYS, 'a', { ...made }, { query: { fieldManager: 'm' } });
      await a.replace(API_KEYS, 'gone', apiKey('gone'));
    },
  },
  {
    name: 'counts its deletion as a generation',
    run: async (a) => {
      await a.create(API_KEYS, apiKey('a', { metadata: { name: 'a', finalizers: ['modelgateway.dev/hold'] } }));
      await a.remove(API_KEYS, 'a');
      await a.apply(API_KEYS, apiKeyStatus({ observedGeneration: 2 }), 'm', status);
      await a.merge(API_KEYS, 'a', { metadata: { finalizers: null } });
      await a.read(API_KEYS, 'a');
      await a.create(API_KEYS, apiKey('b'));
      await a.remove(API_KEYS, 'b');
    },
  },
  {
    name: 'has its status applied by several, each its own conditions',
    run: async (a) => {
      const { metadata } = await a.create(API_KEYS, apiKey('a'), { fieldManager: 'user' });
      const other = { ...ready, type: 'Other' };
      await a.apply(API_KEYS, apiKeyStatus({ observedGeneration: 1, conditions: [ready] }), 'm', status);
      await a.apply(API_KEYS, apiKeyStatus({ conditions: [other] }), 'n', { ...status, query: {} });
      await a.apply(API_KEYS, apiKeyStatus({ conditions: [{ ...ready, status: 'False' }] }), 'n', {
        ...status,
        query: {},
      });
      await a.apply(API_KEYS, apiKeyStatus({ conditions: [{ ...ready, status: 'False' }] }), 'm', status);
      await a.apply(API_KEYS, apiKeyStatus({ conditions: [] }), 'm', status);
      await a.apply(API_KEYS, apiKeyStatus({}, { uid: metadata.uid }), 'm', status);
      await a.apply(API_KEYS, apiKeyStatus({ observedGeneration: 3 }, { uid: 'another' }), 'm', status);
      await a.apply(API_KEYS, { metadata: { name: 'gone' }, status: {} }, 'm', status);
    },
  },
];

function apiKeyStatus(fields: Json, metadata: Json = {}): Json {
  return { metadata: { name: 'a', ...metadata }, status: fields };
}
