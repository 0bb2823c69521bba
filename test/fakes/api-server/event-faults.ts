/** What may happen to the events of watches on their way. */
import type { ApiObject, Resource } from '#crds/api/api-object.ts';
import type { Watch } from './watch.ts';

export interface EventMatch {
  /** Identity of the client. */
  readonly who?: string;
  readonly resource?: Resource;
  readonly namespace?: string;
  readonly name?: string;
  /** ADDED, MODIFIED, DELETED, BOOKMARK, ERROR; none: whatever is about an object. */
  readonly type?: string;
  /** The first matching event that it happens to, from 1. */
  readonly nth?: number;
  /** To how many of them from then on. Default: all. */
  readonly times?: number;
}

/** `swap`: comes after the object's next event, or after `SWAP_MS` where there is none. */
export type EventFault = 'drop' | 'duplicate' | 'swap' | { readonly delayMs: number };

/** An event on its way. `object`: undefined for those about none. */
export interface Sent {
  readonly watch: Watch;
  readonly type: string;
  readonly object: ApiObject | undefined;
  readonly line: string;
}

export interface Injected {
  /** How often it happened. */
  readonly hits: number;
  /** It happens no more. */
  remove(): void;
}

export interface WatchMatch {
  readonly who?: string;
  readonly resource?: Resource;
}

type Deliver = (line: string) => void;

interface Rule extends Injected {
  seen: number;
  hits: number;
  readonly match: EventMatch;
  readonly fault: EventFault;
}

const SWAP_MS = 1_000;

export class EventFaults {
  readonly #rules = new Set<Rule>();
  readonly #silences = new Set<WatchMatch>();
  /** Per watch and object: what waits for its successor. */
  readonly #held = new Map<string, () => void>();
  readonly #numbers = new WeakMap<Watch, number>();
  #lastNumber = 0;

  add(match: EventMatch, fault: EventFault): Injected {
    const rule: Rule = { match, fault, seen: 0, hits: 0, remove: () => this.#rules.delete(rule) };
    this.#rules.add(rule);
    return rule;
  }

  /** Watches that no byte comes from, and that do not end either: half-open. */
  silence(match: WatchMatch): Pick<Injected, 'remove'> {
    this.#silences.add(match);
    return { remove: () => this.#silences.delete(match) };
  }

  /** Whether the end of a watch reaches its client. */
  ends(watch: Watch): boolean {
    return ![...this.#silences].some((match) => isOf(match, watch));
  }

  pass(sent: Sent, deliver: Deliver): void {
    if (!this.ends(sent.watch)) return;
    const rule = [...this.#rules].find((candidate) => hits(candidate, sent));
    if (rule === undefined) this.#deliver(sent, deliver);
    else this.#distort(rule.fault, sent, deliver);
  }

  #distort(fault: EventFault, sent: Sent, deliver: Deliver): void {
    if (fault === 'drop') return;
    if (fault === 'swap') this.#hold(sent, deliver);
    else if (fault === 'duplicate') {
      this.#deliver(sent, deliver);
      deliver(sent.line);
    } else setTimeout(() => deliver(sent.line), fault.delayMs);
  }

  #deliver(sent: Sent, deliver: Deliver): void {
    deliver(sent.line);
    this.#held.get(this.#keyOf(sent))?.();
  }

  #hold(sent: Sent, deliver: Deliver): void {
    const key = this.#keyOf(sent);
    this.#held.get(key)?.();
    const release = () => {
      clearTimeout(timer);
      this.#held.delete(key);
      deliver(sent.line);
    };
    const timer = setTimeout(release, SWAP_MS);
    this.#held.set(key, release);
  }

  #keyOf({ watch, object }: Sent): string {
    const number = this.#numbers.get(watch) ?? ++this.#lastNumber;
    this.#numbers.set(watch, number);
    return JSON.stringify([number, object?.metadata.namespace, object?.metadata.name]);
  }
}

export function isOf({ who, resource }: WatchMatch, watch: Watch): boolean {
  const { row } = watch.target;
  const isMeant = resource === undefined || (resource.plural === row.plural && resource.apiVersion === row.apiVersion);
  return isMeant && (who === undefined || who === watch.who);
}

function hits(rule: Rule, { watch, type, object }: Sent): boolean {
  const { match } = rule;
  const { nth = 1, times = Number.POSITIVE_INFINITY } = match;
  const isType = match.type === undefined ? object !== undefined : match.type === type;
  const isPlace = match.namespace === undefined || match.namespace === object?.metadata.namespace;
  const isName = match.name === undefined || match.name === object?.metadata.name;
  if (!(isType && isPlace && isName && isOf(match, watch))) return false;
  rule.seen += 1;
  const isHit = rule.seen >= nth && rule.seen < nth + times;
  if (isHit) rule.hits += 1;
  return isHit;
}
