/** Asks gateways what they serve: `/config` of the admin port. */
import { Agent } from 'undici';
import { z } from '#crds/config/words.ts';

const generation = z.int().min(0);
const hash = z.string().max(256);

/** Keys that a newer gateway adds are let pass. */
const servedConfig = z.object({
  generation,
  hash,
  refused: z.object({ generation, hash, reason: z.string() }).optional(),
});

/** What a gateway says of itself. */
export type ServedConfig = z.infer<typeof servedConfig>;

/** Rejects where there is no such answer in time. */
export type FetchConfig = (origin: string, signal: AbortSignal) => Promise<unknown>;

export interface ConfigFetcher {
  readonly ask: FetchConfig;
  close(): Promise<void>;
}

const MAX_BYTES = 64 * 1024;
const MAX_REASON_CHARS = 1_024;
/** A gateway that goes away takes its idle connection along. */
const KEEP_ALIVE_MS = 30_000;

/** Throws for an answer that is none. */
export function readConfig(answer: unknown): ServedConfig {
  const { refused, ...rest } = servedConfig.parse(answer);
  return refused === undefined
    ? rest
    : { ...rest, refused: { ...refused, reason: refused.reason.slice(0, MAX_REASON_CHARS) } };
}

/** One connection to each gateway, kept. */
export function openFetcher(): ConfigFetcher {
  const agent = new Agent({ connections: 1, keepAliveTimeout: KEEP_ALIVE_MS, maxResponseSize: MAX_BYTES });
  return {
    async ask(origin, signal) {
      const { statusCode, body } = await agent.request({ origin, path: '/config', method: 'GET', signal });
      const text = await body.text();
      if (statusCode !== 200) throw new Error(`${origin}/config: status ${statusCode}`);
      return JSON.parse(text);
    },
    close: () => agent.destroy(),
  };
}
