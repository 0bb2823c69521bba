/** Scopes: one table, what each endpoint asks for, and what a manifest may say. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { apiKeySpec } from '#crds/kinds/api-key.ts';
import { DEFAULT_SCOPE, SCOPES } from '#crds/kinds/scopes.ts';
import { ENDPOINTS } from '#gateway/endpoints.ts';
import { MODEL_SCOPES } from '#gateway/list-models.ts';
import { startTestGateway, type TestGateway } from '../fakes/gateway.ts';
import { apiKey } from '../fakes/objects.ts';
import { compileText, documents, manifest, messageOf, say } from '../operator/worlds.ts';

const ALL = [...SCOPES.keys()];
const PLACES: readonly { readonly path: string; readonly scopes: readonly string[] }[] = [
  ...ENDPOINTS,
  { path: '/v1/models', scopes: MODEL_SCOPES },
];
const nameOf = (scope: string) => scope.replace('.', '-').replaceAll('_', '-');
const keyOf = (scope: string) => `key-of-${nameOf(scope)}-0123`;

describe('the table', () => {
  it.each([...SCOPES])('has %s, which a manifest can have, with a sentence', (scope, allows) => {
    expect(apiKeySpec.safeParse({ type: 'workspace-service', scopes: [scope] }).success).toBe(true);
    expect(allows).toMatch(/^[A-Z].*\.$/);
  });

  it('has every scope that an endpoint asks for', () => {
    for (const { path, scopes } of PLACES) {
      expect(scopes.length, path).toBeGreaterThan(0);
      for (const scope of scopes) expect(ALL, path).toContain(scope);
    }
    expect(ALL).toContain(DEFAULT_SCOPE);
  });

  it.each(['organisation_service', 'workspace_service', 'workspace_user'])(
    'has all that can be done to %s keys',
    (type) => {
      const actions = ['create', 'read', 'list', 'update', 'delete', 'rotate'];
      expect(ALL).toEqual(expect.arrayContaining(actions.map((action) => `${type}_api_keys.${action}`)));
    },
  );

  it('has all that can be done to policies', () => {
    const actions = ['create', 'read', 'list', 'update', 'delete'];
    expect(ALL).toEqual(expect.arrayContaining(actions.map((action) => `policies.${action}`)));
  });
});

describe('an endpoint', () => {
  let gateway: TestGateway;
  beforeAll(async () => {
    const keys = ALL.map((scope) => apiKey(nameOf(scope), keyOf(scope), { scopes: [scope] }));
    const none = apiKey('nothing', 'key-without-any-scope', { scopes: [] });
    gateway = await startTestGateway({ manifests: [...keys, none].join('') });
  });
  afterAll(() => gateway.close());

  function ask(path: string, key: string): Promise<Response> {
    const headers = { 'x-gateway-api-key': key };
    return path === '/v1/models' ? fetch(gateway.origin + path, { headers }) : gateway.post(path, {}, headers);
  }

  it.each(PLACES)('$path is open to the scopes that it names and closed to all others', async ({ path, scopes }) => {
    for (const scope of ALL) {
      const response = await ask(path, keyOf(scope));
      const { error } = (await response.json()) as { error?: { code?: string; message?: string } };
      if (scopes.includes(scope)) expect([401, 403], `${path} ${scope}`).not.toContain(response.status);
      else
        expect([response.status, error?.message], `${path} ${scope}`).toEqual([
          403,
          expect.stringContaining('lacks the scope'),
        ]);
    }
  });

  it.each(PLACES)(
    '$path is open to a key that says nothing, if it is inference, and closed to one that has none',
    async ({ path, scopes }) => {
      const status = (await ask(path, gateway.key)).status;
      if (scopes.includes(DEFAULT_SCOPE)) expect([401, 403]).not.toContain(status);
      else expect(status).toBe(403);
      expect((await ask(path, 'key-without-any-scope')).status).toBe(403);
    },
  );
});

describe('a scope that nothing asks for', () => {
  const warningOf = (...scopes: readonly string[]) => {
    const { statuses } = compileText(
      documents(
        manifest('Secret', 'default', 'k-api-key', { api_key: 'a-key-that-was-brought' }),
        manifest('ApiKey', 'default', 'k', { type: 'workspace-service', scopes }),
      ),
    );
    expect(say(statuses, 'ApiKey default/k', 'Accepted')).toBe('True Accepted');
    const word = say(statuses, 'ApiKey default/k', 'Warning');
    return word === 'absent' ? word : `${word}: ${messageOf(statuses, 'ApiKey default/k', 'Warning')}`;
  };

  it.each([
    ['completions.writes', '"completions.writes" (did you mean completions.write?)'],
    ['policy.create', '"policy.create" (did you mean policies.create?)'],
    ['moon.landing', '"moon.landing"'],
  ])('is warned of, naming the nearest: %s', (scope, told) => {
    expect(warningOf('models.list', scope)).toBe(`True UnknownScope: spec.scopes: nothing asks for ${told}`);
  });

  it('is not one of the table', () => expect(warningOf(...ALL)).toBe('absent'));
});
