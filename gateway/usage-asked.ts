/** Whoever sums what replicas used asks each of them now and then; one that goes lets itself be asked a last time. */
import { setTimeout as wait } from 'node:timers/promises';
import type { UsagePage } from './usage-page.ts';

/** Who did not ask for so long does not ask any more. */
const ASKED_WITHIN_MS = 10_000;
/** Until it asks again: it does so every 2 s. */
const PATIENCE_MS = 4_000;
/** For the answer to leave. */
const ANSWER_MS = 100;

export class UsageAsked {
  #atMs = Number.NEGATIVE_INFINITY;
  #told = '';
  #onAsked: () => void = () => {};

  /** It was asked, and this is the answer. */
  answered(page: UsagePage): void {
    this.#atMs = performance.now();
    this.#told = textOf(page);
    this.#onAsked();
  }

  /** Resolves when all of it was told, or nobody is there to tell. `page`: what there is to tell at the end. */
  async lastTime(page: UsagePage): Promise<void> {
    const isHeard = performance.now() - this.#atMs < ASKED_WITHIN_MS;
    if (!isHeard || page.mode === 'total' || textOf(page) === this.#told) return;
    const asked = new Promise<void>((resolve) => {
      this.#onAsked = resolve;
    });
    const giveUp = new AbortController();
    await Promise.race([asked, wait(PATIENCE_MS, undefined, { signal: giveUp.signal }).catch(() => undefined)]);
    giveUp.abort();
    await wait(ANSWER_MS);
  }
}

function textOf({ budgets }: UsagePage): string {
  return budgets.map(({ key, used }) => `${key} ${used}`).join('\n');
}
