/** A resolved config: the tree that `route` walks. Immutable, shared by all requests of one snapshot. */
import type { Config } from '#crds/config/schema.ts';
import type { Concurrency } from '#crds/limits/concurrency.ts';
import type { CacheRule } from '../cache/cache-rule.ts';
import type { GatewayError } from '../errors.ts';
import type { Guard } from '../guardrails/guard.ts';
import type { SideGuards } from '../guardrails/guard-book.ts';
import type { ModelPrices } from '../money/price-book.ts';
import type { Provider } from '../providers/provider.ts';

export interface RetryRule {
  /** Tries after the first, 0-5. */
  readonly attempts: number;
  readonly statusCodes: ReadonlySet<number>;
  readonly useRetryAfter: boolean;
}

export interface BreakerRule {
  readonly failureThreshold: number;
  readonly cooldownMs: number;
  /** undefined: any status of 500 or more, network errors (502) and timeouts (408). */
  readonly statusCodes: ReadonlySet<number> | undefined;
}

/** What holds for a target after inheritance (`semantics.md` 3). */
export interface Settings {
  readonly overrideParams: Readonly<Record<string, unknown>> | undefined;
  readonly retry: RetryRule | undefined;
  readonly breaker: BreakerRule | undefined;
  readonly requestTimeoutMs: number | undefined;
  readonly forwardHeaders: readonly string[];
  readonly strict: boolean;
  readonly streamDelivery: 'live' | 'whole';
  readonly streamIdleTimeoutMs: number;
  /** `custom_host` of the config or of a parent. */
  readonly customHost: string | undefined;
  /** The target's own; inherited by no child. */
  readonly concurrency: Concurrency | undefined;
  /** undefined: its answers are not kept. */
  readonly cache: CacheRule | undefined;
}

/** Where a target's requests go: all of it known before a request comes, but for the body. */
export interface Upstream {
  readonly provider: Provider;
  readonly origin: string;
  /** Host and port, for spans and logs. */
  readonly host: string;
  /** Path prefix without a trailing slash, e.g. `/v1`. */
  readonly pathPrefix: string;
  /** Flat list of credential and addressing headers. */
  readonly headers: readonly string[];
  /** A request named the host: connect only to public addresses or to these origins. undefined: anywhere. */
  readonly listed: ReadonlySet<string> | undefined;
  /** The credential is the installation's, not the caller's: its refusal by the provider is our fault. */
  readonly ownsCredential: boolean;
  /** Provider + host + credential: whose retry budget this is. Never printed. */
  readonly budgetKey: string;
  /** Integration in use, by `namespace/name`. */
  readonly integration: string | undefined;
  /** undefined: every model. */
  readonly allowsModel: ((model: string) => boolean) | undefined;
  /** Of a model as it is sent. */
  readonly prices: ModelPrices;
  /** Models of an Integration that live on a host of their own. */
  readonly modelHosts: ReadonlyMap<string, Upstream> | undefined;
}

export interface Target {
  readonly kind: 'target';
  /** `config`, or `config.targets[0].targets[1]`. */
  readonly path: string;
  readonly name: string | undefined;
  /** Weight among its siblings, default 1. */
  readonly weight: number;
  readonly settings: Settings;
  /** Guardrails of its own requests, and of its answers; those of the root's requests are the plan's. */
  readonly guards: SideGuards;
  /** Fixed by the config; 'request': resolved from headers and model; a GatewayError: why it cannot be used. */
  readonly upstream: Upstream | 'request' | GatewayError;
  /** How to make the upstream anew when the request names its host or lacks what the config leaves to it. */
  readonly config: Config;
  /** Identity of its breaker: config namespace/name + path. Replicas agree on it. */
  readonly breakerKey: string;
}

/** What conditions and sticky fields can see. */
export interface Facts {
  readonly metadata: Readonly<Record<string, string>>;
  /** The caller's JSON body, before overrides. */
  readonly params: Readonly<Record<string, unknown>>;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly pathname: string;
}

export interface Branch {
  readonly kind: 'branch';
  readonly path: string;
  readonly name: string | undefined;
  readonly weight: number;
  readonly mode: 'single' | 'loadbalance' | 'fallback' | 'conditional';
  readonly children: readonly PlanNode[];
  /** fallback: the statuses that move on; undefined: the defaults of `semantics.md` 4. */
  readonly fallbackCodes: ReadonlySet<number> | undefined;
  /** conditional: index of the child to take. */
  readonly choose: ((facts: Facts) => number) | undefined;
  /** loadbalance: the value that keeps a caller on one child; undefined: draw anew. */
  readonly stickyKey: ((facts: Facts) => string | undefined) | undefined;
  readonly stickyTtlMs: number | undefined;
}

export type PlanNode = Target | Branch;

/** Where the cache of a plan acts. */
export interface PlanCache {
  /** `root`: before a target is chosen, as one rule holds for all; `targets`: at the turn of each that has a rule. */
  readonly at: 'root' | 'targets' | 'nowhere';
  /** The root's. */
  readonly rule: CacheRule | undefined;
  /** Of all that the targets are and say, for answers of whichever of them; '' where that is of no account. */
  readonly fingerprint: string;
}

export interface Plan {
  /** `namespace/name`, `inline` or `direct`. */
  readonly name: string;
  readonly root: PlanNode;
  readonly cache: PlanCache;
  /** Some target bounds its requests in flight. */
  readonly isCapped: boolean;
  /** Guardrails of a request, before a target is chosen. */
  readonly inputGuards: readonly Guard[];
  /** It has guardrails somewhere. */
  readonly isGuarded: boolean;
  /** The stored prompt that requests are made of, and whose workspace it is looked for in. */
  readonly prompt: { readonly reference: string; readonly namespace: string } | undefined;
}
