/** Connections to stores of tests. */

import { type StoreAddress, storeAddress } from '#crds/command/store-address.ts';
import type { RedisValues } from '#gateway/cache/redis-cache.ts';
import { waitFor } from '../fakes/wait-for.ts';

export function addressOf(url: string): StoreAddress {
  const parsed = storeAddress(url);
  if ('problem' in parsed) throw new Error(parsed.problem);
  return parsed.value;
}

/** Until it answers. */
export async function connected(values: RedisValues): Promise<void> {
  const answers = () =>
    values.value('nothing').then(
      () => true,
      () => false,
    );
  await waitFor(answers, 'a connection', 20_000);
}
