/** Tokens: who may have signed them, how long they live, how keys are fetched, kept and replaced. */
import { type CryptoKey, exportJWK, generateKeyPair, type JWTPayload, SignJWT } from 'jose';
import { afterEach, beforeAll, describe, expect, it, test } from 'vitest';
import { json, text } from '../fakes/replies.ts';
import { startUpstream, type Upstream } from '../fakes/upstream.ts';
import { testMeans } from './means.ts';
import { asked, checkOf } from './subjects.ts';

interface Pair {
  readonly privateKey: CryptoKey;
  readonly jwk: object;
}

const NOW = Date.UTC(2026, 5, 1);
const SECONDS = Math.floor(NOW / 1000);

async function pair(kid: string, alg = 'RS256'): Promise<Pair> {
  const { publicKey, privateKey } = await generateKeyPair(alg, { extractable: true });
  return { privateKey, jwk: { ...(await exportJWK(publicKey)), kid, alg } };
}

let [one, two, curve]: Pair[] = [];
beforeAll(async () => {
  [one, two, curve] = await Promise.all([pair('one'), pair('two'), pair('curve', 'ES256')]);
});

function known(key: Pair | undefined): Pair {
  if (key === undefined) throw new Error('keys are made first');
  return key;
}

function sign(key: Pair | undefined, kid: string, claims: JWTPayload = {}, alg = 'RS256'): Promise<string> {
  return new SignJWT({ iat: SECONDS, exp: SECONDS + 3600, ...claims })
    .setProtectedHeader({ alg, kid })
    .sign(known(key).privateKey);
}

const upstreams: Upstream[] = [];
afterEach(async () => {
  await Promise.all(upstreams.splice(0).map((upstream) => upstream.close()));
});

/** A check in virtual time before a server that publishes keys. */
async function stage(parameters: object = {}, keys: readonly (Pair | undefined)[] = [one]) {
  const server = await startUpstream(json(200, { keys: keys.map((key) => known(key).jwk) }));
  upstreams.push(server);
  let now = NOW;
  const means = testMeans({ now: () => now });
  const check = checkOf('jwt', { jwksUri: `${server.origin}/jwks`, headerKey: 'X-User-Token', ...parameters }, means);
  const run = async (headers: Record<string, string>) =>
    check.run(asked('', { headers }), new AbortController().signal);
  return {
    server,
    means,
    check,
    run,
    pass: async (token: string) => (await run({ 'x-user-token': token })).verdict,
    wait: (ms: number) => {
      now += ms;
    },
    publish: (...published: (Pair | undefined)[]) =>
      server.answer(json(200, { keys: published.map((key) => known(key).jwk) })),
  };
}

describe('a token', () => {
  it('passes with the right signature, with and without "Bearer"', async () => {
    const { pass, run } = await stage();
    const token = await sign(one, 'one');
    expect(await pass(token)).toBe(true);
    expect(await pass(`Bearer ${token}`)).toBe(true);
    expect(await pass(`bearer  ${token} `)).toBe(true);
    expect(await run({ 'x-user-token': token })).toEqual({
      verdict: true,
      data: { explanation: 'The token is valid.' },
    });
  });

  test.each<[what: string, claims: JWTPayload, parameters: object, passes: boolean]>([
    ['that has expired', { exp: SECONDS - 10 }, {}, false],
    ['that has expired within the tolerance', { exp: SECONDS - 3 }, {}, true],
    ['that is not valid yet', { nbf: SECONDS + 60 }, {}, false],
    ['that is not valid yet, within the tolerance', { nbf: SECONDS + 60 }, { clockTolerance: 90 }, true],
    ['that is too old', { iat: SECONDS - 90_000 }, {}, false],
    ['that is too old for maxTokenAge', { iat: SECONDS - 700 }, { maxTokenAge: '10m' }, false],
    ['that is young enough', { iat: SECONDS - 500 }, { maxTokenAge: '10m' }, true],
    ['that does not say when it was issued', { iat: undefined } as unknown as JWTPayload, {}, false],
    ['of the right issuer', { iss: 'us' }, { issuer: 'us' }, true],
    ['of another issuer', { iss: 'them' }, { issuer: 'us' }, false],
    ['of no issuer', {}, { issuer: 'us' }, false],
    ['for the right audience', { aud: ['a', 'b'] }, { audience: 'b' }, true],
    ['for another audience', { aud: 'a' }, { audience: 'b' }, false],
  ])('%s', async (_what, claims, parameters, passes) => {
    const { pass } = await stage(parameters);
    expect(await pass(await sign(one, 'one', claims))).toBe(passes);
  });

  it('fails where it is none, is missing, or is huge', async () => {
    const { run, server } = await stage();
    for (const token of ['', 'x', 'a.b.c', 'Bearer', '..', 'eyJhbGciOiJub25lIn0.e30.', 'x'.repeat(20_000)]) {
      expect((await run({ 'x-user-token': token })).verdict, token.slice(0, 20)).toBe(false);
    }
    expect((await run({})).data).toEqual({ explanation: 'The header carries no token.' });
    expect((await run({ authorization: await sign(one, 'one') })).verdict).toBe(false);
    expect(server.calls.length).toBeLessThanOrEqual(1);
  });

  it('fails where it was changed, or signed by somebody else', async () => {
    const { pass } = await stage();
    const token = await sign(one, 'one');
    const [head = '', body = '', signature = ''] = token.split('.');
    const forged = Buffer.from(JSON.stringify({ sub: 'admin', iat: SECONDS })).toString('base64url');
    expect(await pass(`${head}.${forged}.${signature}`)).toBe(false);
    expect(await pass(`${head}.${body}.${signature.slice(0, -4)}AAAA`)).toBe(false);
    expect(await pass(await sign(two, 'one'))).toBe(false);
  });

  it('fails where its algorithm is not listed, whatever the key says', async () => {
    const listed = await stage({ algorithms: ['ES256'] }, [one, curve]);
    expect(await listed.pass(await sign(curve, 'curve', {}, 'ES256'))).toBe(true);
    expect(await listed.pass(await sign(one, 'one'))).toBe(false);
    const usual = await stage({}, [one, curve]);
    expect(await usual.pass(await sign(curve, 'curve', {}, 'ES256'))).toBe(false);
  });

  it('cannot be signed with the public key as a secret', async () => {
    const { pass } = await stage();
    const secret = new TextEncoder().encode(JSON.stringify(known(one).jwk));
    const token = await new SignJWT({ iat: SECONDS }).setProtectedHeader({ alg: 'HS256', kid: 'one' }).sign(secret);
    expect(await pass(token)).toBe(false);
  });

  it('leaves nothing of itself in what is told', async () => {
    const { run } = await stage();
    const token = await sign(one, 'one', { sub: 'canary', exp: SECONDS - 100 });
    const finding = JSON.stringify(await run({ 'x-user-token': token }));
    expect(finding).not.toContain('canary');
    expect(finding).not.toContain(token.slice(0, 20));
  });
});

