/** Names what went wrong on the way to an upstream, without its words: certificate texts and addresses stay inside. */
import { GatewayError } from '../errors.ts';
import { HttpFault } from './http1/http-fault.ts';

const TLS_CODE = /^(ERR_TLS|ERR_SSL|CERT_|UNABLE_TO_|SELF_SIGNED|DEPTH_ZERO|EPROTO|HOSTNAME_MISMATCH|INVALID_CA)/;
export function networkFailure(error: unknown, provider: string, hasAnswered: boolean): GatewayError {
  if (error instanceof GatewayError) return error;
  if (error instanceof HttpFault && error.kind === 'invalid')
    return failed('upstream_invalid', `${provider} answered with something that is not HTTP/1.1.`, provider, error);
  const code = codeOf(error);
  if (code === '' && !(error instanceof HttpFault))
    return new GatewayError('internal', 'Something went wrong in the gateway.', { cause: error });
  if (TLS_CODE.test(code))
    return failed('upstream_tls', `${provider} has no certificate that this gateway trusts.`, provider, error);
  if (hasAnswered) return failed('upstream_cut', `${provider} broke off in the middle of its answer.`, provider, error);
  return failed(
    'upstream_unreachable',
    `${provider} could not be reached or hung up without an answer.`,
    provider,
    error,
  );
}

function failed(
  code: 'upstream_tls' | 'upstream_invalid' | 'upstream_cut' | 'upstream_unreachable',
  message: string,
  provider: string,
  cause: unknown,
): GatewayError {
  return new GatewayError(code, message, { provider, cause });
}

function codeOf(error: unknown): string {
  const code = (error as { code?: unknown } | null)?.code;
  return typeof code === 'string' ? code : '';
}
