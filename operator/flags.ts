/** The flags of every command: one table each. */
import { CACHE_FLAGS, EMBEDDING_FLAGS } from '#crds/command/cache-flags.ts';
import type { EmbeddingModel } from '#crds/command/embedding-model.ts';
import {
  days,
  httpUrl,
  keyPrefix,
  LOG_LEVELS,
  list,
  logLevel,
  namespace,
  one,
  optional,
  origin,
  PERIODS,
  period,
  port,
  type RotationPeriod,
  shards,
  text,
  toggle,
} from '#crds/command/flag-kinds.ts';
import { STORE_FLAGS } from '#crds/command/store-flags.ts';
import { DEFAULT_KEY_PREFIX } from '#crds/keys/key-form.ts';
import type { WorldSettings } from './world.ts';

/** What holds for the keys that are made, and for those of users. */
const KEY_FLAGS = {
  'api-key-prefix': {
    ...one('TEXT', 'what keys that are made begin with', DEFAULT_KEY_PREFIX, keyPrefix),
    otherVariable: 'API_KEY_PREFIX',
  },
  'user-api-key-rotation-period': optional(
    'PERIOD',
    `how often keys of users are replaced: ${PERIODS.join(' or ')}`,
    'as each says',
    period,
  ),
  'user-api-key-ttl-days': optional('DAYS', 'days after which a key of a user ends', 'as each says', days),
};

/** Flags of embedded mode. */
export const EMBEDDED_FLAGS = {
  manifests: list('DIR', 'directory or file of manifests; repeatable', 'crds/examples/quickstart', text),
  host: one('HOST', 'address to listen on', '127.0.0.1', text),
  port: one('PORT', 'port of the API; 0 takes a free one', '8787', port),
  'admin-port': one('PORT', 'port of health, metrics and /config; 0 takes a free one', '8788', port),
  data: one('DIR', 'where keys, usage and logs are kept', '.model-gateway', text),
  'request-host': list('ORIGIN', 'origin that a request may name as its custom host; repeatable', undefined, origin),
  'organisation-namespace': one('NAME', 'namespace whose objects can be shared', 'model-gateway', namespace),
  ...KEY_FLAGS,
  ...STORE_FLAGS,
  ...CACHE_FLAGS,
  'alert-webhook': optional('URL', 'where alerts of budgets are posted', 'nowhere', httpUrl),
  open: toggle('ask no key of callers; on a loopback host only'),
  'log-level': one('LEVEL', LOG_LEVELS.join(', '), 'info', logLevel),
  help: toggle('show this help', false),
  version: toggle('show the version', false),
};

/** Flags of the operator in a cluster. */
export const OPERATOR_FLAGS = {
  namespace: optional(
    'NAME',
    'where it publishes, and where the gateways are',
    'the one of its service account',
    namespace,
  ),
  release: one('NAME', "what the snapshot's objects are called after", 'model-gateway', text),
  'watch-namespace': list('NAME', 'namespace whose objects are read; repeatable', 'the whole cluster', namespace),
  'organisation-namespace': EMBEDDED_FLAGS['organisation-namespace'],
  'request-host': EMBEDDED_FLAGS['request-host'],
  ...KEY_FLAGS,
  ...EMBEDDING_FLAGS,
  'gateway-service': optional('NAME', "Service of the gateway's replicas", '<release>-gateway', text),
  'gateway-admin-port': one('PORT', 'port of /config, where a slice of the Service has no port admin', '8788', port),
  'max-shards': one('COUNT', 'shards of each kind that the gateways may read', '16', shards),
  identity: optional('NAME', 'unique among the operators of a release', 'the host name', text),
  lease: optional('NAME', 'Lease by which one of them is chosen', '<release>-operator', text),
  'admin-host': one('HOST', 'address of health and metrics', '0.0.0.0', text),
  'admin-port': one('PORT', 'port of health and metrics; 0 takes a free one', '8788', port),
  'api-host': one('HOST', 'address of the control plane', '0.0.0.0', text),
  'api-port': one('PORT', 'port of the control plane; 0 takes a free one', '8789', port),
  'alert-webhook': EMBEDDED_FLAGS['alert-webhook'],
  kubeconfig: optional('FILE', 'how to reach the API server', 'the service account', text),
  context: optional('NAME', 'which context of the kubeconfig', 'its current one', text),
  'log-level': EMBEDDED_FLAGS['log-level'],
  help: EMBEDDED_FLAGS.help,
  version: EMBEDDED_FLAGS.version,
};

/** Flags of `validate`; its paths follow them. */
export const VALIDATE_FLAGS = {
  'organisation-namespace': EMBEDDED_FLAGS['organisation-namespace'],
  help: EMBEDDED_FLAGS.help,
  version: EMBEDDED_FLAGS.version,
};

/** What `compile` goes by. */
export function worldSettings(flags: {
  readonly 'organisation-namespace': string;
  readonly 'request-host': readonly string[];
  readonly 'api-key-prefix': string;
  readonly 'embedding-model': EmbeddingModel | undefined;
  readonly 'user-api-key-rotation-period': RotationPeriod | undefined;
  readonly 'user-api-key-ttl-days': number | undefined;
}): WorldSettings {
  return {
    organisationNamespace: flags['organisation-namespace'],
    requestHosts: flags['request-host'],
    keyPrefix: flags['api-key-prefix'],
    embeddingModel: flags['embedding-model'],
    userKeys: { rotationPeriod: flags['user-api-key-rotation-period'], ttlDays: flags['user-api-key-ttl-days'] },
  };
}

/** Whether only this machine can reach a listener on `host`. */
export function isLoopback(host: string): boolean {
  return host === 'localhost' || host === '::1' || host === '[::1]' || /^127(\.\d{1,3}){3}$/.test(host);
}
