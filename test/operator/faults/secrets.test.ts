/** O16: Secrets that are rotated, deleted, or cannot be read; and keys that are to work no more. */
import { describe, expect, it } from 'vitest';
import { SECRETS } from '#crds/api/api-object.ts';
import { pass } from '../../crds/api/virtual-time.ts';
import type { RequestFault } from '../../fakes/api-server/request-faults.ts';
import { condition, dataOf, digestOf, published, resourceOf } from './outcome.ts';
import { running } from './running.ts';
import { openStage, type Stage, useStages } from './stage.ts';
import { apiKey, BEGINNING, integration, secret } from './workload.ts';

useStages();

const SOON_MS = 5_000;
const OPENAI = 'Integration team-a/openai';
const READ_VENDOR = { method: 'GET', path: /team-a\/secrets\/vendor$/ } as const;

/** What every gateway would send to the provider; undefined: nothing. */
function credential(stage: Stage): unknown {
  const served = stage.gateways.map(({ served: snapshot }) => {
    const found = snapshot?.snapshot.credentials.find(
      ({ namespace, name }) => `${namespace}/${name}` === 'team-a/openai',
    );
    return found?.fields['api_key'];
  });
  expect(new Set(served).size).toBe(1);
  return served[0];
}

function rotate({ server }: Stage, value: string): void {
  server.apply(secret('team-a/vendor', { api_key: value }));
}

describe('O16: the Secret of a credential', () => {
  it('that is rotated is used within 5 s, each time', async () => {
    const { stage } = await running();
    for (const value of ['sk-1', 'sk-2', 'sk-3']) {
      rotate(stage, value);
      await pass(SOON_MS);
      expect(credential(stage)).toBe(value);
      expect(condition(stage.server, OPENAI, 'Ready')).toBe('True Ready');
    }
  });

  it('that is deleted is used no more, which the object says, and again once it is there', async () => {
    const { stage } = await running();
    stage.server.delete(SECRETS, 'team-a', 'vendor');
    await pass(SOON_MS);
    expect(credential(stage)).toBeUndefined();
    expect(condition(stage.server, OPENAI, 'ResolvedRefs')).toMatch(
      /^False SecretNotFound: .*team-a\/vendor does not exist/,
    );
    expect(condition(stage.server, OPENAI, 'Ready')).toMatch(/^False NotReady/);
    expect(published(stage.server).snapshot.integrations).toContainEqual(
      expect.objectContaining({ namespace: 'team-a', name: 'openai', credential_fields: ['api_key'] }),
    );
    rotate(stage, 'sk-again');
    await pass(SOON_MS);
    expect(credential(stage)).toBe('sk-again');
    expect(condition(stage.server, OPENAI, 'Ready')).toBe('True Ready');
  });

  it('that is about to be deleted, and waits for a finalizer, is used no more', async () => {
    const { stage } = await running();
    stage.server.patch(SECRETS, 'team-a', 'vendor', { metadata: { finalizers: ['example.com/hold'] } });
    await pass(1_000);
    expect(credential(stage)).toBe('sk-of-team-a');
    stage.server.delete(SECRETS, 'team-a', 'vendor');
    await pass(SOON_MS);
    expect(credential(stage)).toBeUndefined();
  });

  it('that may not be read any more is used no more, and again as soon as it may', async () => {
    const { stage, run } = await running();
    const forbidden = stage.server.faults.onRequest(READ_VENDOR, { status: 403 });
    rotate(stage, 'sk-secret');
    await pass(SOON_MS);
    expect(credential(stage)).toBeUndefined();
    expect(condition(stage.server, OPENAI, 'ResolvedRefs')).toMatch(/^False SecretRefused/);
    expect(run.faults.length).toBeGreaterThan(0);
    forbidden.remove();
    await pass(SOON_MS);
    expect(credential(stage)).toBe('sk-secret');
    expect(condition(stage.server, OPENAI, 'Ready')).toBe('True Ready');
  });

  it.each<[string, RequestFault]>([
    ['500', { status: 500 }],
    ['429', { status: 429, retryAfterSeconds: 1 }],
    ['no connection', 'refuse'],
  ])('that cannot be read for now is used as it was, and then as it is: %s', async (_, fault) => {
    const { stage } = await running();
    const broken = stage.server.faults.onRequest(READ_VENDOR, fault);
    rotate(stage, 'sk-late');
    await pass(60_000);
    expect(credential(stage)).toBe('sk-of-team-a');
    broken.remove();
    await pass(SOON_MS);
    expect(credential(stage)).toBe('sk-late');
  });

  it('that is waited for in vain holds the others up no longer than one answer may take', async () => {
    const { stage } = await running();
    stage.server.faults.onRequest(READ_VENDOR, 'hang');
    rotate(stage, 'sk-late');
    await pass(1_000);
    stage.server.apply([secret('team-b/other', { api_key: 'sk-b' }), integration('team-b/own', 'other')]);
    await pass(14_000);
    expect(condition(stage.server, 'Integration team-b/own', 'Ready')).toBe('True Ready');
  });

  it('that is deleted while it cannot be read is used no more', async () => {
    const { stage } = await running();
    stage.server.faults.onRequest(READ_VENDOR, { status: 500 });
    rotate(stage, 'sk-late');
    await pass(2_000);
    stage.server.delete(SECRETS, 'team-a', 'vendor');
    await pass(SOON_MS);
    expect(credential(stage)).toBeUndefined();
  });

  it('is read by name alone: of others nothing but the metadata is asked for', async () => {
    const stage = openStage();
    const run = stage.start();
    const lists: string[] = [];
    const send = run.transport.send.bind(run.transport);
    run.transport.send = (request) => {
      const isOfOurs = /labelSelector=modelgateway/.test(request.path);
      if (/^\/api\/v1\/secrets\?/.test(request.path) && !isOfOurs) lists.push(request.accept ?? '');
      return send(request);
    };
    stage.server.apply(BEGINNING);
    await stage.settle();
    stage.server.restart();
    await pass(60_000);
    expect(lists.length).toBeGreaterThan(1);
    expect(lists.filter((accept) => !accept.includes('PartialObjectMetadata'))).toEqual([]);
    stage.server.apply(secret('team-a/private', { password: 'nobody-asked-for-it' }));
    await pass(SOON_MS);
    const read = stage.server.requests.filter(({ verb, resource }) => verb === 'get' && resource === 'secrets');
    expect(new Set(read.map(({ namespace, name }) => `${namespace}/${name}`))).toEqual(
      new Set(['team-a/vendor', 'team-a/own-key', 'model-gateway/vendor']),
    );
  });
});

