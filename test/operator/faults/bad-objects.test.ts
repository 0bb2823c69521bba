/** O11: each field of each kind spoilt once, and objects that do not go together. */
import { describe, expect, it } from 'vitest';
import type { ApiObject } from '#crds/api/api-object.ts';
import { pass } from '../../crds/api/virtual-time.ts';
import { condition, published, resourceOf, statusesIn } from './outcome.ts';
import { configKeys, type SpoiltField, spoiltFields } from './spoilt-fields.ts';
import { openStage, type Stage, useStages } from './stage.ts';
import { apiKey, BEGINNING, config, custom, fallback, integration, mapping, secret } from './workload.ts';

useStages();

/** From an edit to what comes of it. */
const SOON_MS = 700;

async function running(...more: readonly ApiObject[]): Promise<Stage> {
  const stage = openStage();
  stage.start();
  stage.server.apply([...BEGINNING, ...more]);
  await stage.settle();
  return stage;
}

/** Of all objects but one. */
function othersOf({ server }: Stage, object: ApiObject): unknown {
  const { [nameOf(object)]: _, ...others } = statusesIn(server);
  return others;
}

function nameOf({ kind, metadata: { namespace, name } }: ApiObject): string {
  return `${kind} ${namespace}/${name}`;
}

function remove({ server }: Stage, { kind, metadata: { namespace, name } }: ApiObject): void {
  server.delete(resourceOf(kind), namespace, name);
}

const EVERYBODY = { conditions: [{ key: 'api_key', value: '*' }], group_by: [{ key: 'api_key' }] };
const VICTIMS: Readonly<Record<string, object>> = {
  GatewayConfig: fallback('@openai', 'simulator'),
  Integration: { provider: 'openai', secret_mappings: [mapping('victims-vendor')] },
  ApiKey: { type: 'workspace-service', secret_name: 'victims-key' },
  RateLimitPolicy: { type: 'requests', unit: 'rpm', value: 5, ...EVERYBODY },
  UsageLimitPolicy: { type: 'cost', credit_limit: 5, ...EVERYBODY },
};
const VICTIMS_KEY = secret('team-a/victims-key', { api_key: 'the-key-of-the-victim' });
const VICTIMS_VENDOR = secret('team-a/victims-vendor', { api_key: 'sk-of-the-victim' });

