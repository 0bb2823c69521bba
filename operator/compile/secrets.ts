/** Which Secret of each name counts, and the statuses of those that cannot be used. */
import { identityOf, type SecretObject } from '../world.ts';
import { ByName } from './by-name.ts';
import type { ObjectStatus, Verdict } from './status.ts';
import { statusOf } from './status.ts';

export interface ElectedSecrets {
  readonly secrets: Pick<ByName<SecretObject>, 'get'>;
  /** Of refused Secrets only: the others have no conditions of their own. */
  readonly statuses: readonly ObjectStatus[];
}

/** Most passes see the Secrets of the one before. */
const known = new WeakMap<readonly SecretObject[], ElectedSecrets>();

/** The first of a name wins; one that this program wrote gives way to a user's without a word. */
export function electSecrets(all: readonly SecretObject[]): ElectedSecrets {
  const elected = known.get(all) ?? electAnew(all);
  known.set(all, elected);
  return elected;
}

function electAnew(all: readonly SecretObject[]): ElectedSecrets {
  const secrets = new ByName<SecretObject>();
  const statuses: ObjectStatus[] = [];
  for (const secret of [...all.filter((one) => !one.generated), ...all.filter((one) => one.generated)]) {
    const { namespace, name } = secret;
    const first = secrets.get(namespace, name);
    if (first !== undefined && first.generated === secret.generated)
      statuses.push(refusal(secret, sameName(secret, first), true));
    if (first !== undefined) continue;
    secrets.set(namespace, name, secret);
    if (secret.refused !== undefined) {
      statuses.push(refusal(secret, { reason: 'SecretRefused', message: secret.refused.message }, false));
    }
  }
  return { secrets, statuses };
}

function refusal(secret: SecretObject, refused: Verdict, isDuplicate: boolean): ObjectStatus {
  const { namespace, name, place } = secret;
  const manifest = { kind: 'Secret', namespace, name, uid: undefined, generation: 1, raw: {}, place };
  return statusOf(manifest, { refused, unresolved: [], warnings: [], served: 'none', isDuplicate });
}

function sameName(secret: SecretObject, first: SecretObject): Verdict {
  const [used, other] = [first, secret].map(({ place }) => (place ? `${place.file}:${place.line}` : 'the cluster'));
  const identity = identityOf({ kind: 'Secret', ...secret });
  return {
    reason: 'Conflicted',
    message: `metadata.name: ${used} and ${other} both define ${identity}; the first is used`,
  };
}
