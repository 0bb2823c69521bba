/** One client request, from its first header to its settlement. Every phase writes what it learnt here; `settle` reads it. */
import type { KeyRecord } from '#crds/snapshot/contract.ts';
import type { CacheUse } from './cache/cache-use.ts';
import type { ErrorCode } from './errors.ts';
import type { Bill } from './money/bill.ts';
import type { PromptUse } from './prompts/ready-prompt.ts';
import type { Dialect, Operation, Usage } from './providers/provider.ts';

/** Who calls. In open mode a caller of namespace `default` without a key. */
export interface Caller {
  /** Name of the ApiKey object; `anonymous` in open mode. The only word about a key that logs and metrics may hold. */
  readonly name: string;
  readonly namespace: string;
  readonly key: KeyRecord | undefined;
}

/** One try at one upstream. Times are `performance.now()` milliseconds. */
export interface Attempt {
  /** Path of the target, e.g. `config.targets[0].targets[1]`. */
  readonly target: string;
  readonly provider: string;
  /** Integration in use, by `namespace/name`. */
  readonly integration: string | undefined;
  /** Model sent to the upstream. */
  readonly model: string | undefined;
  /** Host and port of the upstream. */
  readonly host: string;
  /** 0 for the first try of this target, n for its n-th retry. */
  readonly retry: number;
  readonly startedAt: number;
  /** First byte of the answer's body. */
  firstByteAt: number | undefined;
  endedAt: number | undefined;
  /** The upstream's status; undefined for a network error. */
  status: number | undefined;
  errorCode: ErrorCode | undefined;
  /** Set where this request is sampled: carries `traceparent` upstream. */
  spanId: string | undefined;
}

/** Ids of `semantics.md` 12, all lower-case hex, and the caller's own words. */
export interface Trace {
  /** 32 hex digits. */
  readonly traceId: string;
  /** What the answer's `x-gateway-trace-id` says: the caller's own value as given, else `traceId`. */
  readonly echoed: string;
  readonly parentSpanId: string | undefined;
  readonly spanId: string;
  readonly spanName: string | undefined;
  readonly sampled: boolean;
  readonly traceState: string | undefined;
}

export interface Endpoint {
  /** The word of conditions and metrics: chatComplete, complete, embed, messages, countTokens. */
  readonly type: string;
  readonly operation: Operation;
  readonly dialect: Dialect;
  /** Path as registered, e.g. `/v1/chat/completions`. */
  readonly path: string;
}

/** Which limit refused a request; words of manifests, for logs and metrics. */
export interface Refusal {
  /** `RateLimitPolicy`, `UsageLimitPolicy`, `ApiKey`, `Integration`, `Workspace` or `GatewayConfig`. */
  readonly kind: string;
  /** What its object calls it. */
  readonly label: string;
}

/** One word of feedback, without its metadata. */
export interface FeedbackNote {
  readonly source: 'caller' | 'hook';
  readonly value: number;
  readonly weight: number;
  /** The guardrail that gave it. */
  readonly hook?: string;
}

/** What guardrails made of a request, for its log line and span. */
export interface Inspected {
  /** The guardrail that ended it, and the check: `no-pii/default.pii`. */
  readonly deniedBy?: string | undefined;
  /** Checks that did not pass, whatever that led to. */
  readonly failed?: readonly string[];
  /** Characters of a stream that went out before it was cut. */
  readonly sentChars?: number;
  readonly feedback?: readonly FeedbackNote[];
  /** It is a call of a model that a check makes for another request. */
  readonly isInner?: boolean;
}

export interface Exchange {
  readonly id: string;
  readonly method: string;
  /** Path without query. */
  readonly pathname: string;
  /** Of a stored prompt: at first what it is mostly made to, then what it is. */
  endpoint: Endpoint | undefined;
  readonly startedAt: number;
  readonly trace: Trace;
  caller: Caller | undefined;
  /** Name of the config in use; `inline` for one in the header; undefined in direct mode. */
  config: string | undefined;
  /** The stored prompt that the body was made of. */
  prompt: PromptUse | undefined;
  /** Merged metadata: workspace, key, request. */
  metadata: Readonly<Record<string, string>>;
  /** Model as the caller named it. */
  requestedModel: string | undefined;
  stream: boolean;
  readonly attempts: Attempt[];
  /** Status told to the caller; 499 where the caller left first. */
  status: number;
  errorCode: ErrorCode | undefined;
  /** First body byte to the caller. */
  firstByteAt: number | undefined;
  usage: Usage | undefined;
  /** Tokens of the prompt, rather too many than too few; 0 while nobody needed to know. */
  promptEstimate: number;
  /** Events of a stream that held a part of its answer, about a token each. */
  outputEvents: number;
  /** undefined: nothing of this request is kept. */
  cache: CacheUse | undefined;
  /** undefined: no guardrail had anything to say, and nobody else either. */
  inspected: Inspected | undefined;
  /** The limit that refused this request. */
  refusal: Refusal | undefined;
  /** Set when the exchange is settled; undefined: nothing was used. */
  bill: Bill | undefined;
  /** A stream that ended without its end marker. */
  streamFailed: boolean;
  /** Model that the upstream says has answered. */
  answeredModel: string | undefined;
  /** Generation of the snapshot that served this request. */
  generation: number;
}
