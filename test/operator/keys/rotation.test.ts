/** A key that is replaced, in virtual time, with the whole operator and an API server in memory. */
import { describe, expect, it } from 'vitest';
import { pass } from '../../crds/api/virtual-time.ts';
import { condition, digestOf } from '../faults/outcome.ts';
import { running } from '../faults/running.ts';
import { useStages } from '../faults/stage.ts';
import { custom } from '../faults/workload.ts';
import {
  annotate,
  editSecret,
  fieldsOf,
  KEY,
  MINUTE_MS,
  recordsAt,
  TRANSITION_MS,
  valuesIn,
  Witness,
  works,
} from './witness.ts';

useStages();

const API_KEY = `ApiKey ${KEY}`;
const DAY_MS = 24 * 60 * MINUTE_MS;

describe('a rotation by annotation', () => {
  it('goes through three writes, and keeps both keys working until the end and not a millisecond longer', async () => {
    const { stage } = await running();
    const witness = new Witness(stage);
    const { api_key: former = '' } = valuesIn(stage);
    const secretWrites = () =>
      stage.writes.filter(({ resource, name }) => resource === 'secrets' && name === 'app-api-key');
    const before = secretWrites().length;
    annotate(stage, 'now');
    await witness.until(2);
    const values = valuesIn(stage);
    expect(values['api_key']).toMatch(/^mgw_[0-9A-Za-z]{49}$/);
    expect(values['previous_api_key_sha256']).toBe(digestOf(former));
    expect(values['next_api_key']).toBeUndefined();
    expect(JSON.stringify(values)).not.toContain(former);
    const endMs = Date.parse(values['previous_expires_at'] ?? '');
    expect(endMs - Date.parse(values['rotated_at'] ?? '')).toBe(TRANSITION_MS);
    await witness.pass(10_000);
    await pass(endMs - Date.now() - 1);
    for (const gateway of stage.gateways) {
      expect(recordsAt(gateway).map(({ slot }) => slot ?? 'present')).toEqual(['present', 'previous']);
      expect(works(gateway, former)).toBe(true);
    }
    await pass(1);
    for (const gateway of stage.gateways) expect(works(gateway, former)).toBe(false);
    await pass(10_000);
    for (const gateway of stage.gateways)
      expect(recordsAt(gateway).map(({ digest }) => digest)).toEqual([digestOf(valuesIn(stage)['api_key'] ?? '')]);
    expect(Object.keys(valuesIn(stage)).sort()).toEqual(['api_key', 'created_at', 'rotated_at', 'rotation_word']);
    expect(secretWrites().length - before).toBe(3);
    expect(condition(stage.server, API_KEY, 'Ready')).toBe('True Ready');
  });

  it('happens once for a word, however often the object is written, and again for another', async () => {
    const { stage } = await running();
    const witness = new Witness(stage);
    annotate(stage, 'one');
    await witness.until(2);
    annotate(stage, 'one', { description: 'the same word again' });
    await witness.pass(TRANSITION_MS + MINUTE_MS, 5_000);
    expect(witness.keys).toHaveLength(2);
    stage.server.apply(custom('ApiKey', KEY, { type: 'workspace-service' }));
    await witness.pass(10_000);
    expect(witness.keys).toHaveLength(2);
    annotate(stage, 'two');
    await witness.until(3);
  });

  it('is not asked for by a word that the object was made with', async () => {
    const { stage } = await running();
    stage.server.apply(
      custom(
        'ApiKey',
        'team-a/young',
        { type: 'workspace-service' },
        { annotations: { 'modelgateway.dev/rotate': 'x' } },
      ),
    );
    await pass(20_000);
    expect(condition(stage.server, 'ApiKey team-a/young', 'Ready')).toBe('True Ready');
    expect(
      stage.writes.filter(({ resource, name }) => resource === 'secrets' && name === 'young-api-key'),
    ).toHaveLength(1);
  });

  it('shares limits, name, metadata and rights between the keys', async () => {
    const { stage } = await running();
    const spec = { scopes: ['models.list'], defaults: { metadata: { team: 'a' } }, concurrency: { max_in_flight: 3 } };
    annotate(stage, 'now', spec);
    await pass(20_000);
    const alike = stage.gateways.flatMap(recordsAt).map(({ digest: _, slot: __, expires_at_ms: ___, ...rest }) => rest);
    expect(alike).toHaveLength(4);
    for (const record of alike) expect(record).toEqual(alike[0]);
    expect(alike[0]).toMatchObject({ name: 'app', scopes: ['models.list'], metadata: { team: 'a' } });
  });

  it('asked for during a transition ends the oldest key at once, and says so', async () => {
    const { stage } = await running();
    const witness = new Witness(stage);
    annotate(stage, 'one');
    await witness.until(2);
    await witness.pass(5 * MINUTE_MS, 5_000);
    annotate(stage, 'two');
    await witness.until(3);
    await witness.pass(10_000);
    const [oldest = '', former = ''] = witness.keys;
    for (const gateway of stage.gateways) {
      expect(works(gateway, oldest)).toBe(false);
      expect(works(gateway, former)).toBe(true);
    }
    expect(condition(stage.server, API_KEY, 'Warning')).toMatch(/^True TransitionCutShort: .*ended at 2026-01-01T/);
    await witness.pass(TRANSITION_MS, 5_000);
    expect(condition(stage.server, API_KEY, 'Warning')).toBe('absent');
  });

  it('waits for every replica, however long one lags', async () => {
    const { stage } = await running();
    const witness = new Witness(stage);
    const [slow] = stage.gateways;
    if (slow !== undefined) slow.refuses = 'its disk is full';
    annotate(stage, 'now');
    await witness.pass(2 * MINUTE_MS, 1_000);
    expect(witness.keys).toHaveLength(1);
    expect(valuesIn(stage)['next_api_key']).toBeDefined();
    if (slow !== undefined) slow.refuses = undefined;
    slow?.look();
    await witness.until(2);
  });

  it('waits where no replica is ready', async () => {
    const { stage } = await running();
    for (const gateway of [...stage.gateways]) stage.removeGateway(gateway);
    await pass(5_000);
    annotate(stage, 'now');
    await pass(5 * MINUTE_MS);
    expect(valuesIn(stage)['next_api_key']).toBeDefined();
    stage.addGateway();
    await pass(20_000);
    expect(valuesIn(stage)['next_api_key']).toBeUndefined();
    expect(valuesIn(stage)['rotated_at']).toBeDefined();
  });

  it('leaves a key alone that somebody brought, and says why', async () => {
    const { stage } = await running();
    const spec = { type: 'workspace-service', secret_name: 'own-key', rotation_policy: { rotation_period: 'weekly' } };
    stage.server.apply(custom('ApiKey', 'team-a/own', spec, { annotations: { 'modelgateway.dev/rotate': 'now' } }));
    const writes = stage.writes.length;
    await pass(10 * MINUTE_MS);
    expect(
      stage.writes.slice(writes).filter(({ resource, name }) => resource === 'secrets' && name === 'own-key'),
    ).toEqual([]);
    expect(condition(stage.server, 'ApiKey team-a/own', 'Warning')).toMatch(
      /^True KeyNotIssued: spec.rotation_policy, metadata.annotations.modelgateway.dev\/rotate: Secret team-a\/own-key was not made here/,
    );
    expect(condition(stage.server, 'ApiKey team-a/own', 'Ready')).toBe('True Ready');
  });
});

