/** What checks reach the world with. None of it is a check's own: sockets are opened elsewhere. */
import type { Json } from '../providers/provider.ts';

export interface RemoteCall {
  readonly method?: 'GET' | 'POST';
  /** The administrator's word: private hosts are fine. */
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string;
  readonly timeoutMs: number;
  readonly signal: AbortSignal;
}

export interface RemoteReply {
  readonly status: number;
  /** Lower-case names. */
  readonly headers: Readonly<Record<string, string>>;
  /** The body as UTF-8; the implementation bounds its size. */
  readonly text: string;
}

export interface Download {
  readonly url: URL;
  readonly maxBytes: number;
  readonly signal: AbortSignal;
}

export interface Downloaded {
  readonly status: number;
  /** At most `maxBytes`; `complete` is false where there was more. */
  readonly bytes: Uint8Array;
  readonly complete: boolean;
}

export interface Completion {
  /** `@slug/model`. */
  readonly model: string;
  readonly messages: readonly { readonly role: string; readonly content: string }[];
  /** Whether the answer should be one JSON object. */
  readonly json: boolean;
  readonly timeoutMs: number;
  readonly signal: AbortSignal;
}

export interface Moderation {
  /** `@slug/model`. */
  readonly model: string;
  readonly input: readonly string[];
  readonly timeoutMs: number;
  readonly signal: AbortSignal;
}

/** Every promise is rejected where nothing came of it: network, time, abort. Redirects are never followed. */
export interface CheckMeans {
  call(request: RemoteCall): Promise<RemoteReply>;
  /** For outsiders' URLs: rejected where the host leads to a private address that the installation does not list. */
  download(request: Download): Promise<Downloaded>;
  /** Whether an outsider's host has a name at all, and one that `download` would go to. Rejected where it cannot be asked. */
  resolves(url: URL, signal: AbortSignal): Promise<boolean>;
  /** The text of the answer of a configured model. */
  complete(request: Completion): Promise<string>;
  /** The answer of a configured provider's moderation endpoint, in OpenAI's shape. */
  moderate(request: Moderation): Promise<Json>;
  /** Writes one structured log line. */
  record(fields: Json): void;
  /** Unix milliseconds. */
  now(): number;
  /** How keys of this installation begin. */
  readonly keyPrefix: string;
}
