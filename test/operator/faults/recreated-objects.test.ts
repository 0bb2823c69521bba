/** O3: an object is deleted and made anew under its name while nobody sees it. */
import { describe, expect, it } from 'vitest';
import { type ApiObject, SECRETS } from '#crds/api/api-object.ts';
import { pass } from '../../crds/api/virtual-time.ts';
import { condition, dataOf, digestOf, objectIn, published, resourceOf } from './outcome.ts';
import { running } from './running.ts';
import { type Stage, useStages } from './stage.ts';
import { apiKey, config, secret } from './workload.ts';

useStages();

/** With no watch and no request in between. */
async function recreated(stage: Stage, object: ApiObject): Promise<void> {
  const resource = object.kind === 'Secret' ? SECRETS : resourceOf(object.kind);
  const { namespace, name } = object.metadata;
  stage.server.outage('refuse');
  await pass(1_000);
  stage.server.delete(resource, namespace, name);
  stage.server.apply(object);
  await pass(1_000);
  stage.server.recover();
}

function keysOf(stage: Stage): Readonly<Record<string, string>> {
  const { keys } = published(stage.server).snapshot;
  return Object.fromEntries(keys.map(({ namespace, name, digest }) => [`${namespace}/${name}`, digest]));
}

function keyIn(stage: Stage): string {
  const stored = dataOf(stage.server.find(SECRETS, 'team-a', 'app-api-key'))['api_key'] ?? '';
  return Buffer.from(stored, 'base64').toString();
}

describe('O3: an object made anew', () => {
  it('is not served as its namesake was, if it is refused', async () => {
    const { stage } = await running();
    await recreated(stage, config('team-a/chat', { provider: 'nobody' }));
    await pass(20_000);
    expect(condition(stage.server, 'GatewayConfig team-a/chat', 'Accepted')).toMatch(/^False InvalidSpec/);
    expect(condition(stage.server, 'GatewayConfig team-a/chat', 'Programmed')).toBe('False NotAccepted');
    const { configs, refused } = published(stage.server).snapshot;
    expect(configs.some(({ namespace, name }) => `${namespace}/${name}` === 'team-a/chat')).toBe(false);
    expect(refused).toMatchObject([{ kind: 'GatewayConfig', namespace: 'team-a', name: 'chat' }]);
  });

  it('has a status of its own, even where it says what its namesake said', async () => {
    const { stage } = await running();
    await recreated(stage, config('team-a/chat', { provider: '@openai' }));
    await pass(20_000);
    expect(condition(stage.server, 'GatewayConfig team-a/chat', 'Ready')).toBe('True Ready');
    const { uid } = objectIn(stage.server, 'GatewayConfig team-a/chat').metadata;
    const status = stage.writes.findLast(({ name, subresource }) => name === 'chat' && subresource === 'status');
    expect(status?.after?.metadata.uid).toBe(uid);
  });

  it('is an ApiKey with a new key, and the old one is gone', async () => {
    const { stage } = await running();
    const before = keyIn(stage);
    await recreated(stage, apiKey('team-a/app'));
    await pass(20_000);
    expect(keyIn(stage)).not.toBe(before);
    expect(keysOf(stage)['team-a/app']).toBe(digestOf(keyIn(stage)));
    expect(Object.values(keysOf(stage))).not.toContain(digestOf(before));
    expect(condition(stage.server, 'ApiKey team-a/app', 'Ready')).toBe('True Ready');
  });

  it('is an ApiKey that the key of its namesake does not open, however long that Secret stays', async () => {
    const { stage } = await running({ collectsAfterMs: 60_000 });
    const before = keyIn(stage);
    await recreated(stage, apiKey('team-a/app'));
    await pass(10_000);
    expect(keyIn(stage)).toBe(before);
    expect(keysOf(stage)['team-a/app']).toBeUndefined();
    expect(condition(stage.server, 'ApiKey team-a/app', 'ResolvedRefs')).toMatch(/^False SecretPending/);
    await pass(80_000);
    expect(keyIn(stage)).not.toBe(before);
    expect(keysOf(stage)['team-a/app']).toBe(digestOf(keyIn(stage)));
  });

  it('is a Secret whose former value is used no more, even where the new one cannot be read for now', async () => {
    const { stage } = await running();
    const broken = stage.server.faults.onRequest({ method: 'GET', path: /team-a\/secrets\/vendor$/ }, { status: 500 });
    await recreated(stage, secret('team-a/vendor', { api_key: 'sk-anew' }));
    await pass(10_000);
    expect(JSON.stringify(published(stage.server).snapshot.credentials)).not.toContain('sk-of-team-a');
    broken.remove();
    await pass(5_000);
    expect(JSON.stringify(published(stage.server).snapshot.credentials)).toContain('sk-anew');
  });

  it('is a Secret whose former value is used no more', async () => {
    const { stage } = await running();
    await recreated(stage, secret('team-a/vendor', { other: 'sk-elsewhere' }));
    await pass(10_000);
    expect(JSON.stringify(published(stage.server).snapshot.credentials)).not.toContain('sk-of-team-a');
    expect(condition(stage.server, 'Integration team-a/openai', 'ResolvedRefs')).toMatch(/^False SecretKeyMissing/);
  });
});
