/**
 * What each file was last known to contain. A change counts only once the file has been still for a moment, and a change
 * that would lose an object must be still for longer: editors and copies truncate, rename and rewrite.
 */
import type { Observation, Problem } from '../../world.ts';
import type { FileContent, ReadFile } from './read-file.ts';
import type { Scan, SightedFile } from './scan.ts';

export interface LedgerOptions {
  /** How long a file must be unchanged before it is read. */
  readonly settleMs: number;
  /** The same for a change after which some object would be gone. */
  readonly lossSettleMs: number;
  readonly read: (file: SightedFile) => Promise<ReadFile>;
  /** Path as it is shown to the user. */
  readonly show: (path: string) => string;
}

export interface LedgerStep {
  readonly changed: boolean;
  /** When to scan again at the latest because something has not settled; undefined: nothing is pending. */
  readonly againInMs: number | undefined;
}

interface KnownFile {
  readonly rank: number;
  readonly signature: string;
  readonly content: FileContent;
}

interface PendingFile {
  /** undefined: the file is gone. */
  readonly file: SightedFile | undefined;
  readonly sinceMs: number;
  /** Read already; undefined: not yet. */
  readonly next: FileContent | undefined;
}

const NOTHING: FileContent = { manifests: [], secrets: [], problems: [], identities: new Set() };

export class Ledger {
  readonly #options: LedgerOptions;
  readonly #known = new Map<string, KnownFile>();
  readonly #pending = new Map<string, PendingFile>();
  #unreadable: Scan['unreadable'] = [];

  constructor(options: LedgerOptions) {
    this.#options = options;
  }

  /** Takes in a scan. `trusted` paths need not settle; 'all' at the start. */
  async step(scan: Scan, nowMs: number, trusted: ReadonlySet<string> | 'all'): Promise<LedgerStep> {
    const ageOf = (path: string, pending: PendingFile): number =>
      trusted === 'all' || trusted.has(path) ? Number.POSITIVE_INFINITY : nowMs - pending.sinceMs;
    const unreadableBefore = JSON.stringify(this.#unreadable);
    this.#unreadable = scan.unreadable;
    this.#note(scan, nowMs);
    await this.#readSettled(ageOf);
    const applied = this.#apply(ageOf);
    return {
      changed: applied || JSON.stringify(scan.unreadable) !== unreadableBefore,
      againInMs: this.#againInMs(nowMs),
    };
  }

  /** Everything known, in order of precedence: root, then path, then place in the file. */
  observe(): Observation {
    const files = [...this.#known].sort(([pathA, a], [pathB, b]) => a.rank - b.rank || (pathA < pathB ? -1 : 1));
    const contents = files.map(([, file]) => file.content);
    return {
      manifests: contents.flatMap((content) => content.manifests),
      secrets: contents.flatMap((content) => content.secrets),
      problems: [
        ...this.#unreadable.map((place) => this.#unreadableProblem(place)),
        ...contents.flatMap((c) => c.problems),
      ],
    };
  }

  #note(scan: Scan, nowMs: number): void {
    for (const file of scan.files.values()) {
      if (this.#known.get(file.path)?.signature === file.signature) this.#pending.delete(file.path);
      else if (this.#pending.get(file.path)?.file?.signature !== file.signature) {
        this.#pending.set(file.path, { file, sinceMs: nowMs, next: undefined });
      }
    }
    for (const path of new Set([...this.#known.keys(), ...this.#pending.keys()])) {
      if (scan.files.has(path)) continue;
      if (!this.#known.has(path) || this.#isKept(path)) this.#pending.delete(path);
      else if (this.#pending.get(path)?.file !== undefined || !this.#pending.has(path)) {
        this.#pending.set(path, { file: undefined, sinceMs: nowMs, next: NOTHING });
      }
    }
  }

  #isKept(path: string): boolean {
    return this.#unreadable.some((place) => path === place.path || path.startsWith(`${place.path}/`));
  }

  async #readSettled(ageOf: (path: string, pending: PendingFile) => number): Promise<void> {
    for (const [path, pending] of [...this.#pending]) {
      const { file, next } = pending;
      if (file === undefined || next !== undefined || ageOf(path, pending) < this.#options.settleMs) continue;
      const read = await this.#options.read(file);
      if (read.outcome === 'moved') this.#pending.delete(path);
      else this.#pending.set(path, { ...pending, next: this.#contentAfter(path, read) });
    }
  }

  #contentAfter(path: string, read: Exclude<ReadFile, { outcome: 'moved' }>): FileContent {
    const before = this.#known.get(path)?.content ?? NOTHING;
    if (read.outcome === 'broken') return this.#keeping(path, before, read.line, 'Unparsable', read.message);
    if (!read.empty || before.identities.size === 0) return read.content;
    return this.#keeping(path, before, 1, 'EmptyFile', 'the file is empty; delete it to remove its objects');
  }

  #keeping(path: string, before: FileContent, line: number, reason: string, message: string): FileContent {
    const kept = before.identities.size === 0 ? '' : `; its ${before.identities.size} last good objects are kept`;
    const place = { file: this.#options.show(path), line };
    return { ...before, problems: [{ place, severity: 'refused', subject: '', reason, message: `${message}${kept}` }] };
  }

  /** Applies what loses nothing first, so that an object that moved to another file is never missed. */
  #apply(ageOf: (path: string, pending: PendingFile) => number): boolean {
    let changed = false;
    for (let progress = true; progress; ) {
      progress = false;
      for (const [path, pending] of [...this.#pending]) {
        if (pending.next === undefined) continue;
        const isOld = ageOf(path, pending) >= this.#options.lossSettleMs;
        if (!isOld && this.#loses(path, pending.next)) continue;
        this.#settle(path, pending, pending.next);
        progress = true;
        changed = true;
      }
    }
    return changed;
  }

  #settle(path: string, pending: PendingFile, next: FileContent): void {
    this.#pending.delete(path);
    if (pending.file === undefined) this.#known.delete(path);
    else this.#known.set(path, { rank: pending.file.rank, signature: pending.file.signature, content: next });
  }

  #loses(path: string, next: FileContent): boolean {
    const before = this.#known.get(path)?.content.identities ?? NOTHING.identities;
    const isElsewhere = (identity: string): boolean =>
      [...this.#known].some(([other, file]) => other !== path && file.content.identities.has(identity));
    return [...before].some((identity) => !next.identities.has(identity) && !isElsewhere(identity));
  }

  #againInMs(nowMs: number): number | undefined {
    const waits = [...this.#pending.values()].map(({ next, sinceMs }) => {
      const limit = next === undefined ? this.#options.settleMs : this.#options.lossSettleMs;
      return Math.max(1, sinceMs + limit - nowMs);
    });
    return waits.length === 0 ? undefined : Math.min(...waits);
  }

  #unreadableProblem({ path, message }: Scan['unreadable'][number]): Problem {
    const place = { file: this.#options.show(path), line: 1 };
    const kept = [...this.#known.keys()].some((known) => known.startsWith(path)) ? '; what was read of it is kept' : '';
    return { place, severity: 'refused', subject: '', reason: 'Unreadable', message: `${message}${kept}` };
  }
}
