/** The flags of a gateway in a cluster. */
import {
  LOG_LEVELS,
  logLevel,
  milliseconds,
  namespace,
  one,
  optional,
  port,
  release,
  shards,
  text,
  toggle,
} from '#crds/command/flag-kinds.ts';

export const GATEWAY_FLAGS = {
  host: one('HOST', 'address to listen on', '0.0.0.0', text),
  port: one('PORT', 'port of the API; 0 takes a free one', '8787', port),
  'admin-host': one('HOST', 'address of the admin port', '0.0.0.0', text),
  'admin-port': one('PORT', 'port of health, metrics and /config; 0 takes a free one', '8788', port),
  'snapshot-dir': one('DIR', 'where the published snapshot is mounted', '/var/run/model-gateway/snapshot', text),
  'state-dir': one('DIR', 'where the last good snapshot is kept', '/var/run/model-gateway/state', text),
  release: one('NAME', "prefix of the snapshot's objects", 'model-gateway', release),
  namespace: optional('NAME', "namespace of the snapshot's objects", "the service account's", namespace),
  'max-shards': one('COUNT', 'shards of one kind in a snapshot, at most; as the operator has it', '16', shards),
  'no-api-watch': toggle('ask no API server: take snapshots from the mounted volume alone'),
  kubeconfig: optional('FILE', 'how to reach the API server', 'the service account', text),
  context: optional('NAME', 'which context of the kubeconfig', 'its current one', text),
  'grace-ms': one('MS', 'how long a draining gateway goes on accepting requests', '5000', milliseconds),
  'drain-ms': one('MS', 'how long running requests may take to finish then', '300000', milliseconds),
  'log-level': one('LEVEL', LOG_LEVELS.join(', '), 'info', logLevel),
  help: toggle('show this help', false),
  version: toggle('show the version', false),
};
