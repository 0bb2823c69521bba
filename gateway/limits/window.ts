/**
 * A sliding window: in any span of its length no more is admitted than the rule says. Amounts lie in buckets, each with the
 * time of its last entry, and count until that time plus the window. As long as entries are few each has its own bucket
 * and all is exact to the millisecond; many share buckets, and then the older of them count up to a 120th of the window
 * longer. Never too much is admitted, and nobody waits longer than the window.
 */
import { hash53 } from '../route/hash.ts';
import { ratePart, type Share } from './share.ts';
import type { RateRule, Reading } from './store.ts';

/** Of one window, when there are few windows. */
export const MAX_BUCKETS = 240;
/** Of one window, when there are so many that memory counts. */
export const FEW_BUCKETS = 20;

const UNKNOWN = -1;

export class WindowCount {
  readonly kind = 'rate';
  readonly key: string;
  /** The store that has it; undefined once it was dropped. */
  owner: object | undefined;
  rule: RateRule;
  /** Demanded within the call that runs. */
  asked = 0;
  /** Time of the last entry and amount, in turn; ascending. Those before #head are over. */
  #slots: number[] = [];
  #head = 0;
  #sum = 0;
  #openHolds = 0;
  #hash = UNKNOWN;

  constructor(key: string, rule: RateRule, owner: object) {
    this.key = key;
    this.rule = rule;
    this.owner = owner;
  }

  /** Milliseconds until `amount` fits beside what was asked; 0: it does now; Infinity: never. */
  waitMs(amount: number, share: Share, now: number): number {
    const { windowMs, value } = this.rule;
    this.#prune(now);
    const part = this.#part(share);
    let over = this.#sum + this.asked + amount - part;
    if (over <= 0) return 0;
    // What is too much for a part can be right for that of another replica.
    if (this.asked + amount > part) return amount > value ? Number.POSITIVE_INFINITY : windowMs;
    const slots = this.#slots;
    for (let at = this.#head; at < slots.length; at += 2) {
      over -= slots[at + 1] ?? 0;
      if (over <= 0) return (slots[at] ?? now) + windowMs - now;
    }
    return windowMs;
  }

  take(amount: number, now: number, maxBuckets: number): void {
    this.#openHolds++;
    if (amount === 0) return;
    const slots = this.#slots;
    const end = slots.length;
    this.#sum += amount;
    if (end > this.#head && slots[end - 2] === now) {
      slots[end - 1] = (slots[end - 1] ?? 0) + amount;
      return;
    }
    slots.push(now, amount);
    if (slots.length - this.#head >= 2 * maxBuckets) this.#merge((2 * this.rule.windowMs) / maxBuckets);
  }

  /** What was demanded at `at` turned out to be `used`. Too late, it changes nothing. */
  settle(demanded: number, used: number, at: number, now: number): void {
    this.#openHolds--;
    const delta = used - demanded;
    if (delta === 0 || at + this.rule.windowMs <= now) return;
    const slots = this.#slots;
    let low = this.#head / 2;
    let high = slots.length / 2;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if ((slots[2 * middle] ?? 0) < at) low = middle + 1;
      else high = middle;
    }
    const end = slots.length;
    if (2 * low < end) slots[2 * low + 1] = (slots[2 * low + 1] ?? 0) + delta;
    else slots.push(at, delta);
    this.#sum += delta;
  }

  reading(share: Share, now: number): Reading {
    const remaining = this.#part(share) - this.#sum;
    const last = this.#slots[this.#slots.length - 2];
    const resetMs = this.#sum === 0 || last === undefined ? 0 : last + this.rule.windowMs - now;
    return { used: this.#sum, remaining: remaining > 0 ? remaining : 0, resetMs };
  }

  /** Nothing counts any more, and nothing will. */
  isIdle(now: number): boolean {
    this.#prune(now);
    return this.#sum === 0 && this.#openHolds === 0;
  }

  /** What counts at this time. */
  amount(now: number): number {
    this.#prune(now);
    return this.#sum;
  }

  /** Times and amounts in turn, without what is over. */
  slots(now: number): number[] {
    this.#prune(now);
    return this.#slots.slice(this.#head);
  }

  /** Instead of what it had; what is of the future, as a clock was set back, is of now. */
  restore(slots: readonly number[], now: number): void {
    this.#slots = slots.map((slot, at) => (at % 2 === 0 ? Math.min(slot, now) : slot));
    this.#head = 0;
    this.#sum = 0;
    for (let at = 1; at < slots.length; at += 2) this.#sum += slots[at] ?? 0;
  }

  #part(share: Share): number {
    if (share.count === 1) return this.rule.value;
    if (this.#hash === UNKNOWN) this.#hash = hash53(this.key, 0);
    return ratePart(this.rule.value, share, this.#hash);
  }

  #prune(now: number): void {
    const slots = this.#slots;
    const over = now - this.rule.windowMs;
    let head = this.#head;
    while (head < slots.length && (slots[head] ?? 0) <= over) {
      this.#sum -= slots[head + 1] ?? 0;
      head += 2;
    }
    if (head === this.#head) return;
    if (head === slots.length) {
      this.#slots = [];
      this.#head = 0;
      // What came back by settling may be all there was.
      this.#sum = 0;
    } else if (head > slots.length / 2) {
      this.#slots = slots.slice(head);
      this.#head = 0;
    } else this.#head = head;
  }

  /** Neighbours of one cell of time become one bucket. */
  #merge(cellMs: number): void {
    const merged: number[] = [];
    let cell = Number.NaN;
    for (let at = this.#head; at < this.#slots.length; at += 2) {
      const time = this.#slots[at] ?? 0;
      const amount = this.#slots[at + 1] ?? 0;
      const end = merged.length;
      if (Math.floor(time / cellMs) === cell) {
        merged[end - 2] = time;
        merged[end - 1] = (merged[end - 1] ?? 0) + amount;
      } else {
        merged.push(time, amount);
        cell = Math.floor(time / cellMs);
      }
    }
    this.#slots = merged;
    this.#head = 0;
  }
}
