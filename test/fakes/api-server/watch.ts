/** One watch: what happened after a version, and what happens from now on, a JSON event per line. */
import type { ApiObject } from '#crds/api/api-object.ts';
import { ByteStream } from './byte-stream.ts';
import type { EventFaults, Sent } from './event-faults.ts';
import { expired, type Failure } from './failure.ts';
import type { Fields } from './fields.ts';
import type { Presentation } from './presentation.ts';
import { type ReadView, selectionOf } from './reads.ts';
import type { Selects } from './selectors.ts';
import type { Change } from './store.ts';
import type { Target } from './target.ts';
import { type WatchQuery, watchQueryOf } from './watch-query.ts';

export interface WatchOptions {
  readonly who: string;
  readonly target: Target;
  readonly view: ReadView;
  readonly presentation: Presentation;
  readonly faults: EventFaults;
  readonly onClose: (watch: Watch) => void;
}

const BOOKMARK_EVERY_MS = 60_000;
const BOOKMARK_BEFORE_END_MS = 2_000;

export class Watch {
  readonly who: string;
  readonly target: Target;
  readonly stream: ByteStream;
  readonly #options: WatchOptions;
  readonly #selects: Selects;
  readonly #timers = new Set<ReturnType<typeof setTimeout>>();
  readonly #query: WatchQuery;
  /** Up to which it has told. */
  #told: number;
  /** Of the newest bookmark, or where it began. */
  #marked: number;
  #isLost = false;

  /** Throws Failure 400. */
  constructor(options: WatchOptions) {
    this.#options = options;
    this.who = options.who;
    this.target = options.target;
    this.#selects = selectionOf(options.target);
    this.#query = watchQueryOf(options.target.query);
    this.stream = new ByteStream();
    this.stream.onOver(() => this.#close());
    this.#told = this.#query.since ?? 0;
    this.#marked = this.#told;
    this.#begin();
  }

  /** Tells what happened until `version`, by default what is known by now. */
  advance(version: number = this.#options.view.version): void {
    if (version <= this.#told) return;
    const changes = this.#options.view.store.changes(this.#told, version);
    this.#told = version;
    for (const change of changes) this.#tell(change);
  }

  /** Where the client wants them, and if there is news of it. */
  bookmark(version: number = this.#options.view.version): void {
    this.advance(version);
    if (version > this.#marked && version >= this.#told) this.#mark(version, false);
  }

  /** The last event: what it was told is not to be relied on. */
  error(failure: Failure): void {
    this.#send({ type: 'ERROR', object: failure.statusObject });
    this.stream.end();
  }

  /** Nothing reaches the client any more, not even the end. */
  lose(): void {
    this.#isLost = true;
  }

  /** As it is, with the newline that ends an event. */
  sendLine(line: string): void {
    if (!this.#isLost) this.stream.push(Buffer.from(`${line}\n`));
  }

  #mark(version: number, isInitialEnd: boolean): void {
    if (!this.#query.wantsBookmarks) return;
    this.#marked = version;
    this.#send({
      type: 'BOOKMARK',
      object: this.#options.presentation.bookmark(this.target.row, version, isInitialEnd),
    });
  }

  #begin(): void {
    const { view } = this.#options;
    const { hasInitialEvents, since } = this.#query;
    if (hasInitialEvents) this.#tellAll(view);
    else if (since === undefined) this.#told = view.version;
    else if (since < view.store.compactedVersion) {
      this.error(expired(`too old resource version: ${since} (${view.store.compactedVersion})`));
      return;
    } else this.advance(view.version);
    this.#schedule();
  }

  #tellAll({ store, version }: ReadView): void {
    for (const object of store.allAt(this.target.row, version).filter(this.#selects)) {
      this.#deliver('ADDED', object);
    }
    this.#told = version;
    if (this.#query.marksInitialEnd) this.#mark(version, true);
  }

  #schedule(): void {
    const endMs = this.#query.seconds * 1_000;
    this.#after(endMs, () => this.#end());
    if (endMs > BOOKMARK_BEFORE_END_MS) this.#after(endMs - BOOKMARK_BEFORE_END_MS, () => this.bookmark());
    this.#everyMinute();
  }

  #end(): void {
    if (!this.#isLost && this.#options.faults.ends(this)) this.stream.end();
  }

  #everyMinute(): void {
    this.#after(BOOKMARK_EVERY_MS, () => {
      this.bookmark();
      this.#everyMinute();
    });
  }

  #after(waitMs: number, act: () => void): void {
    const timer = setTimeout(() => {
      this.#timers.delete(timer);
      act();
    }, waitMs);
    this.#timers.add(timer);
  }

  /** What is no longer selected is deleted for this watch, as it was when it was. */
  #tell({ row, before, after, isDeletion }: Change): void {
    if (row !== this.target.row) return;
    const was = before !== undefined && this.#selects(before);
    const is = !isDeletion && this.#selects(after);
    if (is) this.#deliver(was ? 'MODIFIED' : 'ADDED', after);
    else if (was) this.#deliver('DELETED', isDeletion ? after : withVersionOf(before, after));
  }

  #deliver(type: string, object: ApiObject): void {
    this.#send({ type, object: this.#options.presentation.object(object), about: object });
  }

  #send({ type, object, about }: { readonly type: string; readonly object: Fields; readonly about?: ApiObject }): void {
    const sent: Sent = { watch: this, type, object: about, line: JSON.stringify({ type, object }) };
    this.#options.faults.pass(sent, (line) => this.sendLine(line));
  }

  #close(): void {
    for (const timer of this.#timers) clearTimeout(timer);
    this.#options.onClose(this);
  }
}

function withVersionOf(before: ApiObject, after: ApiObject): ApiObject {
  const { resourceVersion = '' } = after.metadata;
  return { ...before, metadata: { ...before.metadata, resourceVersion } };
}
