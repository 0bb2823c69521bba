/** What a rule asks a server, and a line for each answer: the same for every server that keeps the rule. */
import { type Address, type ApiObject, CONFIG_MAPS, pathOf, type Resource } from '#crds/api/api-object.ts';
import type { ApiRequest, Transport } from '#crds/api/transport.ts';
import { Normalizer } from './normalizer.ts';

export type Json = Readonly<Record<string, unknown>>;

export interface Extras {
  readonly contentType?: string;
  readonly accept?: string;
}

/** How far a watch is followed. */
export interface WatchUntil {
  /** Ends after so many events, or at the end of the initial ones. Default: when the server ends it. */
  readonly events?: number;
  readonly accept?: string;
}

const MERGE = 'application/merge-patch+json';
const APPLY = 'application/apply-patch+yaml';
const PATIENCE_MS = 20_000;

export class Asking {
  readonly namespace: string;
  /** A line for each answer. */
  readonly lines: string[] = [];
  readonly #transport: Transport;
  readonly #normalizer: Normalizer;

  constructor(transport: Transport, namespace: string) {
    this.#transport = transport;
    this.namespace = namespace;
    this.#normalizer = new Normalizer(namespace);
  }

  create(resource: Resource, object: Json, query: Address['query'] = {}): Promise<ApiObject> {
    const path = this.#path(resource, { query });
    return this.send({ method: 'POST', path, contentType: 'application/json', body: JSON.stringify(object) });
  }

  replace(resource: Resource, name: string, object: Json, address: Address = {}): Promise<ApiObject> {
    const path = this.#path(resource, { name, ...address });
    return this.send({ method: 'PUT', path, contentType: 'application/json', body: JSON.stringify(object) });
  }

  merge(resource: Resource, name: string, patch: unknown, address: Address = {}): Promise<ApiObject> {
    const path = this.#path(resource, { name, ...address });
    return this.send({ method: 'PATCH', path, contentType: MERGE, body: JSON.stringify(patch) });
  }

  /** Server-side apply. `manager` undefined: names none. */
  apply(resource: Resource, object: Json, manager: string | undefined, address: Address = {}): Promise<ApiObject> {
    const { apiVersion, kind } = resource;
    const name = String(Object(object['metadata']).name);
    const query = { fieldManager: manager, ...address.query };
    const path = this.#path(resource, { name, ...address, query });
    return this.send({
      method: 'PATCH',
      path,
      contentType: APPLY,
      body: JSON.stringify({ apiVersion, kind, ...object }),
    });
  }

  read(resource: Resource, name: string, { accept }: Extras = {}): Promise<ApiObject> {
    return this.send({ method: 'GET', path: this.#path(resource, { name }), ...(accept && { accept }) });
  }

  list(resource: Resource, query: Address['query'] = {}, { accept }: Extras = {}): Promise<ApiObject> {
    return this.send({ method: 'GET', path: this.#path(resource, { query }), ...(accept && { accept }) });
  }

  remove(resource: Resource, name: string, options?: Json): Promise<ApiObject> {
    const body = options && { contentType: 'application/json', body: JSON.stringify(options) };
    return this.send({ method: 'DELETE', path: this.#path(resource, { name }), ...body });
  }

  /** Any request. Gives the document of the answer. */
  async send(request: ApiRequest): Promise<ApiObject> {
    const { status, headers, body } = await this.#transport.send(request);
    const chunks: Uint8Array[] = [];
    for await (const chunk of body) chunks.push(chunk);
    const document = parsed(Buffer.concat(chunks).toString());
    const warning = headers['warning'] === undefined ? '' : ` warning: ${headers['warning']}`;
    const told = this.#normalizer.document(document);
    this.lines.push(`${this.#asked(request)} -> ${status}${this.#normalizer.text(warning)} ${told}`);
    return document;
  }

  /** Notes the events of a watch, one line each. */
  async watch(resource: Resource, query: Address['query'], until: WatchUntil = {}): Promise<void> {
    const path = this.#path(resource, { query: { ...query, watch: true } });
    const giveUp = new AbortController();
    const timer = setTimeout(() => giveUp.abort(new Error('too late')), PATIENCE_MS);
    try {
      const request = {
        method: 'GET',
        path,
        signal: giveUp.signal,
        ...(until.accept && { accept: until.accept }),
      } as const;
      const { status, body } = await this.#transport.send(request);
      this.lines.push(`${this.#asked(request)} -> ${status}`);
      await this.#follow(body, until.events ?? Number.POSITIVE_INFINITY);
    } catch (error) {
      this.note(`gave up: ${(error as Error).message}`);
    } finally {
      clearTimeout(timer);
      giveUp.abort(new Error('enough'));
    }
  }

  /** A line of the rule's own. */
  note(line: string): void {
    this.lines.push(this.#normalizer.text(line));
  }

  async #follow(body: AsyncIterable<Uint8Array>, most: number): Promise<void> {
    let text = '';
    let seen = 0;
    for await (const chunk of body) {
      text += Buffer.from(chunk).toString();
      for (let end = text.indexOf('\n'); end !== -1; end = text.indexOf('\n')) {
        const event = parsed(text.slice(0, end));
        text = text.slice(end + 1);
        if (event['type'] === 'BOOKMARK') {
          this.#bookmark(Object(event['object']));
          if (isInitialEnd(event)) return;
          continue;
        }
        this.lines.push(`  ${event['type'] ?? ''} ${this.#normalizer.document(Object(event['object'] ?? event))}`);
        seen += 1;
        if (seen >= most) return;
      }
    }
    this.note('  ended by the server');
  }

  /** One or more, as it happens. */
  #bookmark({ kind, apiVersion, metadata }: ApiObject): void {
    const isVersion = /^\d+$/.test(metadata.resourceVersion ?? '');
    const line = `  BOOKMARK ${apiVersion} ${kind} ${isVersion} ${JSON.stringify(metadata.annotations ?? {})}`;
    if (this.lines.at(-1) !== line) this.lines.push(line);
  }

  #path(resource: Resource, address: Address): string {
    return pathOf(resource, { namespace: this.namespace, ...address });
  }

  #asked(request: ApiRequest): string {
    return this.#normalizer.text(asked(request));
  }
}

/** All that there was has been told. */
function isInitialEnd(event: ApiObject): boolean {
  return JSON.stringify(event).includes('"k8s.io/initial-events-end":"true"');
}

function asked({ method, path, contentType = '' }: ApiRequest): string {
  const verb = contentType === APPLY ? 'APPLY' : contentType === MERGE ? 'MERGE' : method;
  return `${verb} ${decodeURIComponent(path.replaceAll('+', ' '))}`;
}

function parsed(text: string): ApiObject {
  try {
    return JSON.parse(text);
  } catch {
    return { unparsed: text } as unknown as ApiObject;
  }
}

export function configMap(name: string, data: Json = {}, metadata: Json = {}): Json {
  return { ...withoutPlural(CONFIG_MAPS), metadata: { name, ...metadata }, data };
}

export function withoutPlural({ apiVersion, kind }: Resource): Json {
  return { apiVersion, kind };
}
