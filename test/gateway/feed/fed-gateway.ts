/** A gateway with its feed, on a volume and a state directory of its own, and optionally an API server. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ApiClient } from '#crds/api/api-client.ts';
import type { ServedConfig } from '#gateway/admin.ts';
import { startFeed } from '#gateway/feed/start-feed.ts';
import { startGateway } from '#gateway/server.ts';
import type { UsagePage } from '#gateway/usage-page.ts';
import { waitFor } from '../../fakes/wait-for.ts';
import { type CollectingSink, collectingSink } from '../telemetry/collecting-sink.ts';
import { MountedVolume } from './mounted-volume.ts';
import { NAMESPACE, RELEASE, type ScriptedApi } from './scripted-api.ts';
import { KEY } from './versions.ts';

export interface FedOptions {
  readonly api?: ScriptedApi;
  readonly maxShards?: number;
  /** Default 3,000: long enough that what is seen before is seen by a hint. */
  readonly pollMs?: number;
  /** Which of how many it is. Default: it is alone. */
  readonly replica?: { readonly name: string; readonly replicas: number };
}

const ends: (() => Promise<unknown> | unknown)[] = [];

/** Ends all gateways and removes all folders of the test. */
export async function endAll(): Promise<void> {
  for (const end of ends.splice(0).reverse()) await end();
}

export function makeVolume(): MountedVolume {
  const volume = new MountedVolume();
  ends.push(() => volume.remove());
  return volume;
}

export function makeStateDir(): string {
  const path = mkdtempSync(join(tmpdir(), 'state-'));
  ends.push(() => rmSync(path, { recursive: true, force: true }));
  return join(path, 'state');
}

export class FedGateway {
  readonly origin: string;
  readonly adminOrigin: string;
  /** Ends it; what it kept stays. */
  readonly stop: () => Promise<void>;
  readonly #sink: CollectingSink;

  constructor(place: { origin: string; adminOrigin: string }, stop: () => Promise<void>, sink: CollectingSink) {
    this.origin = place.origin;
    this.adminOrigin = place.adminOrigin;
    this.stop = stop;
    this.#sink = sink;
  }

  async config(): Promise<ServedConfig> {
    return (await (await fetch(`${this.adminOrigin}/config`)).json()) as ServedConfig;
  }

  async usage(): Promise<UsagePage> {
    return (await (await fetch(`${this.adminOrigin}/usage`)).json()) as UsagePage;
  }

  async ready(): Promise<number> {
    return (await fetch(`${this.adminOrigin}/readyz`)).status;
  }

  /** The word of the snapshot that answers, or the status. */
  async word(): Promise<string> {
    const response = await fetch(`${this.origin}/v1/chat/completions`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', authorization: `Bearer ${KEY}` },
      body: JSON.stringify({ model: 'any', messages: [{ role: 'user', content: 'hello' }] }),
    });
    const text = await response.text();
    return response.status === 200 ? JSON.parse(text).choices[0].message.content : String(response.status);
  }

  /** Waits until that generation is served; milliseconds that it took. */
  async serves(generation: number, timeoutMs = 10_000): Promise<number> {
    const startedMs = performance.now();
    const isServed = async () => (await this.config()).generation === generation;
    await waitFor(isServed, `generation ${generation}`, timeoutMs);
    return performance.now() - startedMs;
  }

  /** Waits for a line of the log with these fields, and gives all such. */
  async told(msg: string, count = 1): Promise<readonly Record<string, unknown>[]> {
    const lines = () => this.lines().filter((line) => line['msg'] === msg);
    await waitFor(() => lines().length >= count, `${count} log lines "${msg}"`, 10_000);
    return lines();
  }

  lines(): readonly Record<string, unknown>[] {
    return this.text()
      .split('\n')
      .slice(0, -1)
      .map((line) => JSON.parse(line));
  }

  text(): string {
    return this.#sink.text;
  }
}

/** Resolves when last good state and volume were looked at once, and the API is followed. */
export async function startFed(volume: string, stateDir: string, options: FedOptions = {}): Promise<FedGateway> {
  const { api, maxShards = 16, pollMs = 3_000, replica } = options;
  const sink = collectingSink();
  const gateway = await startGateway({
    ...{ host: '127.0.0.1', port: 0, adminHost: '127.0.0.1', adminPort: 0 },
    ...{ open: false, logLevel: 'debug', graceMs: 0, drainMs: 1_000, logSink: sink, maxShards },
    ...(replica === undefined ? {} : { replica }),
  });
  const feed = await startFeed({ gateway, snapshotDir: volume, stateDir, maxShards, pollMs });
  if (api !== undefined) feed.follow({ client: new ApiClient(api), namespace: NAMESPACE, release: RELEASE });
  let stopped: Promise<void> | undefined;
  const end = async () => {
    await gateway.drain();
    await feed.close();
  };
  const stop = () => {
    stopped ??= end();
    return stopped;
  };
  ends.push(stop);
  return new FedGateway(gateway, stop, sink);
}
