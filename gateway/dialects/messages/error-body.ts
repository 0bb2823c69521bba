import type { GatewayError } from '../../errors.ts';
import type { Json } from '../../providers/provider.ts';

const TYPE_BY_STATUS: Readonly<Record<number, string>> = {
  401: 'authentication_error',
  402: 'billing_error',
  403: 'permission_error',
  404: 'not_found_error',
  408: 'timeout_error',
  409: 'conflict_error',
  412: 'usage_limit_error',
  413: 'request_too_large',
  429: 'rate_limit_error',
  446: 'hooks_failed',
  501: 'not_found_error',
  503: 'overloaded_error',
  504: 'timeout_error',
  529: 'overloaded_error',
};

/** Status told to the caller -> the type of the messages dialect. */
export function errorType(status: number): string {
  return TYPE_BY_STATUS[status] ?? (status >= 500 ? 'api_error' : 'invalid_request_error');
}

/**
 * The one envelope in this dialect's form. Our code stands beside the message, and in `details.error_code`, where the
 * official SDKs look for it.
 */
export function errorBody(error: GatewayError): Json {
  const { param, provider, hookResults } = error.details;
  const code = error.wireCode;
  return {
    type: 'error',
    error: {
      type: errorType(error.status),
      message: error.message,
      code,
      param: param ?? null,
      details: { error_code: code },
    },
    ...(provider !== undefined && { provider }),
    ...(hookResults !== undefined && { hook_results: hookResults }),
  };
}
