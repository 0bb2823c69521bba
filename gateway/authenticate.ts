/** Who calls: sha256(key) -> caller. Every refusal is the same 401 after the same work. */
import { timingSafeEqual } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';
import { isMisspelt } from '#crds/keys/key-form.ts';
import { bearerOf, digestOf, headerText, isInForce } from '#crds/keys/presented-key.ts';
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

/** Throws `invalid_api_key` or `missing_scope`. `scopes`: any one of them suffices. */
export function authenticate(
  headers: IncomingHttpHeaders,
  snapshot: ActiveSnapshot,
  open: boolean,
  scopes: readonly string[],
): Identity {
  const bearer = bearerOf(headers.authorization);
  const own = headerText(headers['x-gateway-api-key']);
  if (open && own === undefined)
    return {
      caller: ANONYMOUS,
      bearer: headers['x-gateway-provider'] === undefined ? undefined : bearer,
      keyIn: undefined,
    };
  const presented = own ?? bearer ?? headerText(headers['x-api-key']) ?? '';
  const known = findKey(presented, snapshot);
  if (known === undefined) throw new GatewayError('invalid_api_key', 'The gateway key is missing or not valid.');
  assertScope(known, scopes);
  known.use.last_used_at_ms = Date.now();
  if (own !== undefined) return { caller: known.caller, bearer, keyIn: 'x-gateway-api-key' };
  return { caller: known.caller, bearer: undefined, keyIn: bearer === undefined ? 'x-api-key' : 'authorization' };
}

function findKey(presented: string, snapshot: ActiveSnapshot): KnownKey | undefined {
  const digest = digestOf(presented);
  // Nobody was ever given such a key: nothing is asked about it.
  const known = isMisspelt(presented, snapshot.keyPrefix) ? undefined : snapshot.key(digest);
  const equal = timingSafeEqual(Buffer.from(digest, 'hex'), known?.digest ?? NO_DIGEST);
  if (!equal || known === undefined || presented === '') return undefined;
  return isInForce(known.record, Date.now()) ? known : undefined;
}

function assertScope(known: KnownKey, scopes: readonly string[]): void {
  if (scopes.some((scope) => known.scopes.has(scope))) return;
  throw new GatewayError('missing_scope', `The key ${known.record.name} lacks the scope ${scopes.join(' or ')}.`);
}
