/** Posts alerts to the address that the administrator names. */
import { Agent } from 'undici';
import { sleep } from '#crds/api/sleep.ts';
import { inTime } from '../replicas/probe.ts';
import type { UsageAlert } from './alert.ts';

export interface AlertWebhookOptions {
  readonly url: string;
  /** It was not taken, for good. The URL is not told: it may hold a token. */
  readonly onFault: (error: Error) => void;
}

const TRIES = 3;
const TIMEOUT_MS = 5_000;
/** Before the second try; the third waits four times as long. */
const WAIT_MS = 1_000;
const MAX_ANSWER_BYTES = 64 * 1024;

export class AlertWebhook {
  readonly #options: AlertWebhookOptions;
  readonly #agent = new Agent({ connections: 4, maxResponseSize: MAX_ANSWER_BYTES });
  readonly #closing = new AbortController();
  #failures = 0;

  constructor(options: AlertWebhookOptions) {
    this.#options = options;
  }

  /** Alerts that nobody took. */
  get failures(): number {
    return this.#failures;
  }

  /** Resolves when it was taken, or given up. Never rejects. */
  async post(alert: UsageAlert): Promise<void> {
    let problem = '';
    for (let attempt = 0; attempt < TRIES && !this.#closing.signal.aborted; attempt++) {
      try {
        if (attempt > 0) await sleep(WAIT_MS * 4 ** (attempt - 1), this.#closing.signal);
        const status = await inTime(TIMEOUT_MS, (signal) => this.#send(alert, signal));
        if (status >= 200 && status < 300) return;
        problem = `status ${status}`;
      } catch (error) {
        problem = (error as NodeJS.ErrnoException).code ?? (error as Error).name;
      }
    }
    this.#failures += 1;
    this.#options.onFault(new Error(`--alert-webhook: ${alert.label}: not taken in ${TRIES} tries: ${problem}`));
  }

  /** What is under way is broken off. */
  async close(): Promise<void> {
    this.#closing.abort();
    await this.#agent.destroy();
  }

  async #send(alert: UsageAlert, signal: AbortSignal): Promise<number> {
    const { origin, pathname, search, username, password } = new URL(this.#options.url);
    const basic = Buffer.from(`${decodeURIComponent(username)}:${decodeURIComponent(password)}`).toString('base64');
    const { statusCode, body } = await this.#agent.request({
      origin,
      path: `${pathname}${search}`,
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        ...(username === '' ? {} : { authorization: `Basic ${basic}` }),
      },
      body: JSON.stringify(alert),
      signal,
    });
    await body.dump();
    return statusCode;
  }
}
