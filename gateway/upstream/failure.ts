/** Names what went wrong on the way to an upstream, without its words: certificate texts and addresses stay inside. */
import { GatewayError } from '../errors.ts';

const TLS_CODE = /^(ERR_TLS|ERR_SSL|CERT_|UNABLE_TO_|SELF_SIGNED|DEPTH_ZERO|EPROTO|HOSTNAME_MISMATCH|INVALID_CA)/;
const CODES: Readonly<Record<string, 'upstream_invalid' | 'upstream_timeout'>> = {
  UND_ERR_HEADERS_OVERFLOW: 'upstream_invalid',
  UND_ERR_RES_CONTENT_LENGTH_MISMATCH: 'upstream_invalid',
};

export function networkFailure(error: unknown, provider: string, headersSeen: boolean): GatewayError {
  if (error instanceof GatewayError) return error;
  const code = codeOf(error);
  if (TLS_CODE.test(code))
    return failed('upstream_tls', `${provider} has no certificate that this gateway trusts.`, provider, error);
  if (CODES[code] === 'upstream_invalid' || code.startsWith('HPE_') || isParserError(error)) {
    return failed('upstream_invalid', `${provider} answered with something that is not HTTP/1.1.`, provider, error);
  }
  if (headersSeen) return failed('upstream_cut', `${provider} broke off in the middle of its answer.`, provider, error);
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

function isParserError(error: unknown): boolean {
  return (error as { name?: unknown } | null)?.name === 'HTTPParserError';
}
