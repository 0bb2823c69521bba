/** Which providers and Integrations an object names, and whether the gateway has such providers. */

import type { Config } from '#crds/config/schema.ts';
import { nearest } from '#crds/config/spelling.ts';
import type { AcceptedObject } from './check.ts';
import type { Verdict } from './status.ts';

/** What the gateway says of its providers (`#gateway/catalog.ts`). */
export interface Catalog {
  readonly providers: ReadonlyMap<string, { readonly needsCredential: boolean; readonly hasBaseUrl: boolean }>;
}

export interface ConfigNode {
  /** `config`, or `config.targets[0].targets[1]`: the path of credential records. */
  readonly path: string;
  readonly config: Config;
}

/** The config and all targets below it, parents first. */
export function nodesOf(config: Config, path = 'config'): readonly ConfigNode[] {
  const below = (config.targets ?? []).flatMap((target, index) => nodesOf(target, `${path}.targets[${index}]`));
  return [{ path, config }, ...below];
}

/** `config.targets[0]` -> `spec.targets[0]`: the path as the manifest's author sees it. */
export function specPath(node: ConfigNode, field: string): string {
  return `${node.path.replace(/^config/, 'spec')}.${field}`;
}

export function providerVerdict(object: AcceptedObject, catalog: Catalog): Verdict | undefined {
  if (object.kind === 'Integration') return unknownProvider('spec.provider', object.spec.provider, catalog);
  if (object.kind !== 'GatewayConfig') return undefined;
  for (const node of nodesOf(object.spec)) {
    const { provider, custom_host: customHost } = node.config;
    if (provider === undefined || provider.startsWith('@')) continue;
    const verdict = unknownProvider(specPath(node, 'provider'), provider, catalog);
    if (verdict !== undefined) return verdict;
    if (customHost === undefined && catalog.providers.get(provider)?.hasBaseUrl === false) {
      return missingHost(specPath(node, 'custom_host'), provider);
    }
  }
  return undefined;
}

function unknownProvider(path: string, provider: string, catalog: Catalog): Verdict | undefined {
  if (catalog.providers.has(provider)) return undefined;
  const known = [...catalog.providers.keys()].sort();
  const meant = nearest(provider, known);
  const hint = meant === undefined ? `it knows ${known.join(', ')}` : `did you mean "${meant}"?`;
  return { reason: 'UnknownProvider', message: `${path}: the gateway has no provider "${provider}": ${hint}` };
}

function missingHost(path: string, provider: string): Verdict {
  const message = `${path}: is required: ${provider} has no address of its own, such as "https://llm.internal:8000/v1"`;
  return { reason: 'MissingHost', message };
}
