/** The flags of a gateway in a cluster. */
import { CACHE_FLAGS } from '#crds/command/cache-flags.ts';
import {
  LOG_LEVELS,
  logLevel,
  milliseconds,
  namespace,
  one,
  optional,
  origin,
  port,
  release,
  replicas,
  shards,
  text,
  toggle,
} from '#crds/command/flag-kinds.ts';
import { STORE_FLAGS } from '#crds/command/store-flags.ts';

export const GATEWAY_FLAGS = {
  host: one('HOST', 'address to listen on', '0.0.0.0', text),
  port: one('PORT', 'port of the API; 0 takes a free one', '8787', port),
  'admin-host': one('HOST', 'address of the admin port', '0.0.0.0', text),
  'admin-port': one('PORT', 'port of health, metrics and /config; 0 takes a free one', '8788', port),
  'snapshot-dir': one('DIR', 'where the published snapshot is mounted', '/var/run/model-gateway/snapshot', text),
  'state-dir': one('DIR', 'where the last good snapshot is kept', '/var/run/model-gateway/state', text),
  release: one('NAME', "prefix of the snapshot's objects", 'model-gateway', release),
  namespace: optional('NAME', "namespace of the snapshot's objects", "the service account's", namespace),
  'operator-url': optional('URL', 'origin of the operator, for the control plane', 'no control plane', origin),
  'max-shards': one('COUNT', 'shards of one kind in a snapshot, at most; as the operator has it', '16', shards),
  'replica-name': optional('NAME', 'which of the replicas this is: the name of its pod', 'the host name', text),
  replicas: one('COUNT', 'replicas that there shall be, where nobody says how many there are', '1', replicas),
  ...STORE_FLAGS,
  ...CACHE_FLAGS,
  'no-api-watch': toggle('ask no API server: take snapshots from the mounted volume alone'),
  kubeconfig: optional('FILE', 'how to reach the API server', 'the service account', text),
  context: optional('NAME', 'which context of the kubeconfig', 'its current one', text),
  'grace-ms': one('MS', 'how long a draining gateway goes on accepting requests', '5000', milliseconds),
  'drain-ms': one('MS', 'how long running requests may take to finish then', '300000', milliseconds),
  'log-level': one('LEVEL', LOG_LEVELS.join(', '), 'info', logLevel),
  help: toggle('show this help', false),
  version: toggle('show the version', false),
};
