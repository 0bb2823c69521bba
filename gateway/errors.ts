/**
 * The one table of errors. A code is never reused for another meaning; its status and type never depend on where it is
 * thrown. `fix` is what the reference documentation tells the caller to do.
 */
export const ERRORS = {
  invalid_json: [
    400,
    'invalid_request_error',
    'Send one JSON object, complete and without __proto__ or constructor.prototype keys.',
  ],
  too_deep: [400, 'invalid_request_error', 'Nest the body at most 64 levels deep.'],
  too_large: [400, 'invalid_request_error', 'Use at most 50,000 object keys in the body.'],
  invalid_value: [400, 'invalid_request_error', 'Correct the field or header that the message and `param` name.'],
  missing_field: [400, 'invalid_request_error', 'Add the field that the message and `param` name.'],
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
  bad_request: [400, 'invalid_request_error', 'Send well-formed HTTP/1.1.'],
  invalid_api_key: [401, 'authentication_error', 'Send a valid gateway key in x-gateway-api-key or as bearer.'],
  missing_scope: [403, 'permission_error', 'Use a key that has the scope which the message names.'],
  model_not_allowed: [403, 'permission_error', 'Use a model that the Integration lists, or have it listed.'],
  unknown_path: [404, 'not_found_error', 'Check the path: the API begins with /v1.'],
  unknown_model: [404, 'not_found_error', 'List the models with GET /v1/models.'],
  method_not_allowed: [405, 'invalid_request_error', 'Use a method that the Allow header lists.'],
  request_timeout: [
    408,
    'timeout_error',
    'Raise request_timeout, or try again: the upstream was too slow. A body that arrives too slowly ends so too.',
  ],
  body_too_large: [413, 'invalid_request_error', 'Send at most 32 MiB of JSON.'],
  unsupported_media_type: [
    415,
    'invalid_request_error',
    'Send content-type: application/json without content-encoding.',
  ],
  headers_too_large: [431, 'invalid_request_error', 'Send at most 16 KiB of headers.'],
  internal: [500, 'server_error', 'A defect of the gateway: report it with the trace id.'],
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
  upstream_rate_limited: [429, 'rate_limit_error', 'The provider limits its callers: wait as retry-after says.'],
  no_target: [502, 'upstream_error', 'No target of the config could be tried.'],
  credential_unavailable: [
    503,
    'server_error',
    'The credential of the Integration is missing: see its ResolvedRefs condition.',
  ],
  not_ready: [503, 'server_error', 'No configuration is loaded yet: try again in a moment.'],
  draining: [503, 'server_error', 'This replica is shutting down: try again.'],
  upstream_timeout: [504, 'upstream_error', 'The provider did not answer within the limits of the installation.'],
  loop_detected: [508, 'server_error', 'A target leads back to this gateway: correct its host.'],
} as const satisfies Record<string, readonly [status: number, type: string, fix: string]>;

export type ErrorCode = keyof typeof ERRORS;

export interface ErrorDetails {
  /** The field or header at fault. */
  readonly param?: string;
  /** The provider that answered, where one did. */
  readonly provider?: string;
  /** Headers that the answer carries besides, e.g. `allow`. */
  readonly headers?: Readonly<Record<string, string>>;
  readonly cause?: unknown;
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

/** The one envelope, as every OpenAI SDK reads it. */
export interface ErrorEnvelope {
  readonly error: {
    readonly message: string;
    readonly type: string;
    readonly code: string | null;
    readonly param: string | null;
  };
  readonly provider?: string;
}

export function errorEnvelope(error: GatewayError): ErrorEnvelope {
  const { param, provider } = error.details;
  const body = { message: error.message, type: error.type, code: error.wireCode, param: param ?? null };
  return provider === undefined ? { error: body } : { error: body, provider };
}
