/** The watches that are open. */
import type { Availability } from './availability.ts';
import { type EventFaults, isOf, type WatchMatch } from './event-faults.ts';
import { expired } from './failure.ts';
import type { Presentation } from './presentation.ts';
import type { Target } from './target.ts';
import { Watch } from './watch.ts';

export class Watches {
  readonly #open = new Set<Watch>();
  readonly #view: Availability;
  readonly #faults: EventFaults;

  constructor(view: Availability, faults: EventFaults) {
    this.#view = view;
    this.#faults = faults;
    view.store.onChange(() => this.advance());
  }

  /** Throws Failure 400. */
  open(who: string, target: Target, presentation: Presentation): Watch {
    const [view, faults] = [this.#view.of(target.row), this.#faults];
    const onClose = (closed: Watch) => this.#open.delete(closed);
    const watch = new Watch({ who, target, view, presentation, faults, onClose });
    if (!watch.stream.isOver) this.#open.add(watch);
    return watch;
  }

  /** Each tells what is known by now. */
  advance(): void {
    for (const watch of this.#open) watch.advance();
  }

  matching(match: WatchMatch = {}): Watch[] {
    return [...this.#open].filter((watch) => isOf(match, watch));
  }

  /** Each ends as one whose version is forgotten. */
  expire(match: WatchMatch): void {
    for (const watch of this.matching(match)) watch.error(expired('too old resource version: it was compacted'));
  }
}
