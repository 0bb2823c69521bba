/** O2: the API server tells of a world that is older than one that was seen. */
import { describe, expect, it } from 'vitest';
import { SECRETS } from '#crds/api/api-object.ts';
import { pass } from '../../crds/api/virtual-time.ts';
import { condition, objectIn, published, RESOURCES, resourceOf } from './outcome.ts';
import { openStage, type Stage, useStages } from './stage.ts';
import { BEGINNING, config } from './workload.ts';

useStages();

const HOLD = 'example.com/hold';

/** Gives back the version at which `late` was not there yet, and `chat` was about to be deleted. */
async function grow(stage: Stage): Promise<number> {
  stage.start();
  stage.server.apply(BEGINNING);
  const chat = resourceOf('GatewayConfig');
  stage.server.patch(chat, 'team-a', 'chat', { metadata: { finalizers: [HOLD] } });
  stage.server.delete(chat, 'team-a', 'chat');
  await stage.settle();
  const { version } = stage.server;
  stage.server.patch(chat, 'team-a', 'chat', { metadata: { finalizers: null } });
  stage.server.apply([
    config('team-a/chat', { provider: '@openai', override_params: { model: 'anew' } }),
    config('team-a/late', { provider: '@openai' }),
  ]);
  await stage.settle();
  expect(names(stage)).toEqual(['chat', 'chat', 'dangling', 'late', 'spare']);
  return version;
}

function names(stage: Stage): string[] {
  return published(stage.server)
    .snapshot.configs.map(({ name }) => name)
    .sort();
}

describe('O2: an older world', () => {
  it.each([
    ['all that it lists', undefined],
    ['its lists of our kinds', RESOURCES],
    ['its lists of our kinds and Secrets', [...RESOURCES, SECRETS]],
  ])('at a restart takes nothing away, and is written to by nobody: %s', async (_, olderKinds) => {
    const stage = openStage();
    const version = await grow(stage);
    const before = { outcome: stage.outcome, hash: published(stage.server).hash, uid: uidOfChat(stage) };
    // The published snapshot is read before the objects that it was made of.
    stage.server.latencyMs = 100;
    const next = stage.start();
    await pass(150);
    stage.server.restart({ olderWorld: version, ...(olderKinds === undefined ? {} : { olderKinds }) });
    const writes = stage.writes.length;
    await pass(120_000);
    expect(stage.writes.slice(writes)).toEqual([]);
    expect(next.operator()).toBeUndefined();
    expect(next.faults.map((error) => (error as { reason?: string }).reason)).toContain('OlderList');
    expect([stage.outcome, published(stage.server).hash]).toEqual([before.outcome, before.hash]);
    stage.server.catchUp();
    stage.server.apply(config('team-a/latest', { provider: 'simulator' }));
    await pass(60_000);
    expect(next.operator()).toBeDefined();
    expect(names(stage)).toEqual(['chat', 'chat', 'dangling', 'late', 'latest', 'spare']);
    expect(uidOfChat(stage)).toBe(before.uid);
  });

  it('while an operator runs takes nothing away', async () => {
    const stage = openStage();
    const version = await grow(stage);
    const { outcome } = stage;
    stage.server.restart({ olderWorld: version, olderKinds: [...RESOURCES, SECRETS] });
    stage.server.compact();
    const writes = stage.writes.length;
    await pass(300_000);
    expect([stage.outcome, stage.writes.length]).toEqual([outcome, writes]);
    stage.server.catchUp();
    stage.server.apply(config('team-a/latest', { provider: 'simulator' }));
    await pass(60_000);
    expect(names(stage)).toContain('latest');
    expect(condition(stage.server, 'GatewayConfig team-a/latest', 'Ready')).toBe('True Ready');
  });
});

function uidOfChat({ server }: Stage): string | undefined {
  return objectIn(server, 'GatewayConfig team-a/chat').metadata.uid;
}
