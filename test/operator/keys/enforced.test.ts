/** What the organisation enforces for keys of users. */
import { describe, expect, it } from 'vitest';
import { type Compiled, compile } from '#operator/compile/compile.ts';
import type { LastGood } from '#operator/compile/elect.ts';
import type { UserKeyRules } from '#operator/compile/user-keys.ts';
import type { SecretObject } from '#operator/world.ts';
import { documents, manifest, messageOf, say, TOOLS, worldOf } from '../worlds.ts';

const USER = 'ApiKey team-a/k';
const MADE = '2026-01-01T00:00:00.000Z';
const DAY_MS = 86_400_000;

/** `issued`: made here, at `MADE`. */
function secretOf(issued: boolean): SecretObject {
  const values = new Map([['api_key', 'a-key-of-the-test'], ...(issued ? ([['created_at', MADE]] as const) : [])]);
  return { namespace: 'team-a', name: 'k-api-key', values, place: undefined, refused: undefined, generated: issued };
}

interface Setting {
  readonly forAll?: UserKeyRules;
  /** Settings of the Workspace team-a. */
  readonly own?: object;
  readonly spec?: object;
  readonly issued?: boolean;
  readonly previous?: LastGood;
}

function compiled({ forAll = {}, own, spec = {}, issued = true, previous = new Map() }: Setting): Compiled {
  const key = manifest('ApiKey', 'team-a', 'k', { type: 'workspace-user', ...spec });
  const workspace = own === undefined ? [] : [manifest('Workspace', 'model-gateway', 'team-a', { settings: own })];
  const world = worldOf({ 'a.yaml': documents(key, ...workspace) });
  const settings = { ...world.settings, userKeys: forAll };
  return compile({ ...world, settings, secrets: [secretOf(issued)] }, previous, TOOLS);
}

const fieldsOf = ({ statuses }: Compiled) => statuses.find(({ kind }) => kind === 'ApiKey')?.fields ?? {};
const dayAfter = (days: number) => new Date(Date.parse(MADE) + days * DAY_MS).toISOString();

describe('an enforced rotation period', () => {
  it.each<[string, Setting, string | undefined]>([
    ['is filled in where the key says nothing', { forAll: { rotationPeriod: 'weekly' } }, dayAfter(7)],
    ['is said by the Workspace', { own: { user_api_key_rotation_period: 'monthly' } }, dayAfter(31)],
    [
      'of the Workspace goes before that of the organisation',
      { forAll: { rotationPeriod: 'weekly' }, own: { user_api_key_rotation_period: 'monthly' } },
      dayAfter(31),
    ],
    [
      'of the organisation holds where the Workspace says other things',
      { forAll: { rotationPeriod: 'weekly' }, own: { user_api_key_ttl_days: 90 } },
      dayAfter(7),
    ],
    [
      'may be said by the key too',
      { forAll: { rotationPeriod: 'weekly' }, spec: { rotation_policy: { rotation_period: 'weekly' } } },
      dayAfter(7),
    ],
    [
      'leaves the other words of a policy alone',
      { forAll: { rotationPeriod: 'weekly' }, spec: { rotation_policy: { next_rotation_at: '2026-01-03T00:00:00Z' } } },
      dayAfter(2),
    ],
    ['is none for a service', { forAll: { rotationPeriod: 'weekly' }, spec: { type: 'workspace-service' } }, undefined],
    ['is none where nobody says so', {}, undefined],
  ])('%s', (_, setting, expected) => {
    const result = compiled(setting);
    expect(say(result.statuses, USER, 'Accepted')).toBe('True Accepted');
    expect(fieldsOf(result)['next_rotation_at']).toBe(expected);
    expect(result.issued[0]?.dueAtMs).toBe(expected === undefined ? undefined : Date.parse(expected));
  });

  const DIFFERING: Setting = {
    forAll: { rotationPeriod: 'monthly' },
    spec: { rotation_policy: { rotation_period: 'weekly' } },
  };

  it('refuses a key that says otherwise, naming the field and both values, and does not serve it', () => {
    const result = compiled(DIFFERING);
    expect(say(result.statuses, USER, 'Accepted')).toBe('False EnforcedOtherwise');
    expect(messageOf(result.statuses, USER, 'Accepted')).toMatch(
      /^spec\.rotation_policy\.rotation_period: .*weekly.*monthly/,
    );
    expect([result.snapshot.keys, result.issued, result.lacking]).toEqual([[], [], []]);
  });

  it('does not end a key that was accepted before it held: that is served, and rotated by the rule', () => {
    const { spec = {} } = DIFFERING;
    const before = compiled({ spec });
    expect(say(before.statuses, USER, 'Accepted')).toBe('True Accepted');
    const result = compiled({ ...DIFFERING, previous: before.lastGood });
    expect(say(result.statuses, USER, 'Accepted')).toBe('False EnforcedOtherwise');
    expect(result.snapshot.keys).toHaveLength(1);
    expect(fieldsOf(result)['next_rotation_at']).toBe(dayAfter(31));
  });

  it('cannot be kept for a key that somebody brought, which is said', () => {
    const { statuses, issued } = compiled({ forAll: { rotationPeriod: 'weekly' }, issued: false });
    expect(issued).toEqual([]);
    expect(messageOf(statuses, USER, 'Warning')).toMatch(
      /^the weekly rotation of keys of users: Secret team-a\/k-api-key was not made here/,
    );
  });
});

