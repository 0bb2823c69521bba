/** An API server that has GatewayConfigs and takes statuses: a Transport that answers as it is told. */
import type { ApiObject } from '#crds/api/api-object.ts';
import type { ApiRequest, ApiResponse, Transport } from '#crds/api/transport.ts';
import type { StoredCondition } from '#operator/apply/status-object.ts';

export type Fault = { readonly status: number; readonly retryAfter?: string } | 'no answer';

export interface Write {
  readonly name: string;
  readonly query: URLSearchParams;
  readonly body: ApiObject;
  readonly atMs: number;
}

export class StatusServer implements Transport {
  readonly objects = new Map<string, ApiObject>();
  /** What a watch has told of: `objects`, or older. */
  readonly observed = new Map<string, ApiObject>();
  /** That were taken, or refused. */
  readonly writes: Write[] = [];
  readonly refused: Write[] = [];
  readonly asked: string[] = [];
  inFlight = 0;
  mostInFlight = 0;
  latencyMs = 1;
  /** Whether the watch tells at once. */
  watches = true;
  fault: (name: string) => Fault | undefined = () => undefined;
  #version = 1000;

  put(name: string, generation = 1, uid = `uid-of-${name}`): void {
    const metadata = { name, namespace: 'default', uid, generation, resourceVersion: String(++this.#version) };
    const status = this.objects.get(name)?.metadata.uid === uid ? this.objects.get(name)?.['status'] : undefined;
    this.#store(name, { apiVersion: 'modelgateway.dev/v1alpha1', kind: 'GatewayConfig', metadata, spec: {}, status });
  }

  /** As somebody else would. */
  setStatus(name: string, status: unknown): void {
    const object = this.object(name);
    this.#store(name, {
      ...object,
      metadata: { ...object.metadata, resourceVersion: String(++this.#version) },
      status,
    });
  }

  remove(name: string): void {
    this.objects.delete(name);
    if (this.watches) this.observed.delete(name);
  }

  /** The watch tells of what it has not told of. */
  catchUp(): void {
    this.observed.clear();
    for (const [name, object] of this.objects) this.observed.set(name, object);
  }

  object(name: string): ApiObject {
    const object = this.objects.get(name);
    if (object === undefined) throw new Error(`there is no ${name}`);
    return object;
  }

  condition(name: string, type: string): StoredCondition | undefined {
    const status = this.object(name)['status'] as { conditions?: readonly StoredCondition[] } | undefined;
    return status?.conditions?.find((condition) => condition.type === type);
  }

  async send({ method, path, body = '', contentType }: ApiRequest): Promise<ApiResponse> {
    const url = new URL(path, 'http://server');
    const name = /^\/apis\/modelgateway\.dev\/v1alpha1\/namespaces\/default\/gatewayconfigs\/([^/]+)\/status$/.exec(
      url.pathname,
    )?.[1];
    if (method !== 'PATCH' || name === undefined || contentType !== 'application/apply-patch+yaml') {
      throw new Error(`nobody asks for ${method} ${path}`);
    }
    this.asked.push(name);
    this.inFlight += 1;
    this.mostInFlight = Math.max(this.mostInFlight, this.inFlight);
    await new Promise((resolve) => setTimeout(resolve, this.latencyMs));
    this.inFlight -= 1;
    return this.#answer({ name, query: url.searchParams, body: JSON.parse(body), atMs: performance.now() });
  }

  async close(): Promise<void> {}

  #answer(write: Write): ApiResponse {
    const fault = this.fault(write.name) ?? this.#faultOf(write);
    if (fault === undefined) {
      this.writes.push(write);
      return answer(200, this.#apply(write));
    }
    this.refused.push(write);
    if (fault === 'no answer') throw new Error('connect ECONNREFUSED');
    return answer(fault.status, { kind: 'Status', message: 'no' }, fault.retryAfter);
  }

  #faultOf({ name, body }: Write): Fault | undefined {
    const object = this.objects.get(name);
    if (object === undefined) return { status: 404 };
    return object.metadata.uid === body.metadata.uid ? undefined : { status: 409 };
  }

  /** What says the same makes no new version. */
  #apply({ name, body }: Write): ApiObject {
    const object = this.object(name);
    if (JSON.stringify(object['status']) !== JSON.stringify(body['status'])) this.setStatus(name, body['status']);
    return this.object(name);
  }

  #store(name: string, object: ApiObject): void {
    this.objects.set(name, object);
    if (this.watches) this.observed.set(name, object);
  }
}

function answer(status: number, body: unknown, retryAfter?: string): ApiResponse {
  async function* bytes() {
    yield Buffer.from(JSON.stringify(body));
  }
  return { status, headers: { 'retry-after': retryAfter }, body: bytes() };
}