describe('keys', () => {
  it('are fetched once, by however many wait for them', async () => {
    const { pass, server } = await stage();
    const token = await sign(one, 'one');
    expect(await Promise.all(Array.from({ length: 20 }, () => pass(token)))).toEqual(Array(20).fill(true));
    expect(server.calls.length).toBe(1);
  });

  it('are fetched anew when they are old', async () => {
    const { pass, server, wait } = await stage({ cacheMaxAge: 100, maxTokenAge: '1h' });
    const token = await sign(one, 'one');
    await pass(token);
    wait(99_000);
    await pass(token);
    expect(server.calls.length).toBe(1);
    wait(2_000);
    expect(await pass(token)).toBe(true);
    expect(server.calls.length).toBe(2);
  });

  it('are fetched anew for a key that is not known, and the token is tried again', async () => {
    const { pass, server, wait, publish } = await stage();
    await pass(await sign(one, 'one'));
    publish(two);
    wait(31_000);
    expect(await pass(await sign(two, 'two'))).toBe(true);
    expect(server.calls.length).toBe(2);
    expect(await pass(await sign(one, 'one'))).toBe(false);
  });

  it('are not fetched for each forged token', async () => {
    const { pass, server, wait } = await stage();
    const forged = await sign(two, 'unknown');
    for (let round = 0; round < 5; round++) expect(await pass(forged)).toBe(false);
    expect(server.calls.length).toBe(1);
    wait(31_000);
    for (let round = 0; round < 5; round++) expect(await pass(forged)).toBe(false);
    expect(server.calls.length).toBe(2);
  });

  it('outlive the check that asked for them: a new snapshot asks for none', async () => {
    const { pass, server, means } = await stage();
    const token = await sign(one, 'one');
    await pass(token);
    const again = checkOf('jwt', { jwksUri: `${server.origin}/jwks`, headerKey: 'X-User-Token' }, means);
    const finding = await again.run(asked('', { headers: { 'x-user-token': token } }), new AbortController().signal);
    expect(finding.verdict).toBe(true);
    expect(server.calls.length).toBe(1);
  });

  it.each([
    ['an error', text(500, 'no')],
    ['no JSON', text(200, 'no')],
    ['another shape', json(200, { keys: 'none' })],
    ['null', json(200, null)],
  ])('that come as %s are an error, not a verdict, and are asked for again', async (_what, reply) => {
    const { run, server, publish } = await stage();
    server.answer(reply);
    const token = await sign(one, 'one');
    await expect(run({ 'x-user-token': token })).rejects.toThrow(/The key set/);
    publish(one);
    expect((await run({ 'x-user-token': token })).verdict).toBe(true);
  });

  it('are fetched for those who still wait when the first has left', async () => {
    const { check, server } = await stage();
    const token = await sign(one, 'one');
    const leaving = new AbortController();
    const subject = asked('', { headers: { 'x-user-token': token } });
    const first = Promise.resolve(check.run(subject, leaving.signal));
    const second = check.run(subject, new AbortController().signal);
    leaving.abort();
    expect((await second).verdict).toBe(true);
    await first.catch(() => undefined);
    expect(server.calls.length).toBe(1);
  });
});
