/** Ids and names that are made here, and who has a say by managedFields. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { bearerOf, digestOf, headerText, isInForce, presentedKey } from '#crds/keys/presented-key.ts';
import { objectName } from '#crds/object.ts';
import { rotationWord, transitionIn } from '#operator/keys/rotation-word.ts';
import { isOurs, ownerOf, writtenAt } from '#operator/rest/managed-fields.ts';
import { randomWord, slugOf } from '#operator/rest/new-name.ts';
import { idOf, isUuid } from '#operator/rest/object-id.ts';

describe('an id', () => {
  it('is a UUID of version 5, the same for the same name', () => {
    fc.assert(
      fc.property(fc.string(), fc.string(), (one, other) => {
        expect(idOf(one)).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-5[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
        expect(isUuid(idOf(one))).toBe(true);
        expect(idOf(one) === idOf(other)).toBe(one === other);
      }),
    );
  });

  it('does not change with the version of this program', () => {
    expect(idOf('ApiKey default/mine')).toBe('57dc0534-0b61-55eb-8614-e3147eaf96b8');
  });
});

describe('a name', () => {
  it.each([
    ['Gold Team!', 'gold-team'],
    ['  --x--  ', 'x'],
    ['Größe №5', 'gro-e-no5'],
    ['Ünïqué', 'unique'],
    ['', 'fallback'],
    ['中文', 'fallback'],
    ['a'.repeat(300), 'a'.repeat(40)],
  ])('%j becomes %s', (text, expected) => expect(slugOf(text, 'fallback')).toBe(expected));

  it('is always one of Kubernetes, with a suffix too', () => {
    fc.assert(
      fc.property(fc.string({ maxLength: 300 }), (text) => {
        const slug = slugOf(text, 'api-key');
        expect(objectName.safeParse(slug).success, slug).toBe(true);
        expect(objectName.safeParse(`${slug}-${randomWord(10)}`).success, slug).toBe(true);
        expect(`${slug}-${randomWord(10)}-api-key`.length).toBeLessThanOrEqual(63);
      }),
    );
  });

  it('that is random is another one each time', () => {
    expect(new Set(Array.from({ length: 1_000 }, () => randomWord(10))).size).toBe(1_000);
    expect(randomWord(6)).toMatch(/^[a-z0-9]{6}$/);
  });
});

describe('a word that asks for a rotation', () => {
  it('is another one each time, and says the transition that it was made with', () => {
    expect(rotationWord()).not.toBe(rotationWord());
    expect(transitionIn(rotationWord())).toBeUndefined();
    for (const ms of [1_800_000, 7_200_000, 2_592_000_000]) expect(transitionIn(rotationWord(ms))).toBe(ms);
  });

  it.each([undefined, '', 'today', '+5ms', 'x+1799999ms', 'x+2592000001ms', 'x+1800000ms!', 'x+-1800000ms'])(
    '%j says nothing of one',
    (word) => expect(transitionIn(word)).toBeUndefined(),
  );
});

describe('the key that a request presents', () => {
  it.each([
    [{}, ''],
    [{ 'x-gateway-api-key': 'a', authorization: 'Bearer b', 'x-api-key': 'c' }, 'a'],
    [{ authorization: 'Bearer b', 'x-api-key': 'c' }, 'b'],
    [{ authorization: 'bEaReR  b ' }, 'b'],
    [{ 'x-api-key': 'c' }, 'c'],
    [{ 'x-gateway-api-key': '', authorization: 'Basic x', 'x-api-key': 'c' }, 'c'],
    [{ authorization: 'Bearer ' }, ''],
  ])('of %j is %j', (headers, expected) => expect(presentedKey(headers)).toBe(expected));

  it('is told apart from what is none', () => {
    expect([bearerOf(undefined), bearerOf('Bearer'), headerText(['a', 'b']), headerText('')]).toEqual(
      Array.from({ length: 4 }),
    );
  });

  it('has a digest that costs no more the longer it is', () => {
    expect(digestOf('x'.repeat(4_096))).not.toBe(digestOf(''));
    expect(digestOf('x'.repeat(4_097))).toBe(digestOf(''));
  });

  it.each([
    [{ disabled: false }, true],
    [{ disabled: true }, false],
    [{ disabled: false, expires_at_ms: 1_001 }, true],
    [{ disabled: false, expires_at_ms: 1_000 }, false],
    [{ disabled: true, expires_at_ms: 2_000 }, false],
  ])('with %j holds: %s', (key, expected) => expect(isInForce(key, 1_000)).toBe(expected));
});

describe('who has a say in an object', () => {
  const entry = (manager: string, fields: readonly string[], more: object = {}) => ({
    manager,
    operation: 'Update',
    time: '2026-01-01T00:00:00Z',
    fieldsV1: { 'f:spec': Object.fromEntries(fields.map((field) => [`f:${field}`, {}])) },
    ...more,
  });
  const object = (...managedFields: object[]) => ({
    apiVersion: 'modelgateway.dev/v1alpha1',
    kind: 'RateLimitPolicy',
    metadata: { name: 'x', managedFields },
  });
  const ours = entry('model-gateway-rest', ['value', 'unit']);

  it.each([
    ['nobody', object(), undefined, undefined, false],
    ['the control plane', object(ours), ['value'], undefined, true],
    ['another, of a field', object(ours, entry('kubectl-edit', ['value'])), ['value'], 'kubectl-edit', true],
    ['another, of another field', object(ours, entry('kubectl-edit', ['value'])), ['unit'], undefined, true],
    ['another, of any field', object(ours, entry('kubectl-edit', ['value'])), undefined, 'kubectl-edit', true],
    ['who made it, of every field', object(entry('argocd', ['value'])), ['name'], 'argocd', false],
    [
      'not who wrote a status',
      object(ours, entry('x', ['value'], { subresource: 'status' })),
      ['value'],
      undefined,
      true,
    ],
    [
      'not who wrote labels',
      object(ours, { manager: 'x', fieldsV1: { 'f:metadata': {} } }),
      undefined,
      undefined,
      true,
    ],
  ])('%s', (_title, stored, fields, owner, isOurOwn) => {
    expect(ownerOf(stored, fields)).toBe(owner);
    expect(isOurs(stored)).toBe(isOurOwn);
  });

  it('and when it was written last, but for its status', () => {
    const later = entry('x', ['value'], { time: '2026-02-01T00:00:00Z' });
    const status = entry('y', [], { time: '2026-03-01T00:00:00Z', subresource: 'status' });
    expect(writtenAt(object(later, ours, status))).toBe('2026-02-01T00:00:00Z');
    expect(writtenAt(object())).toBeUndefined();
  });
});
