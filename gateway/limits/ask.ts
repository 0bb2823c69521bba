/** What one request demands of its limits, and what the store made of it. */
import type { RequestContext } from '../request-context.ts';
import type { Seat, Unit } from './limit.ts';
import type { Need } from './need.ts';
import { proceed } from './proceed.ts';
import type { Standing } from './rate-headers.ts';
import { type LimitRefusal, refusedBy, tooLarge } from './refusal.ts';
import type { Decision, Demand, Hold } from './store.ts';

/** Limits that were asked, and gave what was demanded. */
export interface Grant extends Standing {
  readonly hold: Hold;
}

export class Ask {
  readonly context: RequestContext;
  readonly seats: Seat[] = [];
  readonly demands: Demand[] = [];
  /** Something that no waiting would mend. */
  refusal: LimitRefusal | undefined;
  private readonly nowMs: number;

  constructor(context: RequestContext) {
    this.context = context;
    this.nowMs = context.gateway.limitClock();
  }

  /** Demands of those of `seats` that are about this request. `needOf` is asked once, where somebody has to know. */
  add(seats: readonly Seat[], model: string | undefined, needOf: () => Need): void {
    const { metadata } = this.context.exchange;
    let need: Need | undefined;
    for (const seat of seats) {
      const counter = seat.counter(metadata, model, this.nowMs);
      if (counter === undefined) continue;
      const { unit } = seat.limit;
      let amount = 1;
      if (unit !== 'requests') {
        need ??= needOf();
        amount = unit === 'cost' ? need.cost : need.promptTokens + need.outputTokens;
        this.refusal ??= tooLarge(seat, need);
      }
      this.seats.push(seat);
      this.demands.push({ counter, amount });
    }
  }
}

/** undefined: no limit is about this request. */
export function reserve(ask: Ask): Grant | LimitRefusal | undefined | Promise<Grant | LimitRefusal | undefined> {
  if (ask.refusal !== undefined) return ask.refusal;
  if (ask.demands.length === 0) return undefined;
  return proceed(ask.context.gateway.store.reserve(ask.demands), (decision) => outcomeOf(ask, decision));
}

function outcomeOf({ seats, demands }: Ask, decision: Decision): Grant | LimitRefusal {
  if (!decision.ok) return refusedBy(seats, demands, decision);
  return { seats, readings: decision.readings, hold: decision.hold };
}

export function isGrant(outcome: Grant | LimitRefusal): outcome is Grant {
  return 'hold' in outcome;
}

/** Puts what was used in place of what was demanded. Nothing happens where nothing was granted. */
export function release(grant: Grant | undefined, used: Readonly<Record<Unit, number>>): void {
  grant?.hold.settle(grant.seats.map(({ limit }) => used[limit.unit]));
}
