/** G9: what is no key gets one answer after the same work; and what is noted of a key that works. */
import { hash } from 'node:crypto';
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest';
import type { KeyRecord, Snapshot } from '#crds/snapshot/contract.ts';
import { authenticate } from '#gateway/authenticate.ts';
import { ActiveSnapshot } from '#gateway/snapshot/active-snapshot.ts';
import { newKey } from '#operator/compile/new-key.ts';
import { startTestGateway, type TestGateway } from '../fakes/gateway.ts';
import { NO_RECORDS } from '../fakes/no-records.ts';

const KEY = newKey();
const NEXT = newKey();
const PREVIOUS = newKey();
const EXPIRED = newKey();
const DISABLED = newKey();
const OLD_FORM = `mgw_${'k'.repeat(43)}`;
const MISSPELT = `${KEY.slice(0, -1)}${KEY.endsWith('a') ? 'b' : 'a'}`;
const END_MS = Date.parse('2026-06-01T12:00:00.000Z');

function record(key: string, more: Partial<KeyRecord> = {}): KeyRecord {
  return {
    namespace: 'default',
    name: 'app',
    digest: hash('sha256', key, 'hex'),
    type: 'workspace-service',
    allow_config_override: true,
    metadata: {},
    disabled: false,
    ...more,
  };
}

function snapshotOf(keys: readonly KeyRecord[], keyPrefix?: string): Snapshot {
  const prefix = keyPrefix === undefined ? {} : { key_prefix: keyPrefix };
  return {
    ...NO_RECORDS,
    settings: { organisation_namespace: 'model-gateway', request_hosts: [], ...prefix },
    configs: [],
    integrations: [],
    credentials: [],
    keys: [...keys],
    refused: [],
  };
}

const SNAPSHOT = snapshotOf([
  record(KEY),
  record(NEXT, { slot: 'next' }),
  record(PREVIOUS, { slot: 'previous', expires_at_ms: END_MS }),
  record(EXPIRED, { name: 'expired', expires_at_ms: 1 }),
  record(DISABLED, { name: 'disabled', disabled: true }),
  record(OLD_FORM, { name: 'old-form' }),
  // No operator would publish it.
  record(MISSPELT, { name: 'misspelt' }),
]);

/** Nothing is checked here. */
const NO_MEANS = () => {
  throw new Error('no check is compiled');
};

function activeOf(snapshot: Snapshot, former?: ActiveSnapshot): ActiveSnapshot {
  return new ActiveSnapshot(snapshot, 1, 'of-the-test', 'http://127.0.0.1:1', NO_MEANS, former);
}

function callerOf(key: string, snapshot: ActiveSnapshot, scopes: readonly string[] = ['completions.write']): string {
  return authenticate({ authorization: `Bearer ${key}` }, snapshot, false, scopes).caller.name;
}

afterEach(() => vi.useRealTimers());

describe('a key that is being replaced', () => {
  it('and the one after it work, and the one before it until its end, to the millisecond', () => {
    const active = activeOf(SNAPSHOT);
    vi.useFakeTimers({ toFake: ['Date'], now: END_MS - 1 });
    expect([KEY, NEXT, PREVIOUS].map((key) => callerOf(key, active))).toEqual(['app', 'app', 'app']);
    vi.setSystemTime(END_MS);
    expect([KEY, NEXT].map((key) => callerOf(key, active))).toEqual(['app', 'app']);
    expect(() => callerOf(PREVIOUS, active)).toThrow('missing or not valid');
  });
});

describe('a key in the form of issued ones', () => {
  it('with a wrong checksum is refused without being looked up', () => {
    const active = activeOf(SNAPSHOT);
    const look = vi.spyOn(active, 'key');
    expect(() => callerOf(MISSPELT, active)).toThrow('missing or not valid');
    expect(look).not.toHaveBeenCalled();
    expect(() => callerOf(newKey(), active)).toThrow('missing or not valid');
    expect(look).toHaveBeenCalledOnce();
  });

  it('goes by the prefix of the installation', () => {
    const theirs = newKey('acme-');
    const active = activeOf(snapshotOf([record(theirs), record(MISSPELT, { name: 'as-brought' })], 'acme-'));
    expect(callerOf(theirs, active)).toBe('app');
    // Of another prefix, any form will do.
    expect(callerOf(MISSPELT, active)).toBe('as-brought');
  });

  it('of the time before checksums works on', () => expect(callerOf(OLD_FORM, activeOf(SNAPSHOT))).toBe('old-form'));
});

