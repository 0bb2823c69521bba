/** Embedded mode: what the gateway of this process counted, told in statuses, and alerts, once each over restarts. */
import { mkdir, readFile, rename, writeFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import type { UsageLimitRecord } from '#crds/snapshot/contract.ts';
import type { ObjectStatus, StatusFields } from '../compile/status.ts';
import { Wakeup } from '../wakeup.ts';
import type { UsageAlert } from './alert.ts';
import { Alerts } from './alerts.ts';
import { type BudgetState, budgetStates } from './budget-status.ts';
import { presentKeys } from './present-keys.ts';
import { ShownUsage } from './shown-usage.ts';
import { readUsagePage, type UsagePage } from './usage-page.ts';

export interface EmbeddedUsageOptions {
  /** What the gateway says. */
  readonly usage: () => Promise<unknown>;
  /** Budgets that hold now; undefined: not known yet. */
  readonly limits: () => readonly UsageLimitRecord[] | undefined;
  /** Where it is kept which alerts were given; made where it is missing. */
  readonly file: string;
  /** See `Alerts`. */
  readonly give: (alert: UsageAlert) => Promise<void>;
  readonly emailsOf: (state: BudgetState) => readonly string[];
  /** When keys were used last. true: what is said of one is another thing. */
  readonly onKeyUses: (uses: NonNullable<UsagePage['keys']>) => boolean;
  /** What is said of objects is another thing. */
  readonly onChange: () => void;
  readonly onFault: (error: Error) => void;
  /** From one look to the next. Default 2,000. */
  readonly everyMs?: number;
}

const EVERY_MS = 2_000;

export class EmbeddedUsage {
  readonly #options: EmbeddedUsageOptions;
  readonly #alerts: Alerts;
  readonly #shown = new ShownUsage();
  readonly #wakeup: Wakeup;
  /** As the file says; undefined: it was not read yet. */
  #kept: string | undefined;

  constructor(options: EmbeddedUsageOptions) {
    const { give, emailsOf, everyMs = EVERY_MS, onFault } = options;
    this.#options = options;
    this.#alerts = new Alerts({ give, emailsOf });
    const onDefect = (error: unknown) => onFault(error as Error);
    this.#wakeup = new Wakeup(() => this.#turn(), { delayMs: 0, everyMs, onDefect });
    this.#wakeup.wake();
  }

  /** For the status of an object; undefined: nothing is known. */
  readonly fieldsOf = (status: ObjectStatus): StatusFields | undefined => this.#shown.fieldsOf(status);

  close(): void {
    this.#wakeup.close();
  }

  async #turn(): Promise<void> {
    try {
      await this.#look();
    } catch (error) {
      this.#options.onFault(error as Error);
    }
    this.#wakeup.wake();
  }

  async #look(): Promise<void> {
    const { limits: limitsNow, usage, onKeyUses, onChange } = this.#options;
    const limits = limitsNow();
    if (limits === undefined) return;
    if (this.#kept === undefined) await this.#restore();
    const { budgets, keys = [] } = readUsagePage(await usage());
    const used = new Map(budgets.map((budget) => [budget.key, BigInt(budget.used)]));
    const nowMs = Date.now();
    this.#alerts.keepOnly(presentKeys(limits, nowMs));
    const states = budgetStates(limits, used.keys(), (key) => used.get(key) ?? 0n, nowMs);
    this.#alerts.check([...states.values()].flat());
    const isShown = this.#shown.update(states, (key) => this.#alerts.isAlerted(key), nowMs);
    const isUsed = onKeyUses(keys);
    if (isShown || isUsed) onChange();
    await this.#keep();
  }

  /** A file that is damaged is as if nothing had been told: rather twice than never. */
  async #restore(): Promise<void> {
    const text = await readFile(this.#options.file, 'utf8').catch(() => '');
    this.#kept = text;
    try {
      const { alerted } = JSON.parse(text) as { alerted?: unknown };
      if (Array.isArray(alerted)) this.#alerts.restore(alerted.filter((key) => typeof key === 'string'));
    } catch {
      // None was given yet.
    }
  }

  async #keep(): Promise<void> {
    const { given } = this.#alerts;
    const text = `${JSON.stringify({ alerted: [...given].sort() })}\n`;
    if (text === this.#kept || (given.size === 0 && this.#kept === '')) return;
    const { file } = this.#options;
    await mkdir(dirname(file), { recursive: true });
    await writeFile(`${file}.new`, text, { mode: 0o600 });
    await rename(`${file}.new`, file);
    this.#kept = text;
  }
}
