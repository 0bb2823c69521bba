/** `POST /api-keys/{id}/rotate`. */

import { setTimeout as sleep } from 'node:timers/promises';
import { z } from '#crds/config/words.ts';
import { ANNOTATIONS } from '#crds/object.ts';
import { type Rotated, RotationFailed, type RotationFailure } from '../../keys/rotation-requests.ts';
import { rotationWord } from '../../keys/rotation-word.ts';
import { readBody } from '../body.ts';
import { ControlError, unavailable } from '../control-error.ts';
import type { ControlWorld } from '../control-world.ts';
import { findChangeable } from '../operations.ts';
import type { ActionRow } from '../resource-row.ts';
import type { StoredObject } from '../stored-object.ts';

const MIN_TRANSITION_MS = 30 * 60_000;
const MAX_TRANSITION_MS = 30 * 24 * 60 * 60_000;
const PATIENCE_MS = 30_000;
const LOOK_EVERY_MS = 50;
/** For what was made a moment ago to be known here. */
const NEWS_MS = 2_000;
const BODY = {
  fields: [],
  besides: { key_transition_period_ms: z.int().min(MIN_TRANSITION_MS).max(MAX_TRANSITION_MS) },
};

const FAILURES: Readonly<Record<Exclude<RotationFailure, 'not_leading'>, (error: RotationFailed) => ControlError>> = {
  not_issued: ({ message }) => new ControlError('owned_elsewhere', `${message}.`),
  not_served: ({ message, cause }) => unavailable(`${message}.`, cause),
};

export const rotateKey: ActionRow = {
  method: 'POST',
  path: '/:id/rotate',
  action: 'rotate',
  async run(row, call) {
    const { caller, world } = call;
    const object = await findChangeable(row, call, 'rotate');
    // Whoever is told the new key can do what it can.
    row.assertMay?.(caller, object.spec, undefined);
    const { besides } = readBody(call.body ?? {}, BODY);
    const transitionMs = besides['key_transition_period_ms'] as number | undefined;
    const { key, transitionExpiresAtMs } = await rotated(object, transitionMs, world);
    return { id: object.id, key, key_transition_expires_at: new Date(transitionExpiresAtMs).toISOString() };
  },
};

async function rotated(object: StoredObject, transitionMs: number | undefined, world: ControlWorld): Promise<Rotated> {
  const { namespace, name } = object;
  try {
    return await world.rotateNow(namespace, name, { transitionMs });
  } catch (error) {
    if (!(error instanceof RotationFailed)) throw error;
    if (error.reason !== 'not_leading') throw FAILURES[error.reason](error);
    return rotatedByLeader(object, transitionMs, world);
  }
}

/** The operator that leads is asked by the annotation, as anybody may ask it; what it did is seen here too. */
async function rotatedByLeader(
  object: StoredObject,
  transitionMs: number | undefined,
  world: ControlWorld,
): Promise<Rotated> {
  await untilKnown(object, world);
  const word = rotationWord(transitionMs);
  await world.objects.change(object, ({ spec, annotations }) => ({
    spec,
    annotations: { ...annotations, [ANNOTATIONS.rotate]: word },
  }));
  const untilMs = performance.now() + PATIENCE_MS;
  while (performance.now() < untilMs) {
    const state = world.keyState(object.namespace, object.name);
    if (state?.word === word && state.next === undefined && state.previous !== undefined)
      return { key: state.current, transitionExpiresAtMs: state.previous.expiresAtMs };
    await sleep(LOOK_EVERY_MS);
  }
  throw unavailable('The new key is not in use yet; the rotation goes on.');
}

/** Throws `owned_elsewhere` for a key that somebody brought. */
async function untilKnown({ namespace, name }: StoredObject, world: ControlWorld): Promise<void> {
  const untilMs = performance.now() + NEWS_MS;
  while (world.keyState(namespace, name) === undefined) {
    if (performance.now() > untilMs) {
      const message = `ApiKey ${namespace}/${name} has no key that was made here: who brought it replaces it in its Secret`;
      throw FAILURES.not_issued(new RotationFailed('not_issued', message));
    }
    await sleep(LOOK_EVERY_MS);
  }
}
