/** An API server that knows ConfigMaps and Secrets of one namespace: reads, lists by name, watches; and goes away when told. */
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { ApiObject } from '#crds/api/api-object.ts';
import type { ApiRequest, ApiResponse, Transport } from '#crds/api/transport.ts';
import type { EncodedSnapshot } from '#crds/snapshot/encode.ts';
import { indexObject, type SnapshotObject, shardObject, sharesObject } from '#crds/snapshot/object-names.ts';

export const NAMESPACE = 'gateways';
export const RELEASE = 'rel';

interface Watch {
  readonly id: string;
  send(line: string): void;
  end(): void;
}

interface Answer {
  readonly status: number;
  readonly body: AsyncIterable<Uint8Array> | string;
}

const PLURALS = { ConfigMap: 'configmaps', Secret: 'secrets' } as const;

function refusal(status: number, reason: string, message: string): Answer {
  return { status, body: JSON.stringify({ kind: 'Status', status: 'Failure', reason, message, code: status }) };
}

export class ScriptedApi implements Transport {
  /** `GET configmaps rel-snapshot-0`, `LIST ...`, `WATCH ...`, in the order of their arrival. */
  readonly requests: string[] = [];
  /** Asked for each read; a number is the status of the failure. */
  failing: (request: string) => number | undefined = () => undefined;
  readonly #objects = new Map<string, ApiObject>();
  readonly #watches = new Set<Watch>();
  /** Events so far, for watches from an older version. */
  readonly #history: { readonly version: number; readonly id: string; readonly line: string }[] = [];
  readonly #servers: Server[] = [];
  #version = 100;
  #isDown = false;

  get watches(): number {
    return this.#watches.size;
  }

  /** Shards first, the index last, as the operator writes. */
  publish(snapshot: EncodedSnapshot): void {
    this.putShards(snapshot);
    this.putIndex(snapshot.index);
  }

  putShards({ shards }: EncodedSnapshot): void {
    for (const [shard, bytes] of shards) this.#put(shardObject(RELEASE, shard), bytes);
  }

  putIndex(text: string): void {
    this.#put(indexObject(RELEASE), text);
  }

  /** What replicas are told of one another. */
  putShares(content: Uint8Array | string): void {
    this.#put(sharesObject(RELEASE), content);
  }

  deleteAll(): void {
    for (const [key, object] of [...this.#objects]) {
      this.#objects.delete(key);
      this.#tell('DELETED', key, this.#versioned(object));
    }
  }

  /** Connections break, and new ones are refused. */
  goAway(): void {
    this.#isDown = true;
    for (const watch of [...this.#watches]) watch.end();
    for (const server of this.#servers) server.closeAllConnections();
  }

  comeBack(): void {
    this.#isDown = false;
  }

  async send({ path, signal }: ApiRequest): Promise<ApiResponse> {
    if (this.#isDown) throw new Error('connect ECONNREFUSED');
    const { status, body } = this.#answer(path, signal);
    return { status, headers: {}, body: typeof body === 'string' ? chunksOf(body) : body };
  }

  async close(): Promise<void> {
    for (const watch of [...this.#watches]) watch.end();
    for (const server of this.#servers.splice(0)) {
      server.closeAllConnections();
      server.close();
    }
  }

  /** The same over HTTP; its origin. */
  async listen(): Promise<string> {
    const server = createServer(async (request, response) => {
      if (this.#isDown) return void request.socket.destroy();
      const gone = new AbortController();
      response.on('close', () => gone.abort());
      const { status, body } = this.#answer(request.url ?? '', gone.signal);
      response.writeHead(status, { 'content-type': 'application/json' }).flushHeaders();
      for await (const chunk of typeof body === 'string' ? chunksOf(body) : body) response.write(chunk);
      response.end();
    });
    this.#servers.push(server);
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  }

  #answer(path: string, signal: AbortSignal | undefined): Answer {
    const url = new URL(path, 'http://api');
    const [, plural = '', named = ''] =
      /^\/api\/v1\/namespaces\/gateways\/(\w+)(?:\/([^/]+))?$/.exec(url.pathname) ?? [];
    const selected = url.searchParams.get('fieldSelector')?.replace('metadata.name=', '');
    const name = named || selected;
    const isWatch = url.searchParams.get('watch') === 'true';
    const request = `${isWatch ? 'WATCH' : named === '' ? 'LIST' : 'GET'} ${plural} ${name}`;
    this.requests.push(request);
    // What a Role that is limited to names allows.
    if (plural === '' || name === undefined) return refusal(403, 'Forbidden', `${url.pathname} is forbidden`);
    const status = this.failing(request);
    if (status !== undefined) return refusal(status, 'Scripted', 'as the test says');
    const since = Number(url.searchParams.get('resourceVersion'));
    if (isWatch) return { status: 200, body: this.#watch(`${plural} ${name}`, since, signal) };
    const object = this.#objects.get(`${plural} ${name}`);
    if (named !== '') {
      return object === undefined
        ? refusal(404, 'NotFound', `${plural} "${name}" not found`)
        : { status: 200, body: JSON.stringify(object) };
    }
    const list = { kind: 'List', apiVersion: 'v1', metadata: { resourceVersion: String(this.#version) } };
    return { status: 200, body: JSON.stringify({ ...list, items: object === undefined ? [] : [object] }) };
  }

  async *#watch(id: string, since: number, signal: AbortSignal | undefined): AsyncGenerator<Uint8Array> {
    const missed = this.#history.filter((event) => event.id === id && event.version > since);
    const lines = missed.map(({ line }) => line);
    let isEnded = false;
    let wake = () => {};
    const watch: Watch = {
      id,
      send: (line) => {
        lines.push(line);
        wake();
      },
      end: () => {
        isEnded = true;
        wake();
      },
    };
    signal?.addEventListener('abort', watch.end);
    this.#watches.add(watch);
    try {
      while (!isEnded) {
        for (const line of lines.splice(0)) yield Buffer.from(`${line}\n`);
        await new Promise<void>((resolve) => {
          wake = resolve;
          if (isEnded || lines.length > 0) resolve();
        });
      }
    } finally {
      this.#watches.delete(watch);
    }
  }

  #put({ kind, name, key }: SnapshotObject, content: Uint8Array | string): void {
    const id = `${PLURALS[kind]} ${name}`;
    const data =
      typeof content === 'string'
        ? { data: { [key]: content } }
        : { [kind === 'Secret' ? 'data' : 'binaryData']: { [key]: Buffer.from(content).toString('base64') } };
    const object = this.#versioned({ apiVersion: 'v1', kind, metadata: { name, namespace: NAMESPACE }, ...data });
    const type = this.#objects.has(id) ? 'MODIFIED' : 'ADDED';
    this.#objects.set(id, object);
    this.#tell(type, id, object);
  }

  #versioned(object: ApiObject): ApiObject {
    this.#version += 1;
    return { ...object, metadata: { ...object.metadata, resourceVersion: String(this.#version) } };
  }

  #tell(type: string, id: string, object: ApiObject): void {
    const line = JSON.stringify({ type, object });
    this.#history.push({ version: this.#version, id, line });
    for (const watch of this.#watches) if (watch.id === id) watch.send(line);
  }
}

async function* chunksOf(text: string): AsyncGenerator<Uint8Array> {
  yield Buffer.from(text);
}
