/** Who calls: sha256(key) -> caller. Every refusal is the same 401 after the same work. */
import { hash, timingSafeEqual } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';
import { GatewayError } from './errors.ts';
import type { Caller } from './exchange.ts';
import type { ActiveSnapshot, KnownKey } from './snapshot/active-snapshot.ts';

export interface Identity {
  readonly caller: Caller;
  /** A bearer that is no gateway key: the caller's own provider credential, beside `x-gateway-provider`. */
  readonly bearer: string | undefined;
  /** The header that carried the gateway key: never forwarded. */
  readonly keyIn: string | undefined;
}

/** Callers of an open installation. */
const ANONYMOUS: Caller = { name: 'anonymous', namespace: 'default', key: undefined };
const NO_DIGEST = Buffer.alloc(32);
const MAX_KEY_LENGTH = 4096;

/** Throws `invalid_api_key` or `missing_scope`. `scopes`: any one of them suffices. */
export function authenticate(
  headers: IncomingHttpHeaders,
  snapshot: ActiveSnapshot,
  open: boolean,
  scopes: readonly string[],
): Identity {
  const bearer = bearerOf(headers.authorization);
  const own = text(headers['x-gateway-api-key']);
  if (open && own === undefined)
    return {
      caller: ANONYMOUS,
      bearer: headers['x-gateway-provider'] === undefined ? undefined : bearer,
      keyIn: undefined,
    };
  const presented = own ?? bearer ?? text(headers['x-api-key']) ?? '';
  const known = findKey(presented, snapshot);
  if (known === undefined) throw new GatewayError('invalid_api_key', 'The gateway key is missing or not valid.');
  assertScope(known, scopes);
  if (own !== undefined) return { caller: known.caller, bearer, keyIn: 'x-gateway-api-key' };
  return { caller: known.caller, bearer: undefined, keyIn: bearer === undefined ? 'x-api-key' : 'authorization' };
}

function findKey(presented: string, snapshot: ActiveSnapshot): KnownKey | undefined {
  const digest = hash('sha256', presented.length > MAX_KEY_LENGTH ? '' : presented, 'hex');
  const known = snapshot.key(digest);
  const equal = timingSafeEqual(Buffer.from(digest, 'hex'), known?.digest ?? NO_DIGEST);
  if (!equal || known === undefined || presented === '') return undefined;
  const { disabled, expires_at_ms } = known.record;
  return disabled || (expires_at_ms !== undefined && Date.now() >= expires_at_ms) ? undefined : known;
}

function assertScope(known: KnownKey, scopes: readonly string[]): void {
  const held = known.scopes;
  if (held === undefined || scopes.some((scope) => held.has(scope))) return;
  throw new GatewayError('missing_scope', `The key ${known.record.name} lacks the scope ${scopes.join(' or ')}.`);
}

/** Anthropic's older SDKs send their key as x-api-key, everybody else as bearer. */
function bearerOf(authorization: string | undefined): string | undefined {
  if (authorization === undefined || authorization.length < 8) return undefined;
  return authorization.slice(0, 7).toLowerCase() === 'bearer ' ? authorization.slice(7).trim() || undefined : undefined;
}

function text(value: string | string[] | undefined): string | undefined {
  return typeof value === 'string' && value !== '' ? value : undefined;
}
