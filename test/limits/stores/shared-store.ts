/** A shared store as a gateway opens it. */
import { storeAddress } from '#crds/command/store-address.ts';
import { type GatewayStore, sharedStore } from '#gateway/limits/open-store.ts';
import { type Share, WHOLE } from '#gateway/limits/share.ts';
import type { RedisServers } from './redis-servers.ts';

export interface SharedOptions {
  readonly prefix: string;
  /** Default: long enough for a machine that does other things as well. */
  readonly timeoutMs?: number;
  readonly share?: () => Share;
  readonly onEvent?: (message: string, fields: object) => void;
}

/** Counts of `servers`, over the connection that `--store` would make. */
export function openShared(
  { url, caFile }: Pick<RedisServers, 'url' | 'caFile'>,
  { prefix, timeoutMs = 10_000, share = () => WHOLE, onEvent }: SharedOptions,
): Promise<GatewayStore> {
  const outcome = storeAddress(url);
  if ('problem' in outcome) throw new Error(outcome.problem);
  const open = sharedStore({ address: outcome.value, prefix, passwordFile: undefined, caFile, timeoutMs });
  return open({ share, log: { event: (_, message, fields = {}) => onEvent?.(message, fields) } });
}
