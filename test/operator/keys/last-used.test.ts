/** When a key was used last, from the gateways to its status; in virtual time. */
import { describe, expect, it } from 'vitest';
import type { ObjectStatus } from '#operator/compile/status.ts';
import { KeyUses } from '#operator/keys/key-uses.ts';
import { pass } from '../../crds/api/virtual-time.ts';
import { statusOf } from '../apply/cases.ts';
import { running } from '../faults/running.ts';
import { useStages } from '../faults/stage.ts';
import { fieldsOf, KEY, MINUTE_MS } from './witness.ts';

const keyNamed = (name: string): ObjectStatus => ({ ...statusOf(name), kind: 'ApiKey' });
const use = (name: string, last_used_at_ms: number) => ({ namespace: 'default', name, last_used_at_ms });

describe('uses that gateways tell', () => {
  it('are told on at most every ten minutes, as the latest of all', () => {
    const uses = new KeyUses();
    expect(uses.note([use('a', 0), use('b', 5_000)])).toBe(true);
    expect(uses.note([use('a', 9 * MINUTE_MS), use('b', 1_000)])).toBe(false);
    expect(uses.fieldsOf(keyNamed('a'))).toEqual({ last_used_at: '1970-01-01T00:00:00.000Z' });
    expect(uses.note([use('a', 10 * MINUTE_MS)])).toBe(true);
    expect(uses.fieldsOf(keyNamed('a'))).toEqual({ last_used_at: '1970-01-01T00:10:00.000Z' });
    expect(uses.fieldsOf(keyNamed('b'))).toEqual({ last_used_at: '1970-01-01T00:00:05.000Z' });
  });

  it('are the same object while they say the same, and of keys alone', () => {
    const uses = new KeyUses();
    uses.note([use('a', 7)]);
    expect(uses.fieldsOf(keyNamed('a'))).toBe(uses.fieldsOf(keyNamed('a')));
    expect(uses.fieldsOf(statusOf('a'))).toBeUndefined();
    expect(uses.fieldsOf(keyNamed('never'))).toBeUndefined();
  });

  it('of keys that are gone are forgotten before they are more than there are objects', () => {
    const uses = new KeyUses();
    for (let n = 0; n < 100; n++) uses.note([use(`gone-${n}`, 1), use('a', 1)]);
    uses.retain([keyNamed('a')]);
    expect(uses.fieldsOf(keyNamed('a'))).toBeDefined();
    expect(uses.fieldsOf(keyNamed('gone-1'))).toBeUndefined();
  });
});

describe('the status of a key', () => {
  useStages();

  it('says when it was used, with few writes under a steady load, and over a restart of the operator', async () => {
    const { stage, run } = await running();
    const statusWrites = () =>
      stage.writes.filter(
        ({ resource, subresource, name }) => resource === 'apikeys' && subresource === 'status' && name === 'app',
      ).length;
    const before = statusWrites();
    const load = async (minutes: number) => {
      for (let gone = 0; gone < minutes * MINUTE_MS; gone += 2_000) {
        for (const gateway of stage.gateways) gateway.keyUses.set(KEY, Date.now());
        await pass(2_000);
      }
    };
    await load(21);
    const { last_used_at: at } = fieldsOf(stage) as { last_used_at: string };
    expect(Date.now() - Date.parse(at)).toBeLessThan(11 * MINUTE_MS);
    expect(statusWrites() - before).toBeLessThanOrEqual(3);
    for (const gateway of stage.gateways) gateway.keyUses.clear();
    run.crash();
    stage.start();
    await pass(MINUTE_MS);
    expect(fieldsOf(stage)).toEqual({ last_used_at: at });
    expect(statusWrites() - before).toBeLessThanOrEqual(3);
  });
});
