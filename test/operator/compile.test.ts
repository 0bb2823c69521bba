/** What `compile` keeps when objects go wrong, come, go and come back. */
import { describe, expect, it } from 'vitest';
import type { Snapshot } from '#crds/snapshot/contract.ts';
import { encodeSnapshot } from '#crds/snapshot/encode.ts';
import { compile } from '#operator/compile/compile.ts';
import { newKey } from '#operator/compile/new-key.ts';
import { REASONS } from '#operator/compile/reasons.ts';
import type { World } from '#operator/world.ts';
import { compileText, documents, manifest, messageOf, say, servedByOne, TOOLS, worldOf } from './worlds.ts';

const GOOD = documents(
  manifest(
    'GatewayConfig',
    'team-a',
    'chat',
    { provider: '@openai', override_params: { model: 'one' } },
    {
      'modelgateway.dev/default': 'true',
    },
  ),
  manifest('Integration', 'team-a', 'openai', {
    provider: 'openai',
    secret_mappings: [{ target_field: 'api_key', secret_name: 'openai', secret_key: 'key' }],
  }),
  manifest('Secret', 'team-a', 'openai', { key: 'sk-team-a' }),
  manifest('ApiKey', 'team-a', 'checkout', { type: 'workspace-service', defaults: { config_id: 'chat' } }),
  manifest('Secret', 'team-a', 'checkout-api-key', { api_key: 'key-of-checkout-0' }),
);
const OTHER = { provider: 'simulator', override_params: { model: 'other' } };

function hashOf(snapshot: Snapshot): string {
  return (JSON.parse(encodeSnapshot(snapshot, 1).index) as { hash: string }).hash;
}

function withoutRefused(snapshot: Snapshot): Snapshot {
  return { ...snapshot, refused: [] };
}

/** Each is refused; the second member is the reason. */
const BAD: readonly [name: string, text: string, reason: keyof typeof REASONS][] = [
  ['an unknown key', manifest('GatewayConfig', 'team-a', 'bad', { ...OTHER, retires: 1 }), 'InvalidSpec'],
  ['a wrong type', manifest('GatewayConfig', 'team-a', 'bad', { ...OTHER, request_timeout: 'soon' }), 'InvalidSpec'],
  ['a spec that is a list', manifest('GatewayConfig', 'team-a', 'bad', []), 'InvalidSpec'],
  ['a spec that is null', manifest('GatewayConfig', 'team-a', 'bad', null), 'InvalidSpec'],
  [
    'no targets',
    manifest('GatewayConfig', 'team-a', 'bad', { strategy: { mode: 'fallback' }, targets: [] }),
    'InvalidSpec',
  ],
  [
    'an unknown provider',
    manifest('GatewayConfig', 'team-a', 'bad', { provider: 'nobody', api_key: 'x' }),
    'UnknownProvider',
  ],
  ['no host', manifest('GatewayConfig', 'team-a', 'bad', { provider: 'vllm', api_key: 'x' }), 'MissingHost'],
  [
    'a sharing that is not its own',
    manifest('GatewayConfig', 'team-a', 'bad', OTHER, { 'modelgateway.dev/allowed-workspaces': '*' }),
    'NotShareable',
  ],
  [
    'a second default',
    manifest('GatewayConfig', 'team-a', 'zzz', OTHER, { 'modelgateway.dev/default': 'true' }),
    'Conflicted',
  ],
  ['a name that is taken', manifest('GatewayConfig', 'team-a', 'chat', OTHER), 'Conflicted'],
  ['an unknown kind', manifest('Gateway', 'team-a', 'bad', OTHER), 'UnknownKind'],
  [
    'an unknown provider in an Integration',
    manifest('Integration', 'team-a', 'bad', { provider: 'nobody' }),
    'UnknownProvider',
  ],
  [
    'two mappings of a field',
    manifest('Integration', 'team-a', 'bad', {
      provider: 'openai',
      secret_mappings: [1, 2].map(() => ({ target_field: 'api_key', secret_name: 'openai', secret_key: 'key' })),
    }),
    'InvalidSpec',
  ],
  ['a key type that is none', manifest('ApiKey', 'team-a', 'bad', { type: 'root' }), 'InvalidSpec'],
  [
    'a date that is none',
    manifest('ApiKey', 'team-a', 'bad', { type: 'workspace-user', expires_at: 'tomorrow' }),
    'InvalidSpec',
  ],
  [
    'an organisation key of a workspace',
    manifest('ApiKey', 'team-a', 'bad', { type: 'organisation-service' }),
    'NotPermitted',
  ],
  [
    'a key that another has',
    manifest('ApiKey', 'team-a', 'zzz', { type: 'workspace-user', secret_name: 'checkout-api-key' }),
    'DuplicateKey',
  ],
  [
    'a short key',
    documents(
      manifest('ApiKey', 'team-a', 'bad', { type: 'workspace-user' }),
      manifest('Secret', 'team-a', 'bad-api-key', { api_key: '123456789012345' }),
    ),
    'InvalidKey',
  ],
];

