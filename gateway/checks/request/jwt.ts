import { errors, type JWTVerifyOptions, jwtVerify } from 'jose';
import { z } from '#crds/config/words.ts';
import { CheckError, defineCheck, everyCheck, type Finding } from '../check.ts';
import { endpointUrl, timeout } from '../parameters.ts';
import { type FindKey, keySetOf } from './key-set.ts';

/** Public keys alone: with a shared secret anybody who can check could also sign. */
const ALGORITHMS = ['RS256', 'RS384', 'RS512', 'PS256', 'PS384', 'PS512', 'ES256', 'ES384', 'ES512', 'EdDSA'] as const;
const BEARER = /^bearer +/i;
const MAX_TOKEN_CHARACTERS = 16_384;

export const jwt = defineCheck({
  id: 'default.jwt',
  does: 'Passes where a header of the request carries a JSON Web Token that a published key has signed, and that is still valid.',
  example: { jwksUri: 'https://login.example.com/.well-known/jwks.json', headerKey: 'x-user-token' },
  parameters: z.strictObject({
    jwksUri: endpointUrl('Where the keys are published, as a JSON Web Key Set.'),
    headerKey: z.string().min(1).max(128).describe('The header; "Bearer " before the token is fine.'),
    cacheMaxAge: z.int().min(1).max(604_800).default(86_400).describe('Seconds for which the keys are kept.'),
    clockTolerance: z.int().min(0).max(300).default(5).describe('Seconds by which the clocks may differ.'),
    maxTokenAge: z
      .string()
      .regex(/^\d{1,6} ?(?:s|m|h|d|w)$/, { error: 'must be a number and s, m, h, d or w, such as "12h"' })
      .default('1d')
      .describe('How long ago a token may have been issued; one that does not say when is refused.'),
    algorithms: z.array(z.enum(ALGORITHMS)).min(1).default(['RS256']).describe('Signatures that are believed.'),
    issuer: z.string().min(1).max(2048).optional().describe('What `iss` must be.'),
    audience: z.string().min(1).max(2048).optional().describe('What `aud` must hold.'),
    timeout: timeout(5000),
    ...everyCheck,
  }),
  timeoutMs: ({ timeout: timeoutMs }) => timeoutMs,
  compile({ jwksUri, headerKey, cacheMaxAge, timeout: timeoutMs, ...rules }, means) {
    const header = headerKey.toLowerCase();
    const keys = keySetOf(means, jwksUri, cacheMaxAge, timeoutMs);
    const options = {
      algorithms: rules.algorithms,
      clockTolerance: rules.clockTolerance,
      maxTokenAge: rules.maxTokenAge,
      ...(rules.issuer !== undefined && { issuer: rules.issuer }),
      ...(rules.audience !== undefined && { audience: rules.audience }),
    };
    return ({ headers }, signal) => {
      const token = Object.hasOwn(headers, header) ? (headers[header] ?? '').replace(BEARER, '').trim() : '';
      if (token === '') return failed('The header carries no token.');
      if (token.length > MAX_TOKEN_CHARACTERS) return failed('The token is too long.');
      const verification = { ...options, currentDate: new Date(means.now()) };
      return verify(token, keys, verification, signal);
    };
  },
});

type Keys = ReturnType<typeof keySetOf>;

/** A key that is not known yet may be a new one: then the set is fetched anew, once. */
async function verify(token: string, keys: Keys, options: JWTVerifyOptions, signal: AbortSignal): Promise<Finding> {
  const known = await keys.current(signal);
  const first = await tryKeys(token, known, options);
  if (first !== UNKNOWN_KEY) return first;
  const fresh = await keys.fresherThan(known, signal);
  const second = fresh === known ? UNKNOWN_KEY : await tryKeys(token, fresh, options);
  return second === UNKNOWN_KEY ? failed('No published key fits the token.') : second;
}

const UNKNOWN_KEY = Symbol('unknown key');

async function tryKeys(token: string, keys: FindKey, options: JWTVerifyOptions): Promise<Finding | typeof UNKNOWN_KEY> {
  try {
    await jwtVerify(token, keys, options);
    return { verdict: true, data: { explanation: 'The token is valid.' } };
  } catch (error) {
    if (error instanceof errors.JWKSNoMatchingKey) return UNKNOWN_KEY;
    if (!(error instanceof errors.JOSEError)) throw new CheckError('The token could not be checked.', undefined, error);
    return failed(REASONS.get(error.code) ?? 'The token is not valid.');
  }
}

const REASONS: ReadonlyMap<string, string> = new Map([
  ['ERR_JWT_EXPIRED', 'The token has expired, or is too old.'],
  ['ERR_JWT_CLAIM_VALIDATION_FAILED', 'A claim of the token is not what it must be.'],
  ['ERR_JWS_SIGNATURE_VERIFICATION_FAILED', 'The signature of the token is wrong.'],
  ['ERR_JOSE_ALG_NOT_ALLOWED', 'The token is signed with an algorithm that is not listed.'],
  ['ERR_JWKS_MULTIPLE_MATCHING_KEYS', 'The token does not say which of several keys has signed it.'],
]);

function failed(explanation: string): Finding {
  return { verdict: false, data: { explanation } };
}
