/** Flags of programs that count limits. */
import { milliseconds, one, optional, text } from './flag-kinds.ts';
import { storeAddress } from './store-address.ts';

export const STORE_FLAGS = {
  store: optional('URL', 'Redis or Valkey that holds the counts of limits for all replicas', 'none', storeAddress),
  'store-password-file': optional('FILE', 'its password, where that is not in the URL; read once', 'none', text),
  'store-ca-file': optional('FILE', 'certificates (PEM) that its own must lead to', 'those of Node.js', text),
  'store-timeout-ms': one(
    'MS',
    'how long a request waits for it, before this replica counts alone',
    '25',
    milliseconds,
  ),
};
