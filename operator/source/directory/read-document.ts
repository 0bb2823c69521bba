/** One document of a file -> an object of ours, a Secret, or a line for the report. */
import { API_GROUP, API_VERSION, metadataSchema } from '#crds/object.ts';
import { problemsOf } from '#crds/problems.ts';
import type { Manifest, Place, Problem, SecretObject } from '../../world.ts';
import type { ParsedDocument } from './parse-file.ts';
import { type Environment, readSecret } from './read-secret.ts';

export type ReadDocument =
  | { readonly manifest: Manifest }
  | { readonly secret: SecretObject }
  | { readonly problem: Problem };

export interface ReadContext {
  readonly file: string;
  readonly environment: Environment;
  readonly generated: boolean;
}

const identitySchema = metadataSchema.pick({ name: true, namespace: true });

/** Never throws: what has no kind, group or name becomes a problem with its place. */
export function readDocument(document: ParsedDocument, context: ReadContext): ReadDocument {
  const place: Place = { file: context.file, line: document.line };
  const refuse = (subject: string, message: string): ReadDocument => ({
    problem: { place, severity: 'refused', subject, reason: 'InvalidManifest', message },
  });
  const raw = document.value;
  if (!isRecord(raw)) return refuse('', 'a manifest must be an object with apiVersion, kind, metadata and spec');
  const { apiVersion, kind } = raw;
  if (typeof apiVersion !== 'string')
    return refuse('', 'apiVersion: must be a string, such as modelgateway.dev/v1alpha1');
  if (typeof kind !== 'string' || kind === '') return refuse('', 'kind: must be a string, e.g. GatewayConfig');
  const identity = readIdentity(raw.metadata);
  if (typeof identity === 'string') return refuse(kind, identity);
  if (apiVersion === 'v1' && kind === 'Secret') return { secret: readSecret(raw, identity, place, context) };
  if (!isOurs(apiVersion)) return { problem: foreign(place, `${kind}/${identity.name}`, apiVersion) };
  return { manifest: { kind, ...identity, ...revisionOf(raw.metadata), raw, place } };
}

/** Whether a manifest of this `apiVersion` is meant for this program. */
function isOurs(apiVersion: string): boolean {
  return apiVersion === API_GROUP || apiVersion.startsWith(`${API_GROUP}/`);
}

function foreign(place: Place, subject: string, apiVersion: string): Problem {
  const message = `${apiVersion} is not read here: only ${API_GROUP}/${API_VERSION}, and v1 for Secrets`;
  return { place, severity: 'ignored', subject, reason: 'ForeignKind', message };
}

function readIdentity(metadata: unknown): { namespace: string; name: string } | string {
  if (!isRecord(metadata)) return 'metadata: must be an object with a name';
  const identity = identitySchema.safeParse(metadata);
  if (identity.success) return identity.data;
  return problemsOf(identity.error, 'metadata')
    .map(({ path, message }) => `${path}: ${message}`)
    .join('; ');
}

function revisionOf(metadata: unknown): { uid: string | undefined; generation: number } {
  const { uid, generation } = metadata as { uid?: unknown; generation?: unknown };
  return {
    uid: typeof uid === 'string' ? uid : undefined,
    generation: typeof generation === 'number' ? generation : 1,
  };
}

export function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
