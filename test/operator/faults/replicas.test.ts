/** What statuses say of the gateways, and that gateways which come and go are no news. */
import { describe, expect, it } from 'vitest';
import { pass } from '../../crds/api/virtual-time.ts';
import { condition, published, statusesIn } from './outcome.ts';
import { running } from './running.ts';
import { type Stage, useStages } from './stage.ts';
import { config } from './workload.ts';

useStages();

const CHAT = 'GatewayConfig team-a/chat';
const NEWS = 'GatewayConfig team-a/news';

function programmed({ server }: Stage, object = CHAT): string {
  return condition(server, object, 'Programmed');
}

function statusWrites({ writes }: Stage): number {
  return writes.filter(({ subresource }) => subresource === 'status').length;
}

function addNews({ server }: Stage): void {
  server.apply(config('team-a/news', { provider: 'simulator' }));
}

describe('Programmed', () => {
  it.each([1, 3, 40])('says of how many replicas an object is served: %i', async (gateways) => {
    const { stage } = await running({ gateways });
    const noun = gateways === 1 ? 'replica' : 'replicas';
    expect(programmed(stage)).toBe(`True Programmed: served by ${gateways} of ${gateways} ${noun}`);
  });

  it('waits for a replica that is behind, and says so', async () => {
    const { stage } = await running({ gateways: 3 });
    const [slow] = stage.gateways;
    if (slow === undefined) throw new Error('there is no gateway');
    slow.isDeaf = true;
    addNews(stage);
    await pass(5_000);
    expect(programmed(stage, NEWS)).toBe('False Pending: 2 of 3 replicas serve it');
    expect(programmed(stage)).toBe('True Programmed: served by 3 of 3 replicas');
    slow.isDeaf = false;
    await pass(2_000);
    expect(programmed(stage, NEWS)).toBe('True Programmed: served by 3 of 3 replicas');
  });

  it('says which replica refuses, and why, until it does no more', async () => {
    const { stage } = await running({ gateways: 3 });
    const [, odd] = stage.gateways;
    if (odd === undefined) throw new Error('there is no gateway');
    odd.refuses = 'unknown format 2';
    addNews(stage);
    await pass(5_000);
    expect(programmed(stage, NEWS)).toBe('False RefusedByGateway: gateway-1: unknown format 2');
    expect(condition(stage.server, NEWS, 'Ready')).toMatch(/^False NotReady/);
    expect(programmed(stage)).toBe('True Programmed: served by 3 of 3 replicas');
    odd.refuses = undefined;
    odd.look();
    await pass(15_000);
    expect(programmed(stage, NEWS)).toBe('True Programmed: served by 3 of 3 replicas');
    expect(condition(stage.server, NEWS, 'Ready')).toBe('True Ready');
  });

  it('is not there where no gateway is, and comes with the first one', async () => {
    const { stage } = await running({ gateways: 0 });
    expect(programmed(stage)).toBe('Unknown Pending: no gateway replica is ready');
    stage.addGateway();
    await pass(5_000);
    expect(programmed(stage)).toBe('True Programmed: served by 1 of 1 replica');
  });
});

describe('a replica', () => {
  it('that comes, goes, dies or comes back changes no status', async () => {
    const { stage } = await running({ gateways: 2 });
    const [statuses, writes] = [statusesIn(stage.server), stage.writes.length];
    const late = stage.addGateway();
    await pass(20_000);
    stage.removeGateway(late);
    await pass(20_000);
    for (const gateway of [...stage.gateways]) stage.removeGateway(gateway);
    await pass(60_000);
    stage.addGateway();
    await pass(5_000);
    stage.addGateway().isDeaf = true;
    await pass(60_000);
    expect(statusesIn(stage.server)).toEqual(statuses);
    expect(stage.writes.slice(writes)).toEqual([]);
  });

  it('that comes while something new is served changes the status of that alone', async () => {
    const { stage } = await running({ gateways: 2 });
    const others = statusesIn(stage.server);
    const late = stage.addGateway();
    late.isDeaf = true;
    addNews(stage);
    await pass(5_000);
    expect(programmed(stage, NEWS)).toBe('False Pending: 2 of 3 replicas serve it');
    stage.removeGateway(late);
    await pass(5_000);
    expect(programmed(stage, NEWS)).toBe('True Programmed: served by 2 of 2 replicas');
    const { [NEWS]: _, ...rest } = statusesIn(stage.server);
    expect(rest).toEqual(others);
  });

  it('that flaps for an hour costs nothing', async () => {
    const { stage } = await running({ gateways: 2 });
    const writes = statusWrites(stage);
    for (let n = 0; n < 60; n++) {
      const gateway = stage.addGateway();
      gateway.isDeaf = n % 2 === 0;
      await pass(30_000);
      stage.removeGateway(gateway);
      await pass(30_000);
    }
    expect(statusWrites(stage)).toBe(writes);
  });
});

describe('a new publication', () => {
  it('changes the status of what it brings alone, and each status goes to True by one write', async () => {
    const { stage } = await running({ gateways: 2 });
    for (let n = 0; n < 10; n++) {
      const writes = stage.writes.length;
      stage.server.apply(config('team-a/news', { provider: 'simulator', override_params: { n } }));
      await pass(3_000);
      const written = stage.writes.slice(writes).filter(({ subresource }) => subresource === 'status');
      expect(written.map(({ name }) => name)).toEqual(['news']);
    }
    expect(published(stage.server).generation).toBeGreaterThan(10);
  });
});