describe('O11: an object with a field that is wrong', () => {
  it.each(Object.keys(VICTIMS))(
    'is alone refused, and its last good version served, for every field of a %s',
    async (kind) => {
      const right = custom(kind, 'team-a/victim', VICTIMS[kind]);
      const stage = await running(VICTIMS_KEY, VICTIMS_VENDOR, right);
      const [{ hash }, others] = [published(stage.server), othersOf(stage, right)];
      const fields = spoiltFields(kind, VICTIMS[kind] ?? {});
      expect(fields.length).toBeGreaterThan(10);
      for (const { path, spec } of fields) {
        const since = stage.writes.length;
        stage.server.apply(custom(kind, 'team-a/victim', spec));
        await pass(SOON_MS);
        const accepted = condition(stage.server, nameOf(right), 'Accepted');
        expect.soft(accepted, path).toMatch(/^False InvalidSpec: spec/);
        expect.soft(accepted, path).toContain(
          path
            .split('.')
            .at(-1)
            ?.replace(/\[\d+\]$/, ''),
        );
        expect.soft(condition(stage.server, nameOf(right), 'Programmed'), path).toBe('False LastGoodServed');
        expect.soft([path, published(stage.server).hash]).toEqual([path, hash]);
        stage.server.apply(right);
        await pass(SOON_MS);
        expect.soft([path, condition(stage.server, nameOf(right), 'Ready')]).toEqual([path, 'True Ready']);
        const touched = stage.writes.slice(since).filter(({ subresource, name }) => subresource && name !== 'victim');
        expect.soft(touched, path).toEqual([]);
      }
      expect([published(stage.server).hash, othersOf(stage, right)]).toEqual([hash, others]);
    },
  );

  it.each(Object.keys(VICTIMS))('is alone refused from its birth, for every field of a %s', async (kind) => {
    const stage = await running(VICTIMS_KEY, VICTIMS_VENDOR);
    const { snapshot, hash } = published(stage.server);
    for (const { path, spec } of spoiltFields(kind, VICTIMS[kind] ?? {})) {
      const born = custom(kind, 'team-a/victim', spec);
      const others = othersOf(stage, born);
      stage.server.apply(born);
      await pass(SOON_MS);
      expect.soft(condition(stage.server, nameOf(born), 'Accepted'), path).toMatch(/^False InvalidSpec: spec/);
      expect.soft(condition(stage.server, nameOf(born), 'Programmed'), path).toBe('False NotAccepted');
      const { refused, ...rest } = published(stage.server).snapshot;
      expect
        .soft(
          refused.map(({ name }) => name),
          path,
        )
        .toEqual(['victim']);
      expect.soft({ ...rest, refused: [] }, path).toEqual(snapshot);
      expect.soft(othersOf(stage, born), path).toEqual(others);
      remove(stage, born);
      await pass(SOON_MS);
      expect.soft([path, published(stage.server).hash]).toEqual([path, hash]);
    }
  });

  it('covers every field of the language', () => {
    const covered = new Set(spoiltFields('GatewayConfig', VICTIMS['GatewayConfig'] ?? {}).map(first));
    expect(configKeys().filter((key) => !covered.has(key))).toEqual([]);
  });

  function first({ path }: SpoiltField): string {
    return path.split(/[.[]/)[0] ?? '';
  }
});

interface Case {
  readonly title: string;
  /** Made beforehand. */
  readonly given?: readonly ApiObject[];
  readonly object: ApiObject;
  readonly accepted: RegExp;
  readonly resolved?: RegExp;
}

const isDefault = { annotations: { 'modelgateway.dev/default': 'true' } };

const CASES: readonly Case[] = [
  {
    title: 'names an Integration that does not exist',
    object: config('team-a/odd', { provider: '@nobody' }),
    accepted: /^True/,
    resolved: /^False RefNotFound: spec\.provider: there is no Integration "nobody" in team-a/,
  },
  {
    title: 'names an Integration of another workspace',
    given: [integration('team-b/theirs', 'vendor')],
    object: config('team-a/odd', { virtual_key: 'theirs' }),
    accepted: /^True/,
    resolved: /^False RefNotFound: spec\.virtual_key: there is no/,
  },
  {
    title: 'names a Secret that does not exist',
    object: integration('team-a/odd', 'nothing'),
    accepted: /^True/,
    resolved: /^False SecretNotFound/,
  },
  {
    title: 'names a key that the Secret does not have',
    object: integration('team-a/odd', 'vendor', { secret_mappings: [{ ...mapping('vendor'), secret_key: 'other' }] }),
    accepted: /^True/,
    resolved: /^False SecretKeyMissing/,
  },
  {
    title: 'names a config that does not exist',
    given: [VICTIMS_KEY],
    object: apiKey('team-a/odd', { secret_name: 'victims-key', defaults: { config_id: 'nothing' } }),
    accepted: /^True/,
    resolved: /^False RefNotFound: spec\.defaults\.config_id/,
  },
  {
    title: 'names an Integration that itself was refused',
    given: [custom('Integration', 'team-a/spoilt', { provider: 7 })],
    object: config('team-a/odd', { provider: '@spoilt' }),
    accepted: /^True/,
    resolved: /^False RefNotFound: .* was refused: see its own conditions/,
  },
  {
    title: 'claims to be the default besides another',
    object: config('team-a/zz', { provider: 'simulator' }, isDefault),
    accepted: /^False Conflicted: metadata\.annotations/,
  },
  {
    title: 'holds the key of another ApiKey',
    object: apiKey('team-a/zz', { secret_name: 'own-key' }),
    accepted: /^False DuplicateKey: spec\.secret_name: .*ApiKey team-a\/own/,
  },
  {
    title: 'holds the key of an ApiKey of another workspace',
    given: [secret('team-b/copy', { api_key: 'a-key-that-the-user-brought' })],
    object: apiKey('team-b/zz', { secret_name: 'copy' }),
    accepted: /^False DuplicateKey: .*an ApiKey of another namespace/,
  },
  {
    title: 'names its own targets alike',
    object: config('team-a/odd', {
      strategy: { mode: 'conditional', conditions: [{ query: { 'metadata.a': '1' }, then: 'x' }], default: 'x' },
      targets: [
        { name: 'x', provider: 'simulator' },
        { name: 'x', provider: 'simulator' },
      ],
    }),
    accepted: /^False InvalidSpec: spec\.targets/,
  },
  {
    title: 'leads to a target that it does not have',
    object: config('team-a/odd', {
      strategy: { mode: 'conditional', conditions: [{ query: { 'metadata.a': '1' }, then: 'y' }], default: 'x' },
      targets: [{ name: 'x', provider: 'simulator' }],
    }),
    accepted: /^False InvalidSpec: spec\.strategy\.conditions/,
  },
  {
    title: 'shares what its workspace may not share',
    object: integration('team-a/odd', 'vendor', { allow_all_workspaces: true }),
    accepted: /^False NotShareable/,
  },
  {
    title: 'claims rights of the organisation',
    given: [VICTIMS_KEY],
    object: apiKey('team-a/odd', { type: 'organisation-service', secret_name: 'victims-key' }),
    accepted: /^False NotPermitted/,
  },
  {
    title: 'names a provider that there is not',
    object: config('team-a/odd', { provider: 'nobody', custom_host: 'https://llm.example/v1' }),
    accepted: /^False UnknownProvider/,
  },
];

describe('O11: an object that', () => {
  it.each(CASES)('$title is alone the worse for it', async ({ given = [], object, accepted, resolved }) => {
    const stage = await running(...given);
    const [{ hash, snapshot }, others] = [published(stage.server), othersOf(stage, object)];
    stage.server.apply(object);
    await stage.settle();
    expect(condition(stage.server, nameOf(object), 'Accepted')).toMatch(accepted);
    if (resolved !== undefined) expect(condition(stage.server, nameOf(object), 'ResolvedRefs')).toMatch(resolved);
    expect(condition(stage.server, nameOf(object), 'Ready')).toMatch(/^False/);
    expect(othersOf(stage, object)).toEqual(others);
    const now = published(stage.server).snapshot;
    for (const field of ['configs', 'integrations', 'credentials', 'keys'] as const) {
      const kept = (now[field] as readonly { name: string }[]).filter(({ name }) => name !== object.metadata.name);
      expect(kept).toEqual(snapshot[field]);
    }
    remove(stage, object);
    await stage.settle();
    expect([published(stage.server).hash, othersOf(stage, object)]).toEqual([hash, others]);
  });
});
