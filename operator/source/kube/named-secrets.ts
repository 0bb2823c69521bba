/** Which Secrets a manifest names, good or bad: read before it is judged, so that it can be judged. */
import type { Manifest } from '../../world.ts';

type Names = (spec: Readonly<Record<string, unknown>>, name: string) => readonly unknown[];

const NAMED_BY: Readonly<Record<string, Names>> = {
  ApiKey: (spec, name) => [spec['secret_name'] ?? `${name}-api-key`],
  Integration: (spec) => listOf(spec['secret_mappings']).map((mapping) => Object(mapping)['secret_name']),
};

/** `namespace/name` of each. */
export function namedSecrets({ kind, namespace, name, raw }: Manifest): readonly string[] {
  const names = NAMED_BY[kind]?.(Object(raw['spec']), name) ?? [];
  return names.filter((secret) => typeof secret === 'string').map((secret) => `${namespace}/${secret}`);
}

function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}
