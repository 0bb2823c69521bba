/** What one gateway says, asked again and again. */
import type { Endpoint } from './endpoints.ts';
import { type FetchConfig, readConfig, type ServedConfig } from './fetch-config.ts';
import type { Replica } from './replica.ts';

/** What shall be served, and since when that is so. */
export interface Target {
  readonly generation: number;
  /** `performance.now()`. */
  readonly sinceMs: number;
}

const TIMEOUT_MS = 1_000;
/** From one question to the next: while an answer is awaited, after a while of that, and else. */
const SOON_MS = { least: 50, most: 100 };
const PATIENCE_MS = 30_000;
const PATIENT_MS = 5_000;
const SELDOM_MS = 10_000;

export class Probe {
  readonly endpoint: Endpoint;
  readonly #origin: string;
  #told: ServedConfig = { generation: 0, hash: '' };
  #reachable = false;

  /** `adminPort`: where the endpoint has no port of its own. */
  constructor(endpoint: Endpoint, adminPort: number) {
    this.endpoint = endpoint;
    this.#origin = adminOriginOf(endpoint, adminPort);
  }

  get replica(): Replica {
    return { ...this.endpoint, ...this.#told, reachable: this.#reachable };
  }

  /** Neither serves it nor refused it. */
  awaits({ generation }: Target): boolean {
    return this.#told.generation < generation && (this.#told.refused?.generation ?? 0) < generation;
  }

  /** Until it is to be asked again. */
  waitMs(target: Target): number {
    if (!this.awaits(target)) return SELDOM_MS * (0.9 + 0.1 * Math.random());
    if (performance.now() - target.sinceMs > PATIENCE_MS) return PATIENT_MS * (0.9 + 0.1 * Math.random());
    return SOON_MS.least + (SOON_MS.most - SOON_MS.least) * Math.random();
  }

  /** Whether it says something else than before. Never rejects. */
  async ask(fetchConfig: FetchConfig): Promise<boolean> {
    const before = this.#told;
    try {
      this.#told = readConfig(await inTime(TIMEOUT_MS, (signal) => fetchConfig(this.#origin, signal)));
      this.#reachable = true;
    } catch {
      this.#reachable = false;
    }
    return JSON.stringify(before) !== JSON.stringify(this.#told);
  }
}

/** `adminPort`: where the endpoint has no port of its own. */
export function adminOriginOf({ address, port }: Endpoint, adminPort: number): string {
  return `http://${address.includes(':') ? `[${address}]` : address}:${port ?? adminPort}`;
}

/** Rejects in time even where the work does not end with its signal. */
export async function inTime<T>(timeoutMs: number, work: (signal: AbortSignal) => Promise<T>): Promise<T> {
  const abort = new AbortController();
  const timer = setTimeout(() => abort.abort(new Error(`no answer within ${timeoutMs} ms`)), timeoutMs);
  const late = new Promise<never>((_, reject) => {
    abort.signal.addEventListener('abort', () => reject(abort.signal.reason), { once: true });
  });
  try {
    return await Promise.race([work(abort.signal), late]);
  } finally {
    clearTimeout(timer);
  }
}