describe('O16: a gateway key', () => {
  const key = (stage: Stage, name: string) =>
    stage.gateways.map(({ served }) =>
      served?.snapshot.keys.filter((one) => `${one.namespace}/${one.name}` === name).map(({ disabled }) => disabled),
    );

  it('of an ApiKey that is deleted is on no gateway any more', async () => {
    const { stage } = await running();
    expect(key(stage, 'team-a/own')).toEqual([[false], [false]]);
    stage.server.delete(resourceOf('ApiKey'), 'team-a', 'own');
    await pass(1_000);
    expect(key(stage, 'team-a/own')).toEqual([[], []]);
    expect(JSON.stringify(published(stage.server).snapshot)).not.toContain(digestOf('a-key-that-the-user-brought'));
    stage.server.delete(resourceOf('ApiKey'), 'team-a', 'app');
    await pass(1_000);
    expect(key(stage, 'team-a/app')).toEqual([[], []]);
    expect(stage.server.get(SECRETS, 'team-a', 'app-api-key')).toBeUndefined();
  });

  it('of an ApiKey that is disabled works on no gateway, and works again', async () => {
    const { stage } = await running();
    stage.server.apply(apiKey('team-a/own', { secret_name: 'own-key', disabled: true }));
    await pass(1_000);
    expect(key(stage, 'team-a/own')).toEqual([[true], [true]]);
    stage.server.apply(apiKey('team-a/own', { secret_name: 'own-key' }));
    await pass(1_000);
    expect(key(stage, 'team-a/own')).toEqual([[false], [false]]);
  });

  it('works no more where its Secret is gone or may not be read', async () => {
    const { stage } = await running();
    stage.server.faults.onRequest({ method: 'GET', path: /team-a\/secrets\/own-key$/ }, { status: 403 });
    stage.server.apply(secret('team-a/own-key', { api_key: 'another-key-of-the-user' }));
    await pass(SOON_MS);
    expect(key(stage, 'team-a/own')).toEqual([[], []]);
    expect(condition(stage.server, 'ApiKey team-a/own', 'ResolvedRefs')).toMatch(/^False SecretRefused/);
  });

  it('is never given out before its Secret is stored', async () => {
    const stage = openStage();
    stage.start();
    await pass(2_000);
    const torn: string[] = [];
    stage.server.onWrite(() => {
      for (const { name, digest } of stage.gateways.flatMap(({ served }) => served?.snapshot.keys ?? [])) {
        const { api_key: stored = '' } = dataOf(stage.server.get(SECRETS, 'team-a', `${name}-api-key`));
        if (digestOf(Buffer.from(stored, 'base64').toString()) !== digest) torn.push(name);
      }
    });
    stage.server.faults.onRequest({ method: 'POST', path: /team-a\/secrets/, nth: 2, times: 3 }, { status: 500 });
    stage.server.apply(Array.from({ length: 8 }, (_, n) => apiKey(`team-a/k${n}`)));
    await pass(20_000);
    expect(torn).toEqual([]);
    expect(published(stage.server).snapshot.keys).toHaveLength(8);
  });
});
