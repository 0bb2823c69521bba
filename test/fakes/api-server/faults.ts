/** The fault plan: what a test lets happen to requests, events and watches. */
import type { EventFault, EventFaults, EventMatch, Injected, WatchMatch } from './event-faults.ts';
import type { InjectedRequests, RequestFault, RequestFaults, RequestMatch } from './request-faults.ts';
import type { Watches } from './watches.ts';

export class Faults {
  readonly #requests: RequestFaults;
  readonly #events: EventFaults;
  readonly #watches: Watches;

  constructor(requests: RequestFaults, events: EventFaults, watches: Watches) {
    this.#requests = requests;
    this.#events = events;
    this.#watches = watches;
  }

  /** Of requests from now on; the first that matches holds. */
  onRequest(match: RequestMatch, fault: RequestFault): InjectedRequests {
    return this.#requests.add(match, fault);
  }

  /** Of events of open and later watches; the first that matches holds. Each watch that gets an event counts. */
  onEvent(match: EventMatch, fault: EventFault): Injected {
    return this.#events.add(match, fault);
  }

  /** Open and later watches stay open without a byte, whatever happens: nobody is there any more. */
  silence(match: WatchMatch = {}): Pick<Injected, 'remove'> {
    return this.#events.silence(match);
  }

  /** No event but bookmarks, which come when they are due or by `bookmark`. */
  onlyBookmarks(match: WatchMatch = {}): Injected {
    return this.#events.add(match, 'drop');
  }

  /** A bookmark now, in open watches that want them. */
  bookmark(match: WatchMatch = {}): void {
    for (const watch of this.#watches.matching(match)) watch.bookmark();
  }

  /** A line of your own in open watches, e.g. half an event. */
  sendLine(line: string, match: WatchMatch = {}): void {
    for (const watch of this.#watches.matching(match)) watch.sendLine(line);
  }

  /** Bytes without an end of line. */
  sendBytes(text: string, match: WatchMatch = {}): void {
    for (const watch of this.#watches.matching(match)) watch.stream.push(Buffer.from(text));
  }

  /** An event of about `bytes` bytes about an object that is not stored. */
  sendOversized(bytes: number, match: WatchMatch = {}): void {
    for (const watch of this.#watches.matching(match)) {
      const { apiVersion, kind } = watch.target.row;
      const metadata = { name: 'oversized', namespace: 'default', uid: 'oversized', resourceVersion: '1' };
      const object = { apiVersion, kind, metadata, padding: 'x'.repeat(bytes) };
      watch.sendLine(JSON.stringify({ type: 'ADDED', object }));
    }
  }

  /** An ERROR event with status 410, which ends open watches. */
  expire(match: WatchMatch = {}): void {
    this.#watches.expire(match);
  }

  /** Open watches end, as after timeoutSeconds. */
  end(match: WatchMatch = {}): void {
    for (const watch of this.#watches.matching(match)) watch.stream.end();
  }
}