describe('a rotation by the calendar', () => {
  it('comes a week after the last one, and the status tells when', async () => {
    const { stage } = await running();
    const witness = new Witness(stage);
    const made = Date.now() - 7 * DAY_MS + 3 * MINUTE_MS;
    editSecret(stage, { created_at: new Date(made).toISOString() });
    stage.server.apply(
      custom('ApiKey', KEY, { type: 'workspace-service', rotation_policy: { rotation_period: 'weekly' } }),
    );
    await pass(10_000);
    expect(fieldsOf(stage)).toEqual({ next_rotation_at: new Date(made + 7 * DAY_MS).toISOString() });
    await pass(made + 7 * DAY_MS - Date.now() - MINUTE_MS);
    expect(witness.keys).toHaveLength(1);
    await witness.pass(2 * MINUTE_MS);
    expect(witness.keys).toHaveLength(2);
    const { rotated_at: rotatedAt = '', previous_expires_at: expiresAt } = valuesIn(stage);
    expect(Date.parse(rotatedAt) - made - 7 * DAY_MS).toBeLessThan(10_000);
    await witness.pass(10_000);
    expect(fieldsOf(stage)).toEqual({
      last_rotated_at: rotatedAt,
      next_rotation_at: new Date(Date.parse(rotatedAt) + 7 * DAY_MS).toISOString(),
      key_transition_expires_at: expiresAt,
    });
    await witness.pass(TRANSITION_MS, 5_000);
    expect(fieldsOf(stage)).not.toHaveProperty('key_transition_expires_at');
  });

  it('comes at the time that is named, once, where there is no period', async () => {
    const { stage } = await running();
    const witness = new Witness(stage);
    const policy = { next_rotation_at: '2026-01-01T00:20:00Z', key_transition_period_ms: 2 * TRANSITION_MS };
    stage.server.apply(custom('ApiKey', KEY, { type: 'workspace-service', rotation_policy: policy }));
    await pass(Date.parse('2026-01-01T00:19:59Z') - Date.now());
    expect(witness.keys).toHaveLength(1);
    await witness.until(2);
    const { previous_expires_at: end = '', rotated_at: at = '' } = valuesIn(stage);
    expect(Date.parse(end) - Date.parse(at)).toBe(2 * TRANSITION_MS);
    await witness.pass(2 * TRANSITION_MS + 5 * MINUTE_MS, 5_000);
    expect(witness.keys).toHaveLength(2);
    expect(fieldsOf(stage)).not.toHaveProperty('next_rotation_at');
  });

  it('is not begun for a key that will have ended by then', async () => {
    const { stage } = await running();
    const policy = { next_rotation_at: '2026-01-01T00:20:00Z' };
    stage.server.apply(
      custom('ApiKey', KEY, { type: 'workspace-service', rotation_policy: policy, expires_at: '2026-01-01T00:20:00Z' }),
    );
    await pass(30 * MINUTE_MS);
    expect(valuesIn(stage)).not.toHaveProperty('rotated_at');
    expect(fieldsOf(stage)).toEqual({ expires_at: '2026-01-01T00:20:00.000Z' });
  });
});

