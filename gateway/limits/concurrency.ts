/** Caps on requests under way. Each replica lets its part of a cap pass; the others queue, first come, first served. */
import type { Concurrency } from '#crds/limits/concurrency.ts';

/** The right to be under way. */
export interface Turn {
  /** Gives it to whoever waits longest. Once. */
  leave(): void;
}

/** A place in the queue. */
export interface Queued {
  /** Settles when it is this one's turn, or with undefined when it has waited for too long or given up. */
  readonly turn: Promise<Turn | undefined>;
  giveUp(): void;
}

interface Waiter {
  readonly settle: (turn: Turn | undefined) => void;
  readonly timer: NodeJS.Timeout;
}

class Gate {
  inFlight = 0;
  /** In order of arrival. */
  readonly queue = new Set<Waiter>();
  capacity: number;

  constructor(capacity: number) {
    this.capacity = capacity;
  }

  get isIdle(): boolean {
    return this.inFlight === 0 && this.queue.size === 0;
  }

  /** Lets pass who may: after somebody left, and after the cap was raised. */
  advance(pass: () => Turn): void {
    for (const waiter of this.queue) {
      if (this.inFlight >= this.capacity) return;
      this.dismiss(waiter, pass());
    }
  }

  dismiss(waiter: Waiter, turn: Turn | undefined): void {
    if (!this.queue.delete(waiter)) return;
    clearTimeout(waiter.timer);
    waiter.settle(turn);
  }
}

/** The caps of one replica, by name: they outlive snapshots, and are gone when nobody is under way. */
export class Turnstiles {
  private readonly gates = new Map<string, Gate>();

  /** Caps that somebody is under way through. */
  get size(): number {
    return this.gates.size;
  }

  /**
   * `count`: replicas that share the cap. `maxWaitMs`: no longer than this, whatever the rule says. undefined: neither a turn nor a
   * place in the queue is free.
   */
  enter(name: string, rule: Concurrency, count: number, maxWaitMs: number): Turn | Queued | undefined {
    const capacity = Math.max(1, Math.floor(rule.max_in_flight / count));
    const gate = this.gateOf(name, capacity);
    if (gate.queue.size === 0 && gate.inFlight < capacity) return this.pass(name, gate);
    if (gate.queue.size >= rule.max_queued) return undefined;
    return this.queueUp(name, gate, Math.min(rule.max_wait_ms, maxWaitMs));
  }

  private gateOf(name: string, capacity: number): Gate {
    let gate = this.gates.get(name);
    if (gate === undefined) {
      gate = new Gate(capacity);
      this.gates.set(name, gate);
    }
    const current = gate;
    current.capacity = capacity;
    current.advance(() => this.pass(name, current));
    return current;
  }

  private pass(name: string, gate: Gate): Turn {
    gate.inFlight += 1;
    let isOver = false;
    return {
      leave: () => {
        if (isOver) return;
        isOver = true;
        gate.inFlight -= 1;
        gate.advance(() => this.pass(name, gate));
        this.forgetIdle(name, gate);
      },
    };
  }

  private queueUp(name: string, gate: Gate, waitMs: number): Queued {
    const { promise, resolve } = Promise.withResolvers<Turn | undefined>();
    const giveUp = () => {
      gate.dismiss(waiter, undefined);
      this.forgetIdle(name, gate);
    };
    const waiter: Waiter = { settle: resolve, timer: setTimeout(giveUp, waitMs) };
    gate.queue.add(waiter);
    return { turn: promise, giveUp };
  }

  private forgetIdle(name: string, gate: Gate): void {
    if (gate.isIdle && this.gates.get(name) === gate) this.gates.delete(name);
  }
}

export function isTurn(entered: Turn | Queued): entered is Turn {
  return 'leave' in entered;
}
