/** What checks look at: a request or an answer of any endpoint and dialect, its texts read only where somebody asks. */
import type { Json } from '../providers/provider.ts';
import { readTexts } from './read-texts.ts';
import type { Path } from './rewrite.ts';

export type Side = 'request' | 'response';

/** One text of the body. */
export interface SubjectText {
  /** `system`, `user`, `assistant`, `tool`, ... as the body says, or what the field implies. */
  readonly role: string;
  /** Arguments are JSON written anew, so that escapes hide nothing. */
  readonly text: string;
  /** `arguments`: those of tool calls, and the definitions of tools. */
  readonly part: 'text' | 'thinking' | 'arguments';
  /** Where it stands. */
  readonly path: Path;
  /** Which message or choice it belongs to, from 0; -1: none, a system prompt beside the messages. */
  readonly turn: number;
  /** Whether it only repeats what another text says (`content_blocks`). */
  readonly repeats: boolean;
  /** As it stands in the body. */
  readonly given: unknown;
}

export interface SubjectFacts {
  readonly side: Side;
  /** `chatComplete`, `messages`, ... */
  readonly endpointType: string;
  /** The request's or the answer's JSON body. */
  readonly body: Json;
  /** The request's body, beside an answer. */
  readonly request?: Json;
  readonly model: string | undefined;
  /** Known where it is decided already. */
  readonly provider?: string;
  readonly metadata: Readonly<Record<string, string>>;
  /** The caller's own, lower-case names, without the gateway key. Never sent anywhere. */
  readonly headers: Readonly<Record<string, string>>;
  readonly stream: boolean;
}

export interface Subject extends SubjectFacts {
  /** In the body's order. Throws CheckError where the body holds tokens in the place of texts. */
  readonly texts: readonly SubjectText[];
  /** What counting checks look at: the last message of a request, the first choice of an answer; without thinking and arguments. */
  readonly last: string;
  /** The same with another body. */
  withBody(body: Json): Subject;
}

/** Nothing is read here. */
export function createSubject(facts: SubjectFacts): Subject {
  return new LazySubject(facts);
}

class LazySubject implements Subject {
  readonly side: Side;
  readonly endpointType: string;
  readonly body: Json;
  declare readonly request?: Json;
  readonly model: string | undefined;
  declare readonly provider?: string;
  readonly metadata: Readonly<Record<string, string>>;
  readonly headers: Readonly<Record<string, string>>;
  readonly stream: boolean;
  readonly #facts: SubjectFacts;
  #texts: readonly SubjectText[] | undefined;
  #last: string | undefined;

  constructor(facts: SubjectFacts) {
    this.#facts = facts;
    this.side = facts.side;
    this.endpointType = facts.endpointType;
    this.body = facts.body;
    if (facts.request !== undefined) this.request = facts.request;
    this.model = facts.model;
    if (facts.provider !== undefined) this.provider = facts.provider;
    this.metadata = facts.metadata;
    this.headers = facts.headers;
    this.stream = facts.stream;
  }

  get texts(): readonly SubjectText[] {
    this.#texts ??= readTexts(this.body, this.side);
    return this.#texts;
  }

  get last(): string {
    this.#last ??= this.#readLast();
    return this.#last;
  }

  withBody(body: Json): Subject {
    return new LazySubject({ ...this.#facts, body });
  }

  #readLast(): string {
    const turn = this.side === 'response' ? 0 : (this.texts.at(-1)?.turn ?? 0);
    return this.texts
      .filter((text) => text.turn === turn && text.part === 'text' && !text.repeats)
      .map(({ text }) => text)
      .join('\n');
  }
}
