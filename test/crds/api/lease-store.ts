/** One Lease of an API server, in memory: versions, conflicts, and faults on demand. */
import { ApiClient } from '#crds/api/api-client.ts';
import type { ApiRequest, ApiResponse } from '#crds/api/transport.ts';
import { failure, json, ScriptedTransport, silence } from './scripted-transport.ts';

interface Stored {
  readonly metadata: Readonly<Record<string, unknown>>;
  readonly spec: Readonly<Record<string, unknown>>;
}

/** `lost`: the write is done, but its answer never comes. */
export type LeaseFault = 'none' | 'refuse' | 'black-hole' | 'lost';

export class LeaseStore {
  stored: Stored | undefined;
  /** What was written, in order. */
  readonly writes: { readonly method: string; readonly spec: Stored['spec'] }[] = [];
  #version = 0;

  /** A candidate's way here, which may fail by itself. */
  client(): { readonly client: ApiClient; fault: LeaseFault } {
    const way: { client: ApiClient; fault: LeaseFault } = {
      fault: 'none',
      client: new ApiClient(new ScriptedTransport((request) => this.#pass(request, way.fault))),
    };
    return way;
  }

  /** As a third party would. */
  change(spec: Stored['spec']): void {
    this.#store({ metadata: { ...this.stored?.metadata }, spec: { ...this.stored?.spec, ...spec } });
  }

  #pass(request: ApiRequest, fault: LeaseFault): ApiResponse | Promise<ApiResponse> {
    if (fault === 'refuse') return Promise.reject(new Error('refused'));
    if (fault === 'black-hole') return silence(request);
    const answer = this.#answer(request);
    return fault === 'lost' && request.method !== 'GET' ? silence(request) : answer;
  }

  #answer(request: ApiRequest): ApiResponse {
    if (request.method === 'GET') return this.stored ? json(this.stored) : failure(404, 'NotFound');
    const given = JSON.parse(request.body ?? '') as Stored;
    if (request.method === 'POST' && this.stored) return failure(409, 'AlreadyExists');
    if (request.method === 'PUT' && !this.stored) return failure(404, 'NotFound');
    const isCurrent = given.metadata['resourceVersion'] === this.stored?.metadata['resourceVersion'];
    if (request.method === 'PUT' && !isCurrent) return failure(409, 'Conflict');
    this.writes.push({ method: request.method, spec: given.spec });
    this.#store(given);
    return json(this.stored);
  }

  #store(given: Stored): void {
    this.#version += 1;
    const metadata = { uid: 'u', ...given.metadata, resourceVersion: String(this.#version) };
    this.stored = { ...given, metadata };
  }
}