describe('a rotation on request', () => {
  it('answers the new key once callers can use it everywhere, with the time that was asked for', async () => {
    const { stage, run } = await running();
    const witness = new Witness(stage);
    const asked = run.operator()?.rotateNow('team-a', 'app', { transitionMs: 45 * MINUTE_MS });
    await witness.pass(10_000);
    const rotated = await asked;
    expect(rotated?.key).toBe(valuesIn(stage)['api_key']);
    expect(witness.keys).toHaveLength(2);
    const { rotated_at: at = '', previous_expires_at: end = '' } = valuesIn(stage);
    expect(rotated?.transitionExpiresAtMs).toBe(Date.parse(end));
    expect(Date.parse(end) - Date.parse(at)).toBe(45 * MINUTE_MS);
  });

  it('asked for twice at once is one rotation with one answer', async () => {
    const { stage, run } = await running();
    const witness = new Witness(stage);
    const asked = [run.operator()?.rotateNow('team-a', 'app'), run.operator()?.rotateNow('team-a', 'app')];
    await witness.pass(10_000);
    const [first, second] = await Promise.all(asked);
    expect(first).toEqual(second);
    expect(witness.keys).toHaveLength(2);
  });

  it('fails after 30 s where a replica does not take the key, and goes on all the same', async () => {
    const { stage, run } = await running();
    const witness = new Witness(stage);
    for (const gateway of stage.gateways) gateway.refuses = 'no';
    const asked = expect(run.operator()?.rotateNow('team-a', 'app')).rejects.toMatchObject({ reason: 'not_served' });
    await witness.pass(31_000);
    await asked;
    for (const gateway of stage.gateways) {
      gateway.refuses = undefined;
      gateway.look();
    }
    await witness.until(2);
  });

  it.each([
    ['a key that somebody brought', 'own', 'not_issued'],
    ['a key that is not there', 'nobody', 'not_issued'],
  ])('fails at once for %s', async (_, name, reason) => {
    const { run } = await running();
    await expect(run.operator()?.rotateNow('team-a', name)).rejects.toMatchObject({ reason });
  });

  it('fails at an operator that does not lead', async () => {
    const { stage } = await running();
    const second = stage.start();
    await pass(5_000);
    await expect(second.operator()?.rotateNow('team-a', 'app')).rejects.toMatchObject({ reason: 'not_leading' });
  });
});

