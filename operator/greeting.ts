/** The call that a new user can paste: with which key, to which model. Pure text. */

import type { Snapshot } from '#crds/snapshot/contract.ts';
import { KEY_FIELD } from './compile/api-key.ts';
import { nodesOf } from './compile/providers.ts';
import type { Observation, SecretObject } from './world.ts';

export interface GreetingInput {
  readonly origin: string;
  readonly adminOrigin: string;
  readonly snapshot: Snapshot;
  readonly observation: Observation;
  /** No key is asked. */
  readonly open: boolean;
  /** A person reads this: a generated key may be shown. */
  readonly terminal: boolean;
  /** Absolute path of a file that is shown as `file`. */
  readonly pathOf: (file: string) => string;
}

type KeyRecord = Snapshot['keys'][number];
interface UsableKey {
  readonly record: KeyRecord;
  readonly secret: SecretObject;
}

/** Where everything is, and a `curl` that works as it stands. */
export function greetingOf(input: GreetingInput): string {
  const where = [`API    ${input.origin}/v1`, `Admin  ${input.adminOrigin}/healthz /readyz /metrics /config`];
  const key = input.open ? undefined : usableKey(input);
  if (!input.open && key === undefined) {
    return [...where, '', 'No ApiKey can be used yet, so every call ends in 401: see the table above.'].join('\n');
  }
  const file = key?.secret.place?.file;
  if (key !== undefined)
    where.push(`Key    of ApiKey ${key.record.namespace}/${key.record.name}: ${file ?? 'in its Secret'}`);
  const { namespace = 'default' } = key?.record ?? {};
  const model = modelFor(input.snapshot, namespace, key?.record.config_id);
  if (model === undefined)
    return [...where, '', `Nothing in ${namespace} can answer yet: add a GatewayConfig or an Integration.`].join('\n');
  const lines = [
    `curl -i ${input.origin}/v1/chat/completions`,
    ...keyHeader(input, key),
    "-H 'content-type: application/json'",
  ];
  const body = JSON.stringify({ model, messages: [{ role: 'user', content: 'Hello' }] });
  return [...where, '', 'Try it:', '', `${[...lines, `-d ${quoted(body)}`].join(' \\\n  ')}`].join('\n');
}

/** A generated key before a user's own, by name. */
function usableKey({ snapshot, observation }: GreetingInput): UsableKey | undefined {
  const keys = snapshot.keys
    .filter(({ disabled, expires_at_ms: expiresAtMs }) => !disabled && expiresAtMs === undefined)
    .flatMap((record) => {
      const secret = secretOf(record, observation);
      return secret === undefined ? [] : [{ record, secret }];
    });
  return keys.find(({ secret }) => secret.generated) ?? keys[0];
}

function secretOf({ namespace, name }: KeyRecord, observation: Observation): SecretObject | undefined {
  const manifest = observation.manifests.find(
    (candidate) => candidate.kind === 'ApiKey' && candidate.namespace === namespace && candidate.name === name,
  );
  const spec = manifest?.raw.spec as { secret_name?: unknown } | undefined;
  const secretName = typeof spec?.secret_name === 'string' ? spec.secret_name : `${name}-api-key`;
  return observation.secrets.find((secret) => secret.namespace === namespace && secret.name === secretName);
}

/** Into a log goes only the place of a key; a key that a user brought is never shown. */
function keyHeader({ terminal, pathOf }: GreetingInput, key: UsableKey | undefined): string[] {
  if (key === undefined) return [];
  const { generated, place, values, namespace, name } = key.secret;
  if (!generated || place === undefined)
    return [`-H "x-gateway-api-key: <${KEY_FIELD} of Secret ${namespace}/${name}>"`];
  if (terminal) return [`-H ${quoted(`x-gateway-api-key: ${values.get(KEY_FIELD) ?? ''}`)}`];
  return [`-H "x-gateway-api-key: $(sed -n 's/^ *${KEY_FIELD}: //p' ${quoted(pathOf(place.file))})"`];
}

/** A model that the caller's default config, or an Integration that it may use, can answer with. */
function modelFor(snapshot: Snapshot, namespace: string, configId: string | undefined): string | undefined {
  const config = snapshot.configs.find((record) =>
    configId === undefined ? record.namespace === namespace && record.is_default : record.name === configId,
  );
  if (config !== undefined) {
    const models = nodesOf(config.config).map((node) => node.config.override_params?.model);
    return models.findLast((model) => typeof model === 'string') ?? 'echo';
  }
  const integration = snapshot.integrations.find(
    (record) => record.namespace === namespace || record.shared_with === '*',
  );
  if (integration === undefined) return undefined;
  return `@${integration.name}/${integration.models.find(({ enabled }) => enabled)?.slug ?? 'echo'}`;
}

function quoted(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`;
}
