/** An API server that has EndpointSlices alone, listed and watched: a Transport in memory. */
import type { ApiObject } from '#crds/api/api-object.ts';
import type { ApiRequest, ApiResponse, Transport } from '#crds/api/transport.ts';

export interface EndpointLine {
  readonly address: string;
  readonly pod?: string;
  /** Absent: not said. */
  readonly ready?: boolean;
  readonly terminating?: boolean;
}

export interface SlicePort {
  readonly name?: string | null;
  readonly port?: number | null;
}

export function slice(
  name: string,
  endpoints: readonly EndpointLine[],
  addressType = 'IPv4',
  ports?: readonly SlicePort[] | null,
): ApiObject {
  return {
    apiVersion: 'discovery.k8s.io/v1',
    kind: 'EndpointSlice',
    metadata: { name, namespace: 'gateways', labels: { 'kubernetes.io/service-name': 'gateway' } },
    addressType,
    ...(ports === undefined ? {} : { ports }),
    endpoints: endpoints.map(({ address, pod, ready, terminating }) => ({
      addresses: [address],
      conditions: { ...(ready === undefined ? {} : { ready }), ...(terminating === undefined ? {} : { terminating }) },
      ...(pod === undefined ? {} : { targetRef: { kind: 'Pod', name: pod, namespace: 'gateways' } }),
    })),
  };
}

export class SliceServer implements Transport {
  readonly paths: string[] = [];
  readonly #slices = new Map<string, ApiObject>();
  readonly #watches = new Set<(line: string) => void>();
  #version = 100;

  put(object: ApiObject): void {
    this.#change(object, this.#slices.has(object.metadata.name) ? 'MODIFIED' : 'ADDED');
  }

  remove(name: string): void {
    const object = this.#slices.get(name);
    if (object === undefined) throw new Error(`there is no ${name}`);
    this.#change(object, 'DELETED');
  }

  async send({ path, signal }: ApiRequest): Promise<ApiResponse> {
    this.paths.push(path);
    const isWatch = new URL(path, 'http://server').searchParams.has('watch');
    return { status: 200, headers: {}, body: isWatch ? this.#watch(signal) : this.#list() };
  }

  async close(): Promise<void> {}

  #change(object: ApiObject, type: 'ADDED' | 'MODIFIED' | 'DELETED'): void {
    this.#version += 1;
    const stored = { ...object, metadata: { ...object.metadata, resourceVersion: String(this.#version) } };
    if (type === 'DELETED') this.#slices.delete(object.metadata.name);
    else this.#slices.set(object.metadata.name, stored);
    for (const push of this.#watches) push(`${JSON.stringify({ type, object: stored })}\n`);
  }

  async *#list(): AsyncGenerator<Uint8Array> {
    const metadata = { resourceVersion: String(this.#version) };
    yield Buffer.from(JSON.stringify({ kind: 'EndpointSliceList', metadata, items: [...this.#slices.values()] }));
  }

  async *#watch(signal: AbortSignal | undefined): AsyncGenerator<Uint8Array> {
    const lines: string[] = [];
    let wake = () => {};
    const push = (line: string) => {
      lines.push(line);
      wake();
    };
    signal?.addEventListener('abort', () => wake());
    this.#watches.add(push);
    try {
      while (signal?.aborted !== true) {
        const line = lines.shift();
        if (line !== undefined) yield Buffer.from(line);
        else {
          await new Promise<void>((resolve) => {
            wake = resolve;
          });
        }
      }
    } finally {
      this.#watches.delete(push);
    }
    throw signal.reason;
  }
}