describe('a Secret that somebody edits', () => {
  it.each<[string, Readonly<Record<string, string>>]>([
    ['the next key is taken away', { next_api_key: '' }],
    ['the next key is replaced by one of another', { next_api_key: 'mgw_short' }],
    ['the next key is garbage', { next_api_key: 'with blanks in it, and more' }],
    ['a field of their own is added', { note: 'hands off' }],
    ['all times are garbage', { created_at: 'soon', rotated_at: 'later', next_transition_ms: '-1' }],
  ])('while a rotation waits: %s', async (_, changes) => {
    const { stage } = await running();
    const witness = new Witness(stage);
    for (const gateway of stage.gateways) gateway.refuses = 'not now';
    annotate(stage, 'now');
    await witness.pass(5_000);
    editSecret(stage, changes);
    await witness.pass(5_000);
    for (const gateway of stage.gateways) {
      gateway.refuses = undefined;
      gateway.look();
    }
    await witness.until(2);
    await witness.pass(10_000);
    expect(witness.keys[1]).toMatch(/^mgw_[0-9A-Za-z]{49}$/);
    expect(valuesIn(stage)).not.toHaveProperty('next_api_key');
    expect(valuesIn(stage)['note']).toBe(changes['note']);
    expect(condition(stage.server, API_KEY, 'Ready')).toBe('True Ready');
    expect(stage.defects).toEqual([]);
  });

  it('by a key of their own is served, and rotated like any', async () => {
    const { stage } = await running();
    editSecret(stage, { api_key: 'a-key-that-they-chose' });
    await pass(10_000);
    const witness = new Witness(stage);
    expect(witness.keys).toEqual(['a-key-that-they-chose']);
    annotate(stage, 'now');
    await witness.until(2);
    await witness.pass(TRANSITION_MS + MINUTE_MS, 5_000);
  });

  it('by a key that no gateway knows yet makes a gap, which the witness of these tests would see', async () => {
    const { stage } = await running();
    const witness = new Witness(stage);
    editSecret(stage, { api_key: 'a-key-that-they-chose' });
    await pass(10_000);
    expect(witness.gaps).toEqual([0, 1].map((n) => expect.stringContaining(`gateway-${n} refuses the present key`)));
  });

  it('and takes the former key out of ends it there and then', async () => {
    const { stage } = await running();
    const { api_key: former = '' } = valuesIn(stage);
    annotate(stage, 'now');
    await pass(20_000);
    editSecret(stage, { previous_api_key_sha256: '' });
    await pass(5_000);
    for (const gateway of stage.gateways) expect(works(gateway, former)).toBe(false);
    expect(condition(stage.server, API_KEY, 'Ready')).toBe('True Ready');
  });

  it('and deletes it gets a new key, which starts anew', async () => {
    const { stage } = await running();
    annotate(stage, 'now');
    await pass(20_000);
    const { api_key: former } = valuesIn(stage);
    stage.server.delete({ apiVersion: 'v1', kind: 'Secret', plural: 'secrets' }, 'team-a', 'app-api-key');
    await pass(20_000);
    const values = valuesIn(stage);
    expect(values['api_key']).not.toBe(former);
    expect(Object.keys(values).sort()).toEqual(['api_key', 'created_at', 'rotation_word']);
    expect(condition(stage.server, API_KEY, 'Ready')).toBe('True Ready');
  });
});
