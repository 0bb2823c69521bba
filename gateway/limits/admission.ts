/**
 * One request and its limits: what it reserves before it goes anywhere, and what it really was in the end. Everything is taken in one
 * step or not at all; where the store answers at once nobody waits.
 */
import type { GatewayError } from '../errors.ts';
import type { Bill } from '../money/bill.ts';
import type { Target } from '../plan/plan.ts';
import { CallerLeft } from '../read-body.ts';
import type { RequestContext } from '../request-context.ts';
import type { Addressed } from '../resolve/target-upstream.ts';
import { Ask, type Grant, isGrant, release, reserve } from './ask.ts';
import { type Cap, capsOf, keyCap, pass } from './caps.ts';
import type { Turn } from './concurrency.ts';
import type { Unit } from './limit.ts';
import type { AskerLimits } from './limit-book.ts';
import { addressOf, fixedTarget, needAt, worstNeed } from './need.ts';
import { proceed } from './proceed.ts';
import { addRateHeaders, hasRates, type Standing } from './rate-headers.ts';
import { type LimitRefusal, milder } from './refusal.ts';

type Used = Readonly<Record<Unit, number>>;

const NOTHING: Used = { requests: 0, tokens: 0, cost: 0 };
const REQUEST_ALONE: Used = { requests: 1, tokens: 0, cost: 0 };

export class Admission {
  private readonly context: RequestContext;
  private readonly limits: AskerLimits;
  private readonly turns: Turn[] = [];
  private readonly targetTurns: Turn[] = [];
  /** Of the request as a whole. */
  private own: Grant | undefined;
  /** Of the target whose turn it is. */
  private atTarget: Grant | undefined;
  /** The target whose limits are reserved with the request's own. */
  private fixed: Target | undefined;
  /** Of the targets that were passed over. */
  private refused: LimitRefusal | undefined;

  constructor(context: RequestContext, limits: AskerLimits) {
    this.context = context;
    this.limits = limits;
  }

  /** Before anything is tried. Throws `rate_limited`, `usage_limit_exceeded`, `request_exceeds_limit` or `too_many_in_flight`. */
  enter(): void | Promise<void> {
    const cap = keyCap(this.context.caller);
    if (cap === undefined) return this.reserveOwn();
    return proceed(pass(this.context, cap, this.turns), (refusal) => {
      if (refusal !== undefined) this.refuse(refusal);
      return this.reserveOwn();
    });
  }

  /** Whether anything is asked at the turn of a target. */
  get guardsTargets(): boolean {
    const { plan, snapshot } = this.context;
    return (this.limits.hasPlaces && this.fixed === undefined) || plan.isCapped || snapshot.limits.hasCaps;
  }

  /** At the turn of a target, before its first try. False: it is passed over, like one whose circuit is open. */
  admits(target: Target): boolean | Promise<boolean> {
    this.leaveTarget();
    const addressed = addressOf(this.context, target);
    if (addressed === undefined) return true;
    const caps = capsOf(this.context.snapshot, target, addressed.upstream);
    if (caps.length === 0) return this.reserveAt(target, addressed);
    return this.admitCapped(target, addressed, caps);
  }

  /** Whether there are rate limits of ours to tell of. */
  get hasRates(): boolean {
    return hasRates(this.standings());
  }

  /** `x-ratelimit-*`, to a flat list. */
  addHeaders(into: string[]): void {
    addRateHeaders(into, this.standings());
  }

  /** Why no target was tried, which is now why the request is refused; undefined: no limit is to blame. */
  takeRefusal(): GatewayError | undefined {
    const { refused } = this;
    if (refused !== undefined) this.context.exchange.refusal = refused.by;
    return refused?.error;
  }

  /** What was really used, once, when all is over. `bill` undefined: nothing was. */
  settle(bill: Bill | undefined): void {
    const used = this.usedBy(bill);
    release(this.own, used);
    release(this.atTarget, used);
    leaveAll(this.targetTurns);
    leaveAll(this.turns);
  }

  /** Refused requests count nowhere: else whoever asks again and again would never be let in. */
  private usedBy(bill: Bill | undefined): Used {
    const { exchange, endpoint } = this.context;
    if (exchange.refusal !== undefined) return NOTHING;
    if (bill === undefined) return REQUEST_ALONE;
    const tokens = endpoint.operation === 'countTokens' ? 0 : bill.usage.total_tokens;
    return { requests: 1, tokens, cost: bill.cost ?? 0 };
  }

  private standings(): readonly Standing[] {
    const { own, atTarget, refused, context } = this;
    const shown: Standing[] = [];
    if (own !== undefined) shown.push(own);
    if (atTarget !== undefined) shown.push(atTarget);
    if (context.exchange.refusal !== undefined && refused?.standing !== undefined) shown.push(refused.standing);
    return shown;
  }

  private reserveOwn(): void | Promise<void> {
    const { context, limits } = this;
    const { root } = context.plan;
    const ask = new Ask(context);
    if (limits.seats.length > 0) ask.add(limits.seats, undefined, () => worstNeed(context, root));
    if (limits.hasPlaces) this.askFixed(ask);
    return proceed(reserve(ask), (outcome) => {
      if (outcome === undefined) return;
      if (!isGrant(outcome)) this.refuse(outcome);
      else this.own = outcome;
      if (context.gone) throw new CallerLeft();
    });
  }

  /** Where there is no choice all limits are asked at once. */
  private askFixed(ask: Ask): void {
    const target = fixedTarget(this.context.plan.root);
    const addressed = target === undefined ? undefined : addressOf(this.context, target);
    if (target === undefined || addressed === undefined) return;
    this.fixed = target;
    this.addPlace(ask, target, addressed);
  }

  private addPlace(ask: Ask, target: Target, addressed: Addressed): void {
    const { upstream, sentModel } = addressed;
    const place = { provider: upstream.provider.name, integration: upstream.integration };
    const seats = this.limits.at(place);
    if (seats.length > 0) ask.add(seats, sentModel, () => needAt(this.context, target, addressed));
  }

  private async admitCapped(target: Target, addressed: Addressed, caps: readonly Cap[]): Promise<boolean> {
    for (const cap of caps) {
      const refusal = await pass(this.context, cap, this.targetTurns);
      if (refusal !== undefined) return this.passOver(refusal);
    }
    return this.reserveAt(target, addressed);
  }

  private reserveAt(target: Target, addressed: Addressed): boolean | Promise<boolean> {
    if (!this.limits.hasPlaces || target === this.fixed) return true;
    const ask = new Ask(this.context);
    this.addPlace(ask, target, addressed);
    return proceed(reserve(ask), (outcome) => {
      if (outcome !== undefined && !isGrant(outcome)) return this.passOver(outcome);
      this.atTarget = outcome;
      return true;
    });
  }

  private passOver(refusal: LimitRefusal): false {
    leaveAll(this.targetTurns);
    this.refused = milder(this.refused, refusal);
    return false;
  }

  /** The former target was tried, and gave nothing that anybody would pay for. */
  private leaveTarget(): void {
    release(this.atTarget, REQUEST_ALONE);
    this.atTarget = undefined;
    leaveAll(this.targetTurns);
  }

  private refuse(refusal: LimitRefusal): never {
    this.refused = refusal;
    this.context.exchange.refusal = refusal.by;
    throw refusal.error;
  }
}

function leaveAll(turns: Turn[]): void {
  for (let turn = turns.pop(); turn !== undefined; turn = turns.pop()) turn.leave();
}
