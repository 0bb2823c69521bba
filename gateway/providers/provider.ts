/**
 * What the gateway knows of a provider: data and pure functions, no sockets. A provider is one file and one row in
 * `registry.ts`. The hub between dialects is OpenAI's chat completion: a provider that speaks another wire format
 * translates to and from it, and so does a client dialect.
 */

import type { ModelPage } from './model-page.ts';

/** JSON object on the wire, of unknown shape. */
export type Json = Record<string, unknown>;

/** A wire format. Client and provider of one dialect exchange bytes unparsed. */
export type Dialect = 'openai' | 'anthropic';

/** What a caller asks for; an endpoint of the API belongs to exactly one. */
export type Operation = 'chat' | 'complete' | 'embed' | 'countTokens';

/** Values of the config object's credential and addressing fields for one target (api_key, vendor_organization, ...). */
export type Credentials = Readonly<Record<string, unknown>>;

/** Tokens as the provider counted them, in OpenAI's words; the details are parts of the two sums. */
export interface Usage {
  readonly prompt_tokens: number;
  readonly completion_tokens: number;
  readonly total_tokens: number;
  readonly prompt_tokens_details?: PromptDetails;
  readonly completion_tokens_details?: CompletionDetails;
}

export interface PromptDetails {
  /** Read from the provider's cache. */
  readonly cached_tokens?: number;
  /** Written to it. */
  readonly cache_creation_tokens?: number;
  /** Those of the written that are kept for an hour. */
  readonly cache_creation_1h_tokens?: number;
  readonly audio_tokens?: number;
  readonly image_tokens?: number;
  /** Those of the cached that are audio, and images. */
  readonly cached_audio_tokens?: number;
  readonly cached_image_tokens?: number;
}

export interface CompletionDetails {
  readonly reasoning_tokens?: number;
  readonly audio_tokens?: number;
  readonly image_tokens?: number;
  readonly accepted_prediction_tokens?: number;
  readonly rejected_prediction_tokens?: number;
}

/** One server-sent event, unframed. `data` is the joined data lines. */
export interface ServerSentEvent {
  readonly event: string | undefined;
  readonly data: string;
}

export interface TranslateOptions {
  /** False: thinking output may be shown (`content_blocks`). */
  readonly strict: boolean;
}

/** Turns the provider's stream into chat completion chunks. One instance per stream; throws GatewayError `upstream_invalid`. */
export interface StreamDecoder {
  /** The hub chunks that this event gives, in order; often none or one. Throws a GatewayError for an error event of the provider. */
  decode(event: ServerSentEvent): readonly Json[];
  /** The provider's own end marker was seen. */
  readonly finished: boolean;
  /** Whether a clean end of the body may stand for the end marker now. */
  mayEnd(): boolean;
  /** The chunks that are still owed where it does. */
  end(): readonly Json[];
  /** What was counted so far, also of a stream that was cut. */
  readonly usage: Usage | undefined;
}

/** An error answer of a provider in our words; the status is the upstream's own. */
export interface UpstreamProblem {
  readonly message: string;
  readonly type: string | undefined;
  readonly code: string | undefined;
  readonly param: string | undefined;
}

/** How an operation is asked of a provider in the provider's own dialect. */
export interface OperationWire {
  /** Path below the base URL, e.g. `/chat/completions`. */
  readonly path: string;
}

/** Translation for a provider whose dialect is not the hub's. Pure; inputs are never changed. */
export interface ChatTranslation {
  /** Hub request -> the provider's request body. Throws GatewayError `invalid_value` for what cannot be said there. */
  encode(request: Json): Json;
  /** The provider's answer -> chat completion. Throws GatewayError `upstream_invalid` for a wrong shape. */
  decode(answer: Json, options: TranslateOptions): Json;
  decoder(options: TranslateOptions): StreamDecoder;
}

export interface Provider {
  readonly name: string;
  readonly dialect: Dialect;
  /** Origin and version path, without a trailing slash; undefined: only with `custom_host`. */
  readonly baseUrl: string | undefined;
  /** Whether a target needs a credential of ours (`api_key`); the simulator and local servers do not. */
  readonly needsCredential: boolean;
  /** Flat list of header names and values that carry the credential: [name, value, name, value, ...]. Computed once per target. */
  authorize(credentials: Credentials): readonly string[];
  readonly operations: Readonly<Partial<Record<Operation, OperationWire>>>;
  /** Needed when the dialect is not `openai`. */
  readonly chat?: ChatTranslation;
  /** Reads the provider's error body; undefined where it is not of the provider's shape. */
  readProblem(body: unknown): UpstreamProblem | undefined;
  /** Words of this provider for "the context window is too small" (error codes or message fragments, lower case). */
  readonly contextLengthWords: readonly string[];
  /** Whether usage of streams must be asked for with `stream_options.include_usage`. */
  readonly streamUsageOnRequest: boolean;
  /** Prices and sizes of its models; undefined: only what an Integration says is known. */
  readonly models?: ModelPage;
  /** Where a model's name tells more than its row: the most tokens of an answer that names no maximum itself. */
  maxOutputTokens?(model: string): number | undefined;
}
