/** An upstream's error answer in our envelope: its status, message and code are kept, ours fill what is missing. */
import type { IncomingHttpHeaders } from 'node:http';
import { GatewayError } from '../errors.ts';
import type { Upstream } from '../plan/plan.ts';
import type { UpstreamProblem } from '../providers/provider.ts';
import { withoutCredential } from './without-credential.ts';

const TYPE_BY_STATUS: Readonly<Record<number, string>> = {
  400: 'invalid_request_error',
  401: 'authentication_error',
  403: 'permission_error',
  404: 'not_found_error',
  408: 'timeout_error',
  413: 'invalid_request_error',
  422: 'invalid_request_error',
  429: 'rate_limit_error',
};

/** What the caller is told of a non-2xx answer. `owned`: the credential was ours, so its refusal is no concern of the caller. */
export function upstreamProblem(
  status: number,
  body: Buffer,
  headers: IncomingHttpHeaders,
  upstream: Upstream,
  owned: boolean,
): GatewayError {
  const provider = upstream.provider.name;
  if (status >= 300 && status < 400) {
    return new GatewayError(
      'upstream_redirect',
      `${provider} answered with a redirect (${status}); redirects are not followed.`,
      { provider },
    );
  }
  if (owned && (status === 401 || status === 403)) {
    return new GatewayError('upstream_auth', `${provider} refused the stored credential (${status}).`, { provider });
  }
  const problem = readProblem(body, headers, upstream, owned);
  return new GatewayError(
    status === 429 ? 'upstream_rate_limited' : 'upstream_error',
    problem?.message ?? `${provider} answered with status ${status}.`,
    {
      provider,
      ...(problem?.param === undefined ? {} : { param: problem.param }),
      upstream: { status, type: problem?.type ?? TYPE_BY_STATUS[status], code: problem?.code },
    },
  );
}

function readProblem(
  body: Buffer,
  headers: IncomingHttpHeaders,
  upstream: Upstream,
  owned: boolean,
): UpstreamProblem | undefined {
  if (!(headers['content-type'] ?? '').includes('json')) return undefined;
  const text = body.toString('utf8');
  try {
    return upstream.provider.readProblem(JSON.parse(owned ? withoutCredential(text, upstream.headers) : text));
  } catch {
    return undefined;
  }
}

/** Whether a 400 says that this model's context window is too small: another target may have a larger one. */
export function isContextTooSmall(error: GatewayError, upstream: Upstream): boolean {
  const own = error.details.upstream;
  if (own === undefined || own.status !== 400) return false;
  const said = `${own.code ?? ''} ${own.type ?? ''} ${error.message}`.toLowerCase();
  return upstream.provider.contextLengthWords.some((word) => said.includes(word));
}
