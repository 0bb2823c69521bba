/** `GET /v1/models`: the models of the Integrations that the caller may use, as `@slug/model`. */
import { GatewayError } from './errors.ts';
import type { Caller } from './exchange.ts';
import type { ActiveSnapshot } from './snapshot/active-snapshot.ts';

/** Any one of them is enough. */
export const MODEL_SCOPES = ['models.list', 'completions.write'];

interface Model {
  readonly id: string;
  readonly object: 'model';
  readonly created: number;
  readonly owned_by: string;
  readonly slug: string;
}

function modelsOf(snapshot: ActiveSnapshot, caller: Caller): Model[] {
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

/** Body of the list. */
export function listModels(snapshot: ActiveSnapshot, caller: Caller): object {
  const data = modelsOf(snapshot, caller);
  return { object: 'list', data, total_count: data.length };
}

/** One model, by its id; throws `unknown_model`. */
export function retrieveModel(snapshot: ActiveSnapshot, caller: Caller, id: string): object {
  const model = modelsOf(snapshot, caller).find((candidate) => candidate.id === id || candidate.slug === id);
  if (model !== undefined) return model;
  throw new GatewayError(
    'unknown_model',
    `There is no model "${id.slice(0, 200)}" among those that your workspace lists.`,
    { param: 'model' },
  );
}
