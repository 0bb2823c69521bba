/** What a release has stored, by the version of each object: equal before and after means that nobody wrote. */
import type { Stage } from './stage.ts';

interface Stored {
  readonly kind: string;
  readonly metadata: { readonly name: string; readonly resourceVersion: string };
  /** Of an Event. */
  readonly reportingInstance?: string;
}

const OWN = 'configmaps,secrets';
const TENANT = 'gatewayconfigs,integrations,apikeys,secrets,events.events.k8s.io';

/**
 * `Kind name` -> resourceVersion; the Lease, which is renewed all the time, left out. Of Events only those that `operator` told:
 * another one may still count what repeats.
 */
export async function storedVersions(stage: Stage, operator: string): Promise<Readonly<Record<string, string>>> {
  const list = async (kinds: string, namespace: string): Promise<readonly Stored[]> =>
    JSON.parse(await stage.kubectl(['get', kinds, '-n', namespace, '-o', 'json'])).items;
  const objects = [...(await list(OWN, stage.release.namespace)), ...(await list(TENANT, stage.tenant))];
  const compared = objects.filter(({ reportingInstance }) => [undefined, operator].includes(reportingInstance));
  return Object.fromEntries(
    compared.map(({ kind, metadata }) => [`${kind} ${metadata.name}`, metadata.resourceVersion]),
  );
}
