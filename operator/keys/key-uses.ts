/** When keys were used last, as gateways tell, for their statuses. */
import type { ObjectStatus, StatusFields } from '../compile/status.ts';

/** As `GET /usage` of a gateway has it. */
export interface KeyUse {
  readonly namespace: string;
  readonly name: string;
  /** Unix milliseconds. */
  readonly last_used_at_ms: number;
}

/** A status is not written for each request. */
const COARSE_MS = 10 * 60_000;

export class KeyUses {
  /** What is told; by `namespace/name`. */
  readonly #told = new Map<string, { readonly atMs: number; readonly fields: StatusFields }>();

  /** What one replica says. true: a status is to be told anew. */
  note(uses: Iterable<KeyUse>): boolean {
    let isNews = false;
    for (const { namespace, name, last_used_at_ms: atMs } of uses) {
      const id = `${namespace}/${name}`;
      const told = this.#told.get(id);
      if (told !== undefined && atMs < told.atMs + COARSE_MS) continue;
      this.#told.set(id, { atMs, fields: { last_used_at: new Date(atMs).toISOString() } });
      isNews = true;
    }
    return isNews;
  }

  /** For `LoopOptions.fieldsOf`; undefined: nobody used it since this program began. */
  readonly fieldsOf = ({ kind, namespace, name }: ObjectStatus): StatusFields | undefined =>
    kind === 'ApiKey' && this.#told.size > 0 ? this.#told.get(`${namespace}/${name}`)?.fields : undefined;

  /** `statuses`: of all objects there are. Forgets keys that are gone, where there are many. */
  retain(statuses: readonly ObjectStatus[]): void {
    if (this.#told.size <= statuses.length) return;
    const known = new Set(statuses.map(({ kind, namespace, name }) => `${kind} ${namespace}/${name}`));
    for (const id of this.#told.keys()) if (!known.has(`ApiKey ${id}`)) this.#told.delete(id);
  }
}
