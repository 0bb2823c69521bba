/** The key that a request presents, and when a known one holds: the same for gateway and operator. */
import { hash } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';

const MAX_KEY_LENGTH = 4096;

/** `x-gateway-api-key`, else the bearer, else `x-api-key`, as Anthropic's older SDKs send it; '' where there is none. */
export function presentedKey(headers: IncomingHttpHeaders): string {
  return (
    headerText(headers['x-gateway-api-key']) ??
    bearerOf(headers.authorization) ??
    headerText(headers['x-api-key']) ??
    ''
  );
}

/** Of `Authorization: Bearer ...`; undefined: there is none. */
export function bearerOf(authorization: string | undefined): string | undefined {
  if (authorization === undefined || authorization.length < 8) return undefined;
  return authorization.slice(0, 7).toLowerCase() === 'bearer ' ? authorization.slice(7).trim() || undefined : undefined;
}

/** undefined: absent, empty, or given twice. */
export function headerText(value: string | string[] | undefined): string | undefined {
  return typeof value === 'string' && value !== '' ? value : undefined;
}

/** SHA-256 as lower-case hex. What is too long to be a key costs no more than one that is not. */
export function digestOf(presented: string): string {
  return hash('sha256', presented.length > MAX_KEY_LENGTH ? '' : presented, 'hex');
}

/** Neither switched off nor over. */
export function isInForce(
  key: { readonly disabled: boolean; readonly expires_at_ms?: number | undefined },
  nowMs: number,
): boolean {
  return !key.disabled && (key.expires_at_ms === undefined || nowMs < key.expires_at_ms);
}