describe('a bad object is refused alone', () => {
  const good = compileText(GOOD);

  it('starts from objects that are all well', () => {
    expect(good.statuses.map(({ conditions }) => conditions.map(({ status }) => status))).toEqual(
      good.statuses.map(() => ['True', 'True']),
    );
    expect(good.snapshot.configs[0]).toMatchObject({ name: 'chat', is_default: true });
  });

  it.each(BAD)('%s', (_name, text, reason) => {
    const after = compileText(documents(GOOD, text), good.lastGood);
    const bad = after.statuses.filter(({ conditions }) => conditions[0]?.status === 'False');
    expect(bad.map(({ conditions }) => conditions[0]?.reason)).toEqual([reason]);
    expect(bad[0]?.conditions[0]?.message).toMatch(/^[a-z][\w.[\]"/-]*: /i);
    expect(bad[0]?.served).toBe('none');
    expect(hashOf(withoutRefused(after.snapshot))).toBe(hashOf(good.snapshot));
    expect(hashOf(compileText(GOOD, after.lastGood).snapshot), 'taken away again').toBe(hashOf(good.snapshot));
  });

  it.each(BAD)('%s, alone in the world', (_name, text) => {
    const { snapshot, statuses } = compileText(text);
    expect(statuses.length).toBeGreaterThan(0);
    const records = snapshot.configs.length + snapshot.integrations.length + snapshot.keys.length;
    expect(records).toBe(statuses.filter(({ served }) => served === 'current').length);
  });
});

describe('the last good version', () => {
  const edited = GOOD.replace('"model":"one"', '"model":7').replace('"provider":"@openai"', '"provider":"nobody"');

  it('is served while the object is refused', () => {
    const good = compileText(GOOD);
    const after = compileText(edited, good.lastGood);
    expect(say(after.statuses, 'GatewayConfig team-a/chat', 'Accepted')).toBe('False InvalidSpec');
    expect(after.statuses[0]?.served).toBe('last-good');
    expect(hashOf(after.snapshot)).toBe(hashOf(good.snapshot));
    expect(after.snapshot.refused).toEqual([]);
  });

  it('survives many bad versions, and gives way to a good one', () => {
    let lastGood = compileText(GOOD).lastGood;
    for (let round = 0; round < 3; round += 1) lastGood = compileText(edited, lastGood).lastGood;
    const now = compileText(GOOD.replace('"one"', '"two"'), lastGood);
    expect(now.snapshot.configs[0]?.config.override_params).toEqual({ model: 'two' });
  });

  it('is forgotten when the object is deleted', () => {
    const deleted = compileText(documents(...GOOD.split('---\n').slice(1)), compileText(GOOD).lastGood);
    const again = compileText(edited, deleted.lastGood);
    expect(again.snapshot.configs).toEqual([]);
    expect(again.snapshot.refused).toMatchObject([{ kind: 'GatewayConfig', namespace: 'team-a', name: 'chat' }]);
  });

  it('is not that of a namesake with another uid', () => {
    const withUid = (world: World, uid: string): World => ({
      ...world,
      manifests: world.manifests.map((one) => ({ ...one, uid })),
    });
    const good = compile(withUid(worldOf({ a: GOOD }), 'first'), new Map(), TOOLS);
    const same = compile(withUid(worldOf({ a: edited }), 'first'), good.lastGood, TOOLS);
    const other = compile(withUid(worldOf({ a: edited }), 'second'), good.lastGood, TOOLS);
    expect(same.snapshot.configs).toHaveLength(1);
    expect(other.snapshot.configs).toHaveLength(0);
    expect(compile(withUid(worldOf({ a: edited }), 'first'), other.lastGood, TOOLS).snapshot.configs).toHaveLength(0);
  });

  it('loses the role of the default to an accepted claimant, and nothing else', () => {
    const claimant = manifest('GatewayConfig', 'team-a', 'assistant', OTHER, { 'modelgateway.dev/default': 'true' });
    const after = compileText(documents(GOOD, claimant), compileText(GOOD).lastGood);
    expect(say(after.statuses, 'GatewayConfig team-a/chat', 'Accepted')).toBe('False Conflicted');
    expect(after.snapshot.configs.map(({ name, is_default }) => [name, is_default])).toEqual([
      ['assistant', true],
      ['chat', false],
    ]);
  });

  it('shows in Programmed', () => {
    const after = compileText(edited, compileText(GOOD).lastGood);
    const statuses = servedByOne(after);
    expect(say(statuses, 'GatewayConfig team-a/chat', 'Programmed')).toBe('False LastGoodServed');
    expect(say(statuses, 'Integration team-a/openai', 'Programmed')).toBe('True Programmed');
    expect(messageOf(statuses, 'Integration team-a/openai', 'Programmed')).toBe('served by 1 of 1 replica');
  });
});

describe('Secrets', () => {
  it('are used as they are now: a new value, then none', () => {
    const good = compileText(GOOD);
    const rotated = compileText(GOOD.replace('sk-team-a', 'sk-rotated'), good.lastGood);
    expect(rotated.snapshot.credentials).toMatchObject([{ name: 'openai', fields: { api_key: 'sk-rotated' } }]);
    const gone = compileText(GOOD.replace('"key":"sk-team-a"', ''), rotated.lastGood);
    expect(gone.snapshot.credentials).toEqual([]);
    expect(gone.snapshot.integrations[0]?.credential_fields).toEqual(['api_key']);
    expect(say(gone.statuses, 'Integration team-a/openai', 'Accepted')).toBe('True Accepted');
    expect(say(gone.statuses, 'Integration team-a/openai', 'ResolvedRefs')).toBe('False SecretKeyMissing');
  });

  it('keep no key alive that they hold no more, be the ApiKey good or bad', () => {
    const good = compileText(GOOD);
    for (const text of [
      GOOD.replace('key-of-checkout-0', 'short'),
      GOOD.replace('"api_key":"key-of', '"other":"key-of'),
    ]) {
      expect(compileText(text, good.lastGood).snapshot.keys).toEqual([]);
      const bad = text.replace('workspace-service', 'root');
      expect(compileText(bad, good.lastGood).snapshot.keys).toEqual([]);
    }
  });

  it('of another namespace are out of reach', () => {
    const { snapshot, statuses } = compileText(
      GOOD.replace(
        '{"name":"openai","namespace":"team-a"},"stringData"',
        '{"name":"openai","namespace":"team-b"},"stringData"',
      ),
    );
    expect(snapshot.credentials).toEqual([]);
    expect(say(statuses, 'Integration team-a/openai', 'ResolvedRefs')).toBe('False SecretNotFound');
  });

  it('of users come before generated ones of the same name', () => {
    const world = worldOf({ a: GOOD });
    const [mine] = world.secrets.filter(({ name }) => name === 'openai');
    if (mine === undefined) throw new Error('no Secret');
    const generated = { ...mine, generated: true, values: new Map([['key', 'generated']]) };
    const { snapshot, statuses } = compile({ ...world, secrets: [generated, ...world.secrets] }, new Map(), TOOLS);
    expect(snapshot.credentials[0]?.fields).toEqual({ api_key: 'sk-team-a' });
    expect(statuses.some(({ kind }) => kind === 'Secret')).toBe(false);
  });
});

describe('generated keys', () => {
  const KEYS = documents(
    manifest('ApiKey', 'default', 'a', { type: 'workspace-user', secret_name: 'one' }),
    manifest('ApiKey', 'default', 'b', { type: 'workspace-user', secret_name: 'one' }),
    manifest('ApiKey', 'default', 'c', { type: 'workspace-user' }),
  );

  it('are asked for once per Secret, and served only when the Secret is there', () => {
    const compiled = compileText(KEYS);
    const { lacking, snapshot } = compiled;
    expect(lacking.map(({ name }) => name)).toEqual(['one', 'c-api-key']);
    expect(snapshot.keys).toEqual([]);
    expect(say(servedByOne(compiled), 'ApiKey default/c', 'Programmed')).toBe('False Incomplete');
    const stored = compileText(documents(KEYS, manifest('Secret', 'default', 'c-api-key', { api_key: newKey() })));
    expect(stored.snapshot.keys).toMatchObject([{ name: 'c' }]);
    expect(stored.lacking.map(({ name }) => name)).toEqual(['one']);
  });

  it('are not asked for where a Secret exists that cannot be used', () => {
    for (const value of [{ other: 'x' }, { api_key: 'short' }, { api_key: `$\{env:NOT_THERE}` }]) {
      const { lacking } = compileText(
        documents(
          manifest('ApiKey', 'default', 'c', { type: 'workspace-user' }),
          manifest('Secret', 'default', 'c-api-key', value),
        ),
      );
      expect(lacking).toEqual([]);
    }
  });

  it('are random, recognisable and fit for a header', () => {
    const keys = Array.from({ length: 200 }, () => newKey());
    expect(new Set(keys).size).toBe(keys.length);
    for (const key of keys) expect(key).toMatch(/^mgw_[0-9A-Za-z]{49}$/);
    const letters = new Set(keys.join('').replaceAll('mgw_', ''));
    expect(letters.size).toBe(62);
  });
});

describe('compile', () => {
  it('leaves its input alone', () => {
    const world = worldOf({ a: documents(GOOD, ...BAD.map(([, text]) => text)) });
    const before = JSON.stringify(world);
    compile(world, new Map(), TOOLS);
    expect(JSON.stringify(world)).toBe(before);
  });

  it('does not depend on the order of what is well', () => {
    const forwards = compileText(GOOD);
    const backwards = compileText(documents(...GOOD.split('---\n').reverse()));
    expect(hashOf(backwards.snapshot)).toBe(hashOf(forwards.snapshot));
    expect(backwards.snapshot).toEqual(forwards.snapshot);
  });

  it('gives every object one status, and every reason is in the table', () => {
    const text = documents(GOOD, ...BAD.map(([, bad]) => bad));
    const compiled = compileText(text);
    const { statuses } = compiled;
    expect(statuses.length).toBe(
      worldOf({ a: text }).manifests.length + statuses.filter(({ kind }) => kind === 'Secret').length,
    );
    for (const { conditions } of servedByOne(compiled)) {
      for (const { reason } of conditions) expect(REASONS[reason]).toMatch(/\.$/);
    }
  });

  it('compiles 5,000 objects again without stalling', () => {
    const many = (count: number, of: (index: number) => string) =>
      Array.from({ length: count }, (_, index) => of(index));
    const world = worldOf({
      a: documents(
        ...many(1000, (index) => manifest('GatewayConfig', `team-${index % 50}`, `c${index}`, OTHER)),
        ...many(2000, (index) => manifest('ApiKey', `team-${index % 50}`, `k${index}`, { type: 'workspace-user' })),
        ...many(2000, (index) =>
          manifest('Secret', `team-${index % 50}`, `k${index}-api-key`, { api_key: `key-number-${index}-of-many` }),
        ),
      ),
    });
    const first = compile(world, new Map(), TOOLS);
    const startedMs = performance.now();
    const second = compile(world, first.lastGood, TOOLS);
    expect(performance.now() - startedMs).toBeLessThan(500);
    expect(second.snapshot.keys).toHaveLength(2000);
  });
});
