/** Asks gateways what they counted: `/usage` of the admin port. */
import { Agent } from 'undici';
import { inParallel } from '../in-parallel.ts';
import type { Endpoint } from '../replicas/endpoints.ts';
import { adminOriginOf, inTime } from '../replicas/probe.ts';
import { readUsagePage, type UsagePage } from './usage-page.ts';

/** Rejects where there is no such answer in time. */
export type FetchUsage = (origin: string, signal: AbortSignal) => Promise<unknown>;

export interface UsageFetcher {
  readonly ask: FetchUsage;
  close(): Promise<void>;
}

export interface Heard {
  readonly pod: string;
  readonly page: UsagePage;
}

const MAX_BYTES = 32 * 1024 * 1024;
const KEEP_ALIVE_MS = 30_000;
const TIMEOUT_MS = 1_500;
const AT_ONCE = 16;

/** One connection to each gateway, kept. */
export function openUsageFetcher(): UsageFetcher {
  const agent = new Agent({ connections: 1, keepAliveTimeout: KEEP_ALIVE_MS, maxResponseSize: MAX_BYTES });
  return {
    async ask(origin, signal) {
      const { statusCode, body } = await agent.request({ origin, path: '/usage', method: 'GET', signal });
      const text = await body.text();
      if (statusCode !== 200) throw new Error(`${origin}/usage: status ${statusCode}`);
      return JSON.parse(text);
    },
    close: () => agent.destroy(),
  };
}

/** What each of them says that answers in time. Never rejects. */
export async function hearAll(endpoints: readonly Endpoint[], adminPort: number, ask: FetchUsage): Promise<Heard[]> {
  const heard: Heard[] = [];
  await inParallel(endpoints, AT_ONCE, async (endpoint) => {
    const origin = adminOriginOf(endpoint, adminPort);
    await inTime(TIMEOUT_MS, (signal) => ask(origin, signal))
      .then((answer) => heard.push({ pod: endpoint.name, page: readUsagePage(answer) }))
      .catch(() => undefined);
  });
  return heard.sort((a, b) => (a.pod < b.pod ? -1 : 1));
}
