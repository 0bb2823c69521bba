/** Whether everything that was asked for is so: what the API server says of each object. */
import { setTimeout } from 'node:timers/promises';
import type { ApiClient } from '#crds/api/api-client.ts';
import { type ApiObject, CONFIG_MAPS, keyOf } from '#crds/api/api-object.ts';
import { indexObject } from '#crds/snapshot/object-names.ts';
import { RESOURCES } from './bench-world.ts';
import type { LoggedProcess } from './logged-process.ts';
import { RELEASE } from './stage.ts';

const POLL_MS = 100;
const LIST_POLL_MS = 2_000;

/** Objects whose present version is not served by every gateway, by what is stored of them. */
export async function unserved(client: ApiClient): Promise<readonly string[]> {
  const lists = await Promise.all(Object.values(RESOURCES).map((resource) => client.listAll(resource, {})));
  const waiting = lists.flatMap(({ items }) => items).filter((object) => !isServed(object));
  return waiting.map((object) => `${object.kind} ${keyOf(object)}`);
}

/**
 * Polls until every object is served; gives the milliseconds that it took. Lists are asked for only once the operator has
 * nothing to write. Rejects after `timeoutMs`, naming some.
 */
export async function settled(client: ApiClient, operator: LoggedProcess, timeoutMs: number): Promise<number> {
  const startedMs = performance.now();
  const { admin } = await operator.said('starting', timeoutMs);
  for (;;) {
    while ((await statusesToWrite(String(admin))) > 0 && performance.now() - startedMs < timeoutMs)
      await setTimeout(POLL_MS);
    const waiting = await unserved(client);
    const tookMs = performance.now() - startedMs;
    if (waiting.length === 0) return tookMs;
    if (tookMs > timeoutMs) {
      throw new Error(`${waiting.length} objects are not served after ${timeoutMs} ms, such as ${waiting[0]}`);
    }
    await setTimeout(LIST_POLL_MS);
  }
}

async function statusesToWrite(adminOrigin: string): Promise<number> {
  const metrics = await (await fetch(`${adminOrigin}/metrics`)).text();
  return Number(/^workqueue_depth\{name="status"\} (\d+)$/m.exec(metrics)?.[1]);
}

/** Of the published index. */
export async function publishedGeneration(client: ApiClient): Promise<number> {
  const { name, key } = indexObject(RELEASE);
  const index = await client.read(CONFIG_MAPS, RELEASE, name);
  return Number(JSON.parse(String(Object(index?.['data'])[key] ?? '{}')).generation ?? 0);
}

function isServed(object: ApiObject): boolean {
  const conditions: readonly Record<string, unknown>[] = Object(object['status']).conditions ?? [];
  const programmed = conditions.find(({ type }) => type === 'Programmed');
  return programmed?.['status'] === 'True' && programmed['observedGeneration'] === object.metadata.generation;
}
