/** A reflection of scripted ConfigMaps, and what became of it. */
import { ApiClient } from '#crds/api/api-client.ts';
import { ApiError } from '#crds/api/api-error.ts';
import { CONFIG_MAPS } from '#crds/api/api-object.ts';
import { Backoff } from '#crds/api/backoff.ts';
import { type ReflectOptions, reflect } from '#crds/api/reflector.ts';
import type { ApiRequest, ApiResponse } from '#crds/api/transport.ts';
import { json, listOf, queryOf, ScriptedTransport, Stream } from './scripted-transport.ts';

export interface Script {
  /** Default: an empty list of version 10. */
  list?: (request: ApiRequest) => ApiResponse | Promise<ApiResponse>;
  /** Default: a stream that the test writes. */
  watch?: (request: ApiRequest, stream: Stream) => ApiResponse | Promise<ApiResponse>;
}

export function reflected(script: Script = {}, options: Partial<ReflectOptions> = {}) {
  const watches: Stream[] = [];
  const lists: ApiRequest[] = [];
  const faults: Error[] = [];
  const changes: string[][] = [];
  const transport = new ScriptedTransport((request) => {
    if (queryOf(request)['watch'] === 'true') {
      const stream = new Stream(request);
      watches.push(stream);
      return script.watch?.(request, stream) ?? stream.response;
    }
    lists.push(request);
    return script.list?.(request) ?? json(listOf(10));
  });
  const reflection = reflect({
    client: new ApiClient(transport),
    resource: CONFIG_MAPS,
    backoff: new Backoff({ random: () => 1 }),
    onChange: () => changes.push(held()),
    onFault: (error) => faults.push(error),
    ...options,
  });
  /** `namespace/name@version`, sorted. */
  function held(): string[] {
    return [...reflection.objects].map(([key, { metadata }]) => `${key}@${metadata.resourceVersion}`).sort();
  }
  return {
    script,
    transport,
    reflection,
    watches,
    lists,
    faults,
    changes,
    held,
    reasons: () => faults.map((error) => (error instanceof ApiError ? error.reason : error.message)),
    /** The watch that is running, or the last one. */
    get watch(): Stream {
      const last = watches.at(-1);
      if (last === undefined) throw new Error('there was no watch yet');
      return last;
    },
  };
}
