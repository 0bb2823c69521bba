/** `kubectl wait --for=condition=Programmed` returns when every replica behaves so: not sooner, and then it does. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { cluster } from '../cluster/cluster.ts';
import { describeCluster } from '../cluster/describe-cluster.ts';
import { waitFor } from '../fakes/wait-for.ts';
import { at } from '../helm/manifest.ts';
import { PATIENCE_MS, type Stage, startStage } from './stage.ts';
import { apiKey, chat, refusedChat } from './world.ts';

const CHAT = 'gatewayconfig/chat';
const LAST = 2;

describeCluster('Programmed, of a real operator and three real gateways', () => {
  let stage: Stage;
  let key = '';

  beforeAll(async () => {
    stage = await startStage(cluster());
    await stage.apply(apiKey('caller'));
    key = await stage.keyOf('caller');
  }, 120_000);
  afterAll(() => stage?.stop());

  const everywhere = (word: string) => stage.gateways.map(() => word);

  async function recreate(word: string): Promise<void> {
    await stage.delete(CHAT);
    await stage.apply(chat(word));
  }

  const CHANGES: readonly (readonly [string, (word: string) => Promise<void>])[] = [
    ['created', (word) => stage.apply(chat(word))],
    ['updated', (word) => stage.apply(chat(word))],
    ['deleted and created anew', recreate],
  ];

  it('a key is served by every replica as soon as it is programmed', async () => {
    // There is no config: it is known all the same.
    for (const { status } of await Promise.all(stage.gateways.map((gateway) => gateway.ask(key)))) {
      expect(status).not.toBe(401);
    }
  });

  describe.each(CHANGES)('an object that is %s', { timeout: 90_000 }, (title, change) => {
    const word = `${title} while one is held`;

    it('is not programmed while one replica lacks it, and answered by all once it is', async () => {
      const { process } = stage.gateway(LAST);
      process.signal('SIGSTOP');
      try {
        await change(word);
        const others = stage.gateways.slice(0, LAST);
        const isServed = async () =>
          (await Promise.all(others.map((gateway) => gateway.ask(key)))).every((asked) => asked.word === word);
        await waitFor(isServed, 'the others to serve it', PATIENCE_MS);
        await expect(stage.wait(CHAT, 'Programmed', 2)).rejects.toThrow(/timed out/);
        expect(await stage.condition(CHAT, 'Programmed')).toMatchObject({
          status: 'False',
          reason: 'Pending',
          message: '2 of 3 replicas serve it',
        });
      } finally {
        process.signal('SIGCONT');
      }
      await stage.wait(CHAT);
      expect(await stage.words(key)).toEqual(everywhere(word));
    });

    it('is answered by all at the moment when it is programmed, each time', async () => {
      for (let round = 1; round <= 5; round += 1) {
        if (title === 'created') await stage.delete(CHAT);
        await change(`${title} ${round}`);
        await stage.wait(CHAT);
        expect(await stage.words(key)).toEqual(everywhere(`${title} ${round}`));
      }
    });
  });

  it('an object that is refused is never programmed, what it said before is served, and its repair is', async () => {
    await stage.apply(chat('before'));
    await stage.wait(CHAT);
    await stage.apply(refusedChat());
    await stage.wait(CHAT, 'Accepted=false');
    await expect(stage.wait(CHAT, 'Programmed', 2)).rejects.toThrow(/timed out/);
    const generation = at<number>(await stage.read(CHAT), 'metadata.generation');
    expect(await stage.condition(CHAT, 'Programmed')).toMatchObject({
      status: 'False',
      reason: 'LastGoodServed',
      observedGeneration: generation,
    });
    expect(await stage.words(key)).toEqual(everywhere('before'));
    await stage.apply(chat('repaired'));
    await stage.wait(CHAT);
    expect(await stage.words(key)).toEqual(everywhere('repaired'));
  }, 90_000);

  it('an object that was never accepted is never programmed', async () => {
    await stage.delete(CHAT);
    await stage.apply(refusedChat());
    await stage.wait(CHAT, 'Accepted=false');
    await expect(stage.wait(CHAT, 'Programmed', 2)).rejects.toThrow(/timed out/);
    expect(await stage.condition(CHAT, 'Programmed')).toMatchObject({ status: 'False', reason: 'NotAccepted' });
  }, 60_000);
}, ['helm', 'address']);