describe('every refusal', () => {
  let gateway: TestGateway;
  beforeAll(async () => {
    gateway = await startTestGateway({ snapshot: SNAPSHOT });
  });
  afterAll(() => gateway.close());

  const WRONG: readonly (readonly [string, string])[] = [
    ['unknown', 'unknown-key-0123456789'],
    ['of our form, and unknown', newKey()],
    ['of our form, misspelt', MISSPELT],
    ['of our form, not base62', `mgw_${'!'.repeat(49)}`],
    ['expired', EXPIRED],
    ['disabled', DISABLED],
    ['former, and ended', PREVIOUS],
    ['a prefix alone', 'mgw_'],
  ];

  it.each(WRONG)('is the same 401, without a word of the key: %s', async (_, key) => {
    vi.useFakeTimers({ toFake: ['Date'], now: END_MS + 1 });
    const ask = (presented: string) => gateway.post('/v1/chat/completions', {}, { 'x-gateway-api-key': presented });
    const [response, reference] = [await ask(key), await ask('some-other-unknown-key')];
    const text = await response.text();
    expect([response.status, text]).toEqual([401, await reference.text()]);
    expect(text).not.toContain(key);
    expect(text).not.toContain(hash('sha256', key, 'hex'));
  });

  it('takes the same time, whatever is wrong with the key', () => {
    const active = activeOf(SNAPSHOT);
    const refuse = (key: string) => {
      try {
        callerOf(key, active);
      } catch {
        // As every key here.
      }
    };
    const fastest = new Map(WRONG.map(([what]) => [what, Number.POSITIVE_INFINITY]));
    // The fastest of many short runs is what nothing else on the machine disturbed.
    for (let run = 0; run < 60; run++) {
      for (const [what, key] of WRONG) {
        const startedMs = performance.now();
        for (let n = 0; n < 200; n++) refuse(key);
        const tookMs = performance.now() - startedMs;
        fastest.set(what, Math.min(fastest.get(what) ?? 0, tookMs));
      }
    }
    const times = [...fastest.values()];
    expect(Math.max(...times) / Math.min(...times), JSON.stringify([...fastest])).toBeLessThan(1.6);
  });
});

describe('the last use of a key', () => {
  it('is noted for its ApiKey, by whichever of its keys, and outlives snapshots', () => {
    vi.useFakeTimers({ toFake: ['Date'], now: 1_000 });
    const first = activeOf(SNAPSHOT);
    expect([...first.lastUsed()]).toEqual([]);
    callerOf(KEY, first);
    vi.setSystemTime(2_000);
    callerOf(NEXT, first);
    expect([...first.lastUsed()]).toEqual([{ namespace: 'default', name: 'app', last_used_at_ms: 2_000 }]);
    const second = activeOf(SNAPSHOT, first);
    vi.setSystemTime(3_000);
    // A request that began with the former snapshot.
    callerOf(PREVIOUS, first);
    expect([...second.lastUsed()]).toEqual([{ namespace: 'default', name: 'app', last_used_at_ms: 3_000 }]);
    expect([...activeOf(snapshotOf([]), second).lastUsed()]).toEqual([]);
  });

  it('is not what was refused', () => {
    const active = activeOf(SNAPSHOT);
    for (const key of [EXPIRED, DISABLED, MISSPELT]) expect(() => callerOf(key, active)).toThrow('not valid');
    expect(() => callerOf(KEY, active, ['policies.create'])).toThrow('lacks the scope');
    expect([...active.lastUsed()]).toEqual([]);
  });

  it('stands on the page of the admin port', async () => {
    const gateway = await startTestGateway({ snapshot: SNAPSHOT });
    const before = Date.now();
    await gateway.post('/v1/chat/completions', {}, { 'x-gateway-api-key': KEY });
    const page = (await (await fetch(`${gateway.adminOrigin}/usage`)).json()) as {
      keys: { last_used_at_ms: number }[];
    };
    expect(page.keys).toEqual([{ namespace: 'default', name: 'app', last_used_at_ms: expect.any(Number) }]);
    expect(page.keys[0]?.last_used_at_ms).toBeGreaterThanOrEqual(before);
    await gateway.close();
  });
});
