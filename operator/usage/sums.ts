/**
 * What each budget was used, summed over processes that know only of themselves. What a process told last stands for it until
 * it tells more; once it is gone for good, that is folded into the sum of all that are gone, once. Bookkeeping only; no clock, no
 * input or output.
 */
import type { BudgetShare, Shares, SharingProcess } from '#crds/snapshot/shares.ts';

export type Budgets = readonly { readonly key: string; readonly used: string }[];

interface Sum {
  /** Of processes that were folded. */
  gone: bigint;
  /** As told last, by incarnation. */
  readonly told: Map<string, bigint>;
}

interface Process extends SharingProcess {
  /** When its pod was last there. */
  seenMs: number;
}

/** A pod that is in no EndpointSlice for so long does not come back. */
const GONE_AFTER_MS = 10 * 60_000;
/** Processes of pods that are gone, at most: the longest gone is folded before its time. */
const MAX_GONE = 64;
/** Folded ones whose late answers are not believed. */
const MAX_FOLDED = 256;

export class UsageSums {
  readonly #sums = new Map<string, Sum>();
  readonly #processes = new Map<string, Process>();
  readonly #folded = new Set<string>();

  /** Goes on from what was published. */
  restore({ processes, budgets }: Pick<Shares, 'processes' | 'budgets'>, nowMs: number): void {
    this.#sums.clear();
    this.#processes.clear();
    for (const { incarnation, pod } of processes) this.#processes.set(incarnation, { incarnation, pod, seenMs: nowMs });
    for (const { key, used, by = {} } of budgets) {
      const told = new Map<string, bigint>();
      let gone = BigInt(used);
      for (const [index, text] of Object.entries(by)) {
        const process = processes[Number(index)];
        if (process === undefined) continue;
        told.set(process.incarnation, BigInt(text));
        gone -= BigInt(text);
      }
      this.#sums.set(key, { gone: gone < 0n ? 0n : gone, told });
    }
  }

  /** A process of the pod told what it used since it started. Its pod has no other process any more. */
  heard(pod: string, incarnation: string, budgets: Budgets, nowMs: number): void {
    if (this.#folded.has(incarnation)) return;
    for (const other of this.#processes.values())
      if (other.pod === pod && other.incarnation !== incarnation) this.#fold(other.incarnation);
    this.#processes.set(incarnation, { incarnation, pod, seenMs: nowMs });
    for (const { key, used } of budgets) {
      const amount = BigInt(used);
      const sum = this.#sums.get(key);
      if (sum !== undefined) sum.told.set(incarnation, amount);
      else if (amount > 0n) this.#sums.set(key, { gone: 0n, told: new Map([[incarnation, amount]]) });
    }
  }

  /** `pods`: all that there are, ready or not. */
  present(pods: ReadonlySet<string>, nowMs: number): void {
    const absent: Process[] = [];
    for (const process of this.#processes.values()) {
      if (pods.has(process.pod)) process.seenMs = nowMs;
      else absent.push(process);
    }
    absent.sort((a, b) => a.seenMs - b.seenMs);
    for (const [index, { incarnation, seenMs }] of absent.entries())
      if (nowMs - seenMs >= GONE_AFTER_MS || absent.length - index > MAX_GONE) this.#fold(incarnation);
  }

  /** Forgets budgets; those of other periods, resets and objects. */
  keepOnly(isKept: (key: string) => boolean): void {
    for (const key of this.#sums.keys()) if (!isKept(key)) this.#sums.delete(key);
  }

  used(key: string): bigint {
    const sum = this.#sums.get(key);
    return sum === undefined ? 0n : totalOf(sum);
  }

  keys(): IterableIterator<string> {
    return this.#sums.keys();
  }

  /** To publish, and to go on from. */
  published(): Pick<Shares, 'processes' | 'budgets'> {
    const told = new Set([...this.#sums.values()].flatMap((sum) => [...sum.told.keys()]));
    const processes = [...this.#processes.values()]
      .filter(({ incarnation }) => told.has(incarnation))
      .map(({ incarnation, pod }) => ({ incarnation, pod }))
      .sort((a, b) => (`${a.pod} ${a.incarnation}` < `${b.pod} ${b.incarnation}` ? -1 : 1));
    const budgets = [...this.#sums.keys()].sort().map((key) => this.#shareOf(key, processes));
    return { processes, budgets };
  }

  #shareOf(key: string, processes: readonly SharingProcess[]): BudgetShare {
    const sum = this.#sums.get(key) ?? { gone: 0n, told: new Map() };
    const used = String(totalOf(sum));
    const by: Record<string, string> = {};
    for (const [index, { incarnation }] of processes.entries()) {
      const told = sum.told.get(incarnation) ?? 0n;
      if (told > 0n) by[index] = String(told);
    }
    return Object.keys(by).length === 0 ? { key, used } : { key, used, by };
  }

  #fold(incarnation: string): void {
    this.#processes.delete(incarnation);
    for (const sum of this.#sums.values()) {
      sum.gone += sum.told.get(incarnation) ?? 0n;
      sum.told.delete(incarnation);
    }
    this.#folded.add(incarnation);
    const [oldest] = this.#folded;
    if (oldest !== undefined && this.#folded.size > MAX_FOLDED) this.#folded.delete(oldest);
  }
}

function totalOf({ gone, told }: Sum): bigint {
  let total = gone;
  for (const amount of told.values()) total += amount;
  return total;
}
