/** `GET /v1/models`: the models of the Integrations that the caller may use, as `@slug/model`. */
import type { IncomingHttpHeaders } from 'node:http';
import { authenticate } from './authenticate.ts';
import { GatewayError } from './errors.ts';
import type { ActiveSnapshot } from './snapshot/active-snapshot.ts';

const SCOPES = ['models.list', 'completions.write'];

interface Model {
  readonly id: string;
  readonly object: 'model';
  readonly created: number;
  readonly owned_by: string;
  readonly slug: string;
}

function modelsOf(headers: IncomingHttpHeaders, snapshot: ActiveSnapshot, open: boolean): Model[] {
  const { caller } = authenticate(headers, snapshot, open, SCOPES);
  const created = Math.floor(snapshot.loadedAt.getTime() / 1000);
  return snapshot.integrationsOf(caller.namespace).flatMap((integration) =>
    integration.models
      .filter((model) => model.enabled)
      .map((model) => ({
        id: `@${integration.name}/${model.slug}`,
        object: 'model' as const,
        created,
        owned_by: integration.provider,
        slug: model.slug,
      })),
  );
}

/** Body of the list. Throws `invalid_api_key` or `missing_scope`. */
export function listModels(headers: IncomingHttpHeaders, snapshot: ActiveSnapshot, open: boolean): object {
  const data = modelsOf(headers, snapshot, open);
  return { object: 'list', data, total_count: data.length };
}

/** One model, by its id; throws `unknown_model` besides. */
export function retrieveModel(
  headers: IncomingHttpHeaders,
  snapshot: ActiveSnapshot,
  open: boolean,
  id: string,
): object {
  const model = modelsOf(headers, snapshot, open).find((candidate) => candidate.id === id || candidate.slug === id);
  if (model === undefined)
    throw new GatewayError(
      'unknown_model',
      `There is no model "${id.slice(0, 200)}" among those that your workspace lists.`,
      { param: 'model' },
    );
  return model;
}
