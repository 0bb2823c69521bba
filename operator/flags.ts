/** The flags of every command: one table each. */
import { LOG_LEVELS, list, logLevel, namespace, one, origin, port, text, toggle } from './flag-kinds.ts';

/** Flags of embedded mode. */
export const EMBEDDED_FLAGS = {
  manifests: list('DIR', 'directory or file of manifests; repeatable', 'crds/examples/quickstart', text),
  host: one('HOST', 'address to listen on', '127.0.0.1', text),
  port: one('PORT', 'port of the API; 0 takes a free one', '8787', port),
  'admin-port': one('PORT', 'port of health, metrics and /config; 0 takes a free one', '8788', port),
  data: one('DIR', 'where keys, usage and logs are kept', '.model-gateway', text),
  'request-host': list('ORIGIN', 'origin that a request may name as its custom host; repeatable', undefined, origin),
  'organisation-namespace': one('NAME', 'namespace whose objects can be shared', 'model-gateway', namespace),
  open: toggle('ask no key of callers; on a loopback host only'),
  'log-level': one('LEVEL', LOG_LEVELS.join(', '), 'info', logLevel),
  help: toggle('show this help', false),
  version: toggle('show the version', false),
};

/** Flags of `validate`; its paths follow them. */
export const VALIDATE_FLAGS = {
  'organisation-namespace': EMBEDDED_FLAGS['organisation-namespace'],
  help: EMBEDDED_FLAGS.help,
  version: EMBEDDED_FLAGS.version,
};

/** Whether only this machine can reach a listener on `host`. */
export function isLoopback(host: string): boolean {
  return host === 'localhost' || host === '::1' || host === '[::1]' || /^127(\.\d{1,3}){3}$/.test(host);
}
