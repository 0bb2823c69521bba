import { type ErrorEnvelope, type ErrorRow, SHARED_ERRORS } from '#crds/http/shared-errors.ts';
import type { HookResults } from './guardrails/hook-results.ts';

/**
 * The one table of errors. A code is never reused for another meaning; its status and type never depend on where it is
 * thrown. `fix` is what the reference documentation tells the caller to do.
 */
export const ERRORS = {
  ...SHARED_ERRORS,
  invalid_config: [400, 'invalid_request_error', 'Correct the inline config at the path that the message names.'],
  unknown_config: [
    400,
    'invalid_request_error',
    'Name a GatewayConfig of your workspace, or one that is shared with it.',
  ],
  config_refused: [
    400,
    'invalid_request_error',
    'The object exists but was never accepted: correct its manifest as the message says.',
  ],
  config_override_denied: [
    400,
    'invalid_request_error',
    'Leave x-gateway-config out: this key is bound to its default config.',
  ],
  unknown_slug: [400, 'invalid_request_error', 'Name an Integration of your workspace, or one that is shared with it.'],
  unknown_provider: [400, 'invalid_request_error', 'Name a provider of the catalogue, or an Integration as @slug.'],
  no_provider: [
    400,
    'invalid_request_error',
    'Say who should answer: x-gateway-config, x-gateway-provider, x-gateway-virtual-key or a model "@slug/model".',
  ],
  override_not_allowed: [
    400,
    'invalid_request_error',
    'Ask the installation to list the origin (--request-host), or leave the host out.',
  ],
  host_not_allowed: [400, 'invalid_request_error', 'Use a host whose origin the installation lists.'],
  model_not_allowed: [403, 'permission_error', 'Use a model that the Integration lists, or have it listed.'],
  unknown_prompt: [
    404,
    'not_found_error',
    'Name a prompt of your workspace, or one that is shared with it: name, name@12, name@latest or name@label.',
  ],
  missing_variable: [400, 'invalid_request_error', 'Give the variable that the message and `param` name.'],
  prompt_too_large: [
    400,
    'invalid_request_error',
    'Give smaller variables: a prompt that is filled in may have 1 MiB of text.',
  ],
  unknown_model: [404, 'not_found_error', 'List the models with GET /v1/models.'],
  request_timeout: [
    408,
    'timeout_error',
    'Raise request_timeout, or try again: the upstream was too slow. A body that arrives too slowly ends so too.',
  ],
  headers_too_large: [431, 'invalid_request_error', 'Send at most 16 KiB of headers.'],
  unsupported_operation: [501, 'not_found_error', 'Route this operation to a provider that has it.'],
  upstream_auth: [
    502,
    'upstream_error',
    'The provider refused the stored credential: correct the Secret of the Integration.',
  ],
  upstream_unreachable: [502, 'upstream_error', 'The provider could not be reached: check its host and the network.'],
  upstream_tls: [502, 'upstream_error', 'The provider has no certificate that this gateway trusts.'],
  upstream_redirect: [502, 'upstream_error', 'Redirects are not followed: configure the final host.'],
  upstream_invalid: [502, 'upstream_error', 'The provider answered with something that is not its protocol.'],
  upstream_cut: [502, 'upstream_error', 'The provider broke off: try again.'],
  upstream_stalled: [504, 'upstream_error', 'The provider stopped sending: try again, or raise stream_idle_timeout.'],
  upstream_error: [502, 'upstream_error', 'The provider refused the request: its own status and message are kept.'],
  guardrail_denied: [
    446,
    'hooks_failed',
    'Ask in another way: the message names the check that did not pass, hook_results says more.',
  ],
  guardrail_failed: [
    446,
    'hooks_failed',
    'A guardrail could not be asked, and so lets nothing pass: the message says why. Its owner can mend it or set on_error: allow.',
  ],
  rate_limited: [
    429,
    'rate_limit_error',
    'Wait as retry-after says: the rate limit that the message names admits no more in its window.',
  ],
  too_many_in_flight: [
    429,
    'rate_limit_error',
    'Send fewer requests at once, or have the cap on requests in flight raised that the message names.',
  ],
  usage_limit_exceeded: [
    412,
    'usage_limit_error',
    'Have the usage limit raised or reset that the message names, or wait until it starts anew: trying again does not help.',
  ],
  request_exceeds_limit: [
    400,
    'invalid_request_error',
    'Ask for less in one request (max_tokens): the rate limit that the message names could never admit it.',
  ],
  upstream_rate_limited: [429, 'rate_limit_error', 'The provider limits its callers: wait as retry-after says.'],
  no_target: [502, 'upstream_error', 'No target of the config could be tried.'],
  credential_unavailable: [
    503,
    'server_error',
    'The credential of the Integration is missing: see its ResolvedRefs condition.',
  ],
  draining: [503, 'server_error', 'This replica is shutting down: try again.'],
  upstream_timeout: [504, 'upstream_error', 'The provider did not answer within the limits of the installation.'],
  loop_detected: [508, 'server_error', 'A target leads back to this gateway: correct its host.'],
} as const satisfies Record<string, ErrorRow>;

export type ErrorCode = keyof typeof ERRORS;

export interface ErrorDetails {
  /** The field or header at fault. */
  readonly param?: string;
  /** The provider that answered, where one did. */
  readonly provider?: string;
  /** Headers that the answer carries besides, e.g. `allow`. */
  readonly headers?: Readonly<Record<string, string>>;
  readonly cause?: unknown;
  /** What guardrails said of the request. */
  readonly hookResults?: HookResults;
  /** An upstream's own status, type and code, which win over the table's. */
  readonly upstream?: { readonly status: number; readonly type: string | undefined; readonly code: string | undefined };
}

/** A failure that the caller is told about, in the words of the table. */
export class GatewayError extends Error {
  readonly code: ErrorCode;
  readonly status: number;
  readonly type: string;
  readonly details: ErrorDetails;

  /** `error.code` of the answer: the upstream's own word, or the table's. */
  get wireCode(): string {
    return this.details.upstream?.code ?? this.code;
  }

  constructor(code: ErrorCode, message: string, details: ErrorDetails = {}) {
    super(message, details.cause === undefined ? undefined : { cause: details.cause });
    this.name = 'GatewayError';
    this.code = code;
    this.status = details.upstream?.status ?? ERRORS[code][0];
    this.type = details.upstream?.type ?? ERRORS[code][1];
    this.details = details;
  }
}

/** Whatever was thrown; what is no GatewayError is a defect: `internal`. */
export function asGatewayError(thrown: unknown): GatewayError {
  return thrown instanceof GatewayError
    ? thrown
    : new GatewayError('internal', 'Something went wrong in the gateway.', { cause: thrown });
}

export function errorEnvelope(error: GatewayError): ErrorEnvelope & { readonly hook_results?: HookResults } {
  const { param, provider, hookResults } = error.details;
  const body = { message: error.message, type: error.type, code: error.wireCode, param: param ?? null };
  return {
    error: body,
    ...(provider === undefined ? {} : { provider }),
    ...(hookResults === undefined ? {} : { hook_results: hookResults }),
  };
}
