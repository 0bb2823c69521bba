/** What was asked, and what was written: for assertions. */
import type { ApiObject, Resource } from '#crds/api/api-object.ts';
import type { RequestSubject } from './requests.ts';
import type { WriteVerb } from './writes.ts';

/** A request that was answered, or not. */
export interface RequestEntry extends RequestSubject {
  /** Identity of the client. */
  readonly who: string;
  readonly path: string;
  /** 0: there was no answer. */
  readonly status: number;
  /** Date.now() when it was over, of a watch when it began. */
  readonly atMs: number;
}

/** A write that was taken. */
export interface WriteEntry {
  /** From 1. */
  readonly number: number;
  readonly who: string;
  /** '' where the client named none. */
  readonly fieldManager: string;
  readonly verb: WriteVerb;
  readonly resource: string;
  readonly subresource: 'status' | undefined;
  readonly namespace: string | undefined;
  readonly name: string;
  readonly before: ApiObject | undefined;
  /** undefined: it is gone. */
  readonly after: ApiObject | undefined;
  /** false: the object is as it was, and there is no new version. */
  readonly isChange: boolean;
  readonly atMs: number;
}

export interface WriteMatch {
  readonly who?: string;
  readonly fieldManager?: string;
  readonly verb?: WriteVerb;
  readonly resource?: Resource;
  readonly subresource?: 'status';
  readonly namespace?: string;
  readonly name?: string;
  readonly isChange?: boolean;
}

type OnWrite = (entry: WriteEntry) => void;

export class Journal {
  readonly requests: RequestEntry[] = [];
  readonly writes: WriteEntry[] = [];
  readonly #listeners = new Set<OnWrite>();

  /** Called after each write, before it is answered. Gives back what ends it. */
  onWrite(listener: OnWrite): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  add(entry: Omit<WriteEntry, 'number' | 'atMs'>): void {
    const numbered = { ...entry, number: this.writes.length + 1, atMs: Date.now() };
    this.writes.push(numbered);
    for (const listener of this.#listeners) listener(numbered);
  }

  matching({ resource, ...match }: WriteMatch): WriteEntry[] {
    const wanted = Object.entries({ ...match, ...(resource === undefined ? {} : { resource: resource.plural }) });
    return this.writes.filter((entry) =>
      wanted.every(([field, value]) => value === undefined || entry[field as keyof WriteEntry] === value),
    );
  }
}
