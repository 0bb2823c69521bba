/** The key of a new ApiKey, which the operator that leads makes for it. */
import { setTimeout as sleep } from 'node:timers/promises';
import { ControlError, unavailable } from './control-error.ts';
import type { ControlWorld } from './control-world.ts';
import type { StoredObject } from './stored-object.ts';

const PATIENCE_MS = 15_000;
const LOOK_EVERY_MS = 20;

/** Its plaintext. An object that is refused, or has no key in time, is taken back. Throws `invalid_value`, `control_plane_unavailable`. */
export async function issuedKey(object: StoredObject, world: ControlWorld): Promise<string> {
  const untilMs = performance.now() + PATIENCE_MS;
  const secretName = String(object.spec['secret_name']);
  for (;;) {
    const key = world.issuedKey(object.namespace, secretName);
    if (key !== undefined) return key;
    const refusal = world.refusalOf(object);
    if (refusal !== undefined || performance.now() > untilMs) {
      await world.objects.remove(object);
      if (refusal === undefined) throw unavailable('No operator made a key in time; nothing was kept.');
      throw new ControlError('invalid_value', `${refusal.replace(/^spec\./, '')}.`);
    }
    await sleep(LOOK_EVERY_MS);
  }
}
