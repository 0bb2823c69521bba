/**
 * What was used of a budget and what is held of it. Where replicas divide it, each may go on by its part of what was left
 * for all when it last heard of the others: not by a part of what is left after its own spending, or each of them would
 * come near to all of it before it hears of the others.
 */
import { hash53 } from '../route/hash.ts';
import { budgetPart, type Share } from './share.ts';
import type { BudgetRule, Reading } from './store.ts';

/** What one replica uses must have reached the others before more is granted to anybody by it. */
const HEARD_MS = 6_000;
const UNKNOWN = -1;

/** Of a budget that replicas divide. */
interface Allowance {
  readonly share: Share;
  readonly limit: bigint;
  /** Used and held may come to it. */
  readonly most: bigint;
  /** More is granted then, if nothing says otherwise until then. */
  readonly later: { readonly most: bigint; readonly fromMs: number } | undefined;
}

export class BudgetCount {
  readonly kind = 'budget';
  readonly key: string;
  /** The store that has it; undefined once it was dropped. */
  owner: object | undefined;
  rule: BudgetRule;
  /** Demanded within the call that runs. */
  asked = 0;
  used = 0n;
  #held = 0n;
  #openHolds = 0;
  #allowance: Allowance | undefined;
  #hash = UNKNOWN;

  constructor(key: string, rule: BudgetRule, owner: object) {
    this.key = key;
    this.rule = rule;
    this.owner = owner;
  }

  /** 0: `amount` fits beside what was asked; Infinity: it does not in this period. */
  waitMs(amount: number, share: Share, now: number): number {
    const wanted = this.used + this.#held + BigInt(this.asked + amount);
    return wanted <= this.#most(share, now) ? 0 : Number.POSITIVE_INFINITY;
  }

  take(amount: number): void {
    if (amount > 0) this.#held += BigInt(amount);
    this.#openHolds++;
  }

  settle(demanded: number, used: number): void {
    if (demanded > 0) this.#held -= BigInt(demanded);
    if (used > 0) this.used += BigInt(used);
    this.#openHolds--;
  }

  reading(share: Share, now: number): Reading {
    const { endsMs } = this.rule;
    const own = this.used + this.#held;
    const remaining = this.#most(share, now) - own;
    return {
      used: Number(own + share.usedByOthers(this.key)),
      remaining: remaining > 0n ? Number(remaining) : 0,
      resetMs: endsMs === undefined ? undefined : Math.max(0, endsMs - now),
    };
  }

  /** Its period is over since `graceMs`, and so is every request that holds of it. */
  isIdle(now: number, graceMs: number): boolean {
    const { endsMs } = this.rule;
    return endsMs !== undefined && endsMs + graceMs <= now && this.#openHolds === 0;
  }

  #most(share: Share, now: number): bigint {
    const { limit } = this.rule;
    if (share.count === 1) return limit - share.usedByOthers(this.key);
    const known = this.#allowance;
    if (known === undefined || known.share !== share || known.limit !== limit) {
      this.#allowance = this.#allow(share, known, now);
    } else if (known.later !== undefined && known.later.fromMs <= now) {
      this.#allowance = { share, limit, most: known.later.most, later: undefined };
    }
    return this.#allowance?.most ?? 0n;
  }

  /** Less holds at once, more when all have heard of what was used until now. */
  #allow(share: Share, known: Allowance | undefined, now: number): Allowance {
    const { limit } = this.rule;
    if (this.#hash === UNKNOWN) this.#hash = hash53(this.key, 0);
    const left = limit - share.usedByOthers(this.key) - this.used;
    const granted = this.used + budgetPart(left, share, this.#hash);
    if (known === undefined || granted <= known.most) return { share, limit, most: granted, later: undefined };
    const { later } = known;
    if (later === undefined)
      return { share, limit, most: known.most, later: { most: granted, fromMs: now + HEARD_MS } };
    if (later.fromMs > now)
      return { share, limit, most: known.most, later: later.most < granted ? later : { ...later, most: granted } };
    return this.#allow(share, { share, limit, most: later.most, later: undefined }, now);
  }
}