describe('an enforced time to live', () => {
  const endOf = (result: Compiled) =>
    result.snapshot.keys.map(({ expires_at_ms: endMs }) => endMs && new Date(endMs).toISOString());

  it.each<[string, Setting, string | undefined]>([
    ['ends the key so many days after it was made', { forAll: { ttlDays: 30 } }, dayAfter(30)],
    [
      'is said by the Workspace, which goes first',
      { forAll: { ttlDays: 30 }, own: { user_api_key_ttl_days: 10 } },
      dayAfter(10),
    ],
    ['does not prolong what ends sooner', { forAll: { ttlDays: 30 }, spec: { expires_at: dayAfter(5) } }, dayAfter(5)],
    ['cuts what would end later', { forAll: { ttlDays: 30 }, spec: { expires_at: dayAfter(50) } }, dayAfter(30)],
    ['is none for a service', { forAll: { ttlDays: 30 }, spec: { type: 'workspace-service' } }, undefined],
  ])('%s', (_, setting, expected) => {
    const result = compiled(setting);
    expect(endOf(result)).toEqual([expected]);
    expect(fieldsOf(result)['expires_at']).toBe(expected);
  });

  it('is told of where nobody knows when the key was made', () => {
    const result = compiled({ forAll: { ttlDays: 30 }, issued: false });
    expect(endOf(result)).toEqual([undefined]);
    expect(say(result.statuses, USER, 'Warning')).toBe('True NoEffect');
  });

  it('ends the former key with the key, whatever its transition', () => {
    const key = manifest('ApiKey', 'team-a', 'k', { type: 'workspace-user' });
    const values = new Map([
      ...secretOf(true).values,
      ['previous_api_key_sha256', 'f'.repeat(64)],
      ['previous_expires_at', dayAfter(99)],
    ]);
    const world = worldOf({ 'a.yaml': key });
    const settings = { ...world.settings, userKeys: { ttlDays: 30 } };
    const result = compile({ ...world, settings, secrets: [{ ...secretOf(true), values }] }, new Map(), TOOLS);
    expect(endOf(result)).toEqual([dayAfter(30), dayAfter(30)]);
  });
});

describe('a brought key', () => {
  const keyed = (value: string) =>
    compile(
      worldOf({
        'a.yaml': documents(
          manifest('ApiKey', 'a', 'k', { type: 'workspace-service' }),
          manifest('Secret', 'a', 'k-api-key', { api_key: value }),
        ),
      }),
      new Map(),
      TOOLS,
    );

  it('may have any form', () => expect(keyed('any-form-of-a-key-will-do').snapshot.keys).toHaveLength(1));

  it('in the form of ours needs our checksum, for a gateway would refuse it', () => {
    const { statuses, snapshot } = keyed(`mgw_${'a'.repeat(49)}`);
    expect(snapshot.keys).toEqual([]);
    expect(say(statuses, 'ApiKey a/k', 'Accepted')).toBe('False InvalidKey');
    expect(messageOf(statuses, 'ApiKey a/k', 'Accepted')).toContain('checksum');
  });

  it('has no use for fields of rotation in its Secret', () => {
    const { snapshot, issued } = compile(
      worldOf({
        'a.yaml': documents(
          manifest('ApiKey', 'a', 'k', { type: 'workspace-service' }),
          manifest('Secret', 'a', 'k-api-key', {
            api_key: 'a-key-that-was-brought',
            next_api_key: 'another-key-that-is-next',
          }),
        ),
      }),
      new Map(),
      TOOLS,
    );
    expect(snapshot.keys).toHaveLength(1);
    expect(issued).toEqual([]);
  });
});
