/**
 * The shares as they are stored: read when this operator begins to lead, written when they say something else. Every write names
 * the version that it replaces, so that one who no longer leads can overwrite nothing.
 */
import type { ApiClient } from '#crds/api/api-client.ts';
import { ApiError } from '#crds/api/api-error.ts';
import { type ApiObject, CONFIG_MAPS } from '#crds/api/api-object.ts';
import { API_GROUP } from '#crds/object.ts';
import { sharesObject } from '#crds/snapshot/object-names.ts';
import { decodeShares, encodeShares, SHARES_KEY, type Shares } from '#crds/snapshot/shares.ts';
import { FIELD_MANAGER } from '../field-owner.ts';
import type { Owner, Place } from '../publish/snapshot-objects.ts';

export interface KeptSharesOptions extends Place {
  readonly client: ApiClient;
  /** With what it goes, as long as that is known. */
  readonly owner: () => Owner;
}

/** On the object; its value is the release. It is none of the snapshot's objects. */
const SHARES_LABEL = `${API_GROUP}/shares`;
/** A ConfigMap holds 1 MiB. */
export const MAX_SHARES_BYTES = 900 * 1024;

export class SharesTooLarge extends Error {
  override readonly name = 'SharesTooLarge';
}

export class KeptShares {
  readonly #options: KeptSharesOptions;
  readonly #name: string;
  #stored: ApiObject | undefined;

  constructor(options: KeptSharesOptions) {
    this.#options = options;
    this.#name = sharesObject(options.release).name;
  }

  /** What is stored now; undefined: nothing that can be read. Rejects with ApiError. */
  async read(): Promise<Shares | undefined> {
    const { client, namespace } = this.#options;
    this.#stored = await client.read(CONFIG_MAPS, namespace, this.#name);
    const bytes = this.#stored && bytesOf(this.#stored);
    try {
      return bytes === undefined ? undefined : decodeShares(bytes);
    } catch {
      return undefined;
    }
  }

  /** Rejects with ApiError, 409 where somebody else wrote since, or SharesTooLarge. */
  async write(shares: Shares): Promise<void> {
    const bytes = encodeShares(shares);
    if (bytes.length > MAX_SHARES_BYTES) throw new SharesTooLarge(`shares: ${bytes.length} bytes are too many`);
    const { client } = this.#options;
    const object = this.#objectOf(bytes);
    this.#stored =
      this.#stored === undefined
        ? await client.create(CONFIG_MAPS, object, FIELD_MANAGER)
        : await client.replace(CONFIG_MAPS, object, FIELD_MANAGER);
  }

  #objectOf(bytes: Buffer): ApiObject {
    const { namespace, release, owner } = this.#options;
    const { resourceVersion, ownerReferences: owners } = this.#stored?.metadata ?? {};
    const known = owner();
    const ownerReferences = known === undefined ? owners : [known];
    const isText = bytes[0] === '{'.charCodeAt(0);
    return {
      apiVersion: CONFIG_MAPS.apiVersion,
      kind: CONFIG_MAPS.kind,
      metadata: {
        name: this.#name,
        namespace,
        labels: { [SHARES_LABEL]: release },
        ...(ownerReferences === undefined ? {} : { ownerReferences }),
        ...(resourceVersion === undefined ? {} : { resourceVersion }),
      },
      ...(isText
        ? { data: { [SHARES_KEY]: bytes.toString() } }
        : { binaryData: { [SHARES_KEY]: bytes.toString('base64') } }),
    };
  }
}

/** Somebody else wrote, or deleted, what was to be replaced. */
export function isOvertaken(error: unknown): boolean {
  return error instanceof ApiError && (error.status === 409 || error.status === 404);
}

function bytesOf(object: ApiObject): Buffer | undefined {
  const { data, binaryData } = object as { data?: Record<string, string>; binaryData?: Record<string, string> };
  const text = data?.[SHARES_KEY];
  if (text !== undefined) return Buffer.from(text);
  const packed = binaryData?.[SHARES_KEY];
  return packed === undefined ? undefined : Buffer.from(packed, 'base64');
}
