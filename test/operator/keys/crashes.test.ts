/** A rotation whose operator dies after any of its writes, never learns that one was done, or is one of two. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { SECRETS } from '#crds/api/api-object.ts';
import { pass } from '../../crds/api/virtual-time.ts';
import { condition, digestOf } from '../faults/outcome.ts';
import { type OperatorRun, openStage, type Stage, type StageOptions, useStages } from '../faults/stage.ts';
import { BEGINNING } from '../faults/workload.ts';
import { annotate, KEY, MINUTE_MS, recordsAt, TRANSITION_MS, valuesIn, Witness, works } from './witness.ts';

useStages();

/** A new process is ready, waits for the Lease of the dead one, and catches up. */
const RECOVERY_MS = 22_000;

interface Scene {
  readonly stage: Stage;
  readonly run: OperatorRun;
  readonly witness: Witness;
}

async function begin(options: StageOptions = {}): Promise<Scene> {
  const stage = openStage({ gateways: 3, ...options });
  const run = stage.start();
  stage.server.apply(BEGINNING);
  await stage.settle();
  return { stage, run, witness: new Witness(stage) };
}

/** From the annotation to the end of the transition. Ends processes after so many of their own writes. */
async function rotate({ stage, run: first, witness }: Scene, deaths: readonly number[]): Promise<number> {
  let [run, died, isDead] = [first, 0, false];
  let from = stage.server.writes({ who: run.identity }).length;
  stage.server.onWrite(({ who }) => {
    const count = stage.server.writes({ who: run.identity }).length - from;
    if (isDead || who !== run.identity || count !== deaths[died]) return;
    isDead = true;
    run.crash();
  });
  const watch = async (ms: number, stepMs: number) => {
    await witness.pass(ms, stepMs);
    while (isDead) {
      [run, died, isDead, from] = [stage.start(), died + 1, false, 0];
      await witness.pass(RECOVERY_MS, 1_000);
    }
  };
  annotate(stage, 'now');
  await watch(4_000, 250);
  await watch(10_000, 1_000);
  await watch(TRANSITION_MS, 60_000);
  await watch(MINUTE_MS, 5_000);
  return died;
}

/** What a rotation that went well leaves behind. */
function expectEnd({ stage, witness }: Scene): void {
  expect(witness.keys).toHaveLength(2);
  const [former = '', present = ''] = witness.keys;
  expect(valuesIn(stage)).toMatchObject({ api_key: present });
  expect(Object.keys(valuesIn(stage)).sort()).toEqual(['api_key', 'created_at', 'rotated_at', 'rotation_word']);
  for (const gateway of stage.gateways) {
    expect(works(gateway, former)).toBe(false);
    expect(recordsAt(gateway).map(({ digest }) => digest)).toEqual([digestOf(present)]);
  }
  expect(condition(stage.server, `ApiKey ${KEY}`, 'Ready')).toBe('True Ready');
}

describe('a rotation', () => {
  it('comes to the same end after a crash after any of its writes, without a gap', async () => {
    const whole = await begin();
    const before = whole.stage.server.writes({ who: whole.run.identity }).length;
    await rotate(whole, []);
    expectEnd(whole);
    const written = whole.stage.server.writes({ who: whole.run.identity }).slice(before);
    await whole.stage.close();
    const isOfRotation = ({ resource }: { readonly resource: string }) => resource !== 'leases';
    const numbers = written.flatMap((write, at) => (isOfRotation(write) ? [at + 1] : []));
    // Three of the Secret, and each published by shard and index.
    expect(numbers.length).toBeGreaterThanOrEqual(9);
    for (const number of numbers) {
      const scene = await begin();
      const died = await rotate(scene, [number]);
      if (number < (numbers.at(-1) ?? 0)) expect(died, `write ${number}`).toBeGreaterThan(0);
      expectEnd(scene);
      await scene.stage.close();
    }
  });

  it('comes to the same end after several crashes, with writes under way', async () => {
    const deaths = fc.array(fc.integer({ min: 1, max: 12 }), { minLength: 2, maxLength: 4 });
    await fc.assert(
      fc.asyncProperty(deaths, fc.constantFrom(0, 3, 40), async (numbers, latencyMs) => {
        const scene = await begin({ latencyMs });
        await rotate(scene, numbers);
        expectEnd(scene);
        await scene.stage.close();
      }),
      { numRuns: 8 },
    );
  });

  it.each([1, 2, 3])('whose %i. answer about the Secret is lost is one rotation all the same', async (nth) => {
    const scene = await begin();
    const lost = scene.stage.server.faults.onRequest(
      { who: scene.run.identity, method: 'PATCH', path: /secrets\/app-api-key/, nth, times: 1 },
      { cutAfterBytes: 0 },
    );
    await rotate(scene, []);
    expect(lost.hits).toBe(1);
    expectEnd(scene);
  });

  it.each([409, 500, 403])('whose writes are answered by %i for a while is done later', async (status) => {
    const scene = await begin();
    const refused = scene.stage.server.faults.onRequest({ method: 'PATCH', path: /secrets\/app-api-key/ }, { status });
    annotate(scene.stage, 'now');
    await scene.witness.pass(MINUTE_MS, 1_000);
    expect(scene.witness.keys).toHaveLength(1);
    // It is tried again, and not all the time.
    expect(refused.hits).toBeGreaterThan(3);
    expect(refused.hits).toBeLessThan(30);
    expect(scene.run.faults.map(({ message }) => message).join()).toContain('ApiKey team-a/app: rotation:');
    refused.remove();
    await scene.witness.until(2);
    await scene.witness.pass(TRANSITION_MS + MINUTE_MS, 60_000);
    expectEnd(scene);
  });

  it('is done once by two operators, and taken over where the leader stands still in the middle', async () => {
    const scene = await begin();
    const { stage, run, witness } = scene;
    const second = stage.start();
    await witness.pass(5_000, 1_000);
    for (const gateway of stage.gateways) gateway.refuses = 'not yet';
    annotate(stage, 'now');
    await witness.pass(5_000, 1_000);
    const cut = stage.server.faults.onRequest({ who: run.identity }, 'hang');
    await witness.pass(40_000, 1_000);
    expect([run.isLeader(), second.isLeader()]).toEqual([false, true]);
    const { next_api_key: next } = valuesIn(stage);
    for (const gateway of stage.gateways) {
      gateway.refuses = undefined;
      gateway.look();
    }
    await witness.until(2);
    expect(witness.keys.at(-1)).toBe(next);
    cut.remove();
    await witness.pass(TRANSITION_MS + 2 * MINUTE_MS, 60_000);
    expectEnd(scene);
    const writers = stage.server
      .writes({ resource: SECRETS, namespace: 'team-a', name: 'app-api-key' })
      .map(({ who }) => who);
    expect(writers).toEqual([run.identity, run.identity, second.identity, second.identity]);
  });

  it('is not believed served by what the former leader said of the object', async () => {
    const scene = await begin();
    const { stage, run, witness } = scene;
    // The new key is stored, and no snapshot has it.
    stage.server.onWrite(({ who, resource, name }) => {
      if (who === run.identity && resource === 'secrets' && name === 'app-api-key') run.crash();
    });
    annotate(stage, 'now');
    await witness.pass(5_000);
    expect(valuesIn(stage)['next_api_key']).toBeDefined();
    expect(condition(stage.server, `ApiKey ${KEY}`, 'Programmed')).toMatch(/^True/);
    for (const gateway of stage.gateways) gateway.refuses = 'not yet';
    stage.start();
    await witness.pass(MINUTE_MS, 1_000);
    expect(witness.keys).toHaveLength(1);
    for (const gateway of stage.gateways) {
      gateway.refuses = undefined;
      gateway.look();
    }
    await witness.until(2);
  });

  it('of many keys at once is gapless for each', async () => {
    const scene = await begin();
    const names = Array.from({ length: 60 }, (_, at) => `many-${at}`);
    const key = (name: string, meta: object = {}) => ({
      apiVersion: 'modelgateway.dev/v1alpha1',
      kind: 'ApiKey',
      metadata: { namespace: 'team-a', name, ...meta },
      spec: { type: 'workspace-service' },
    });
    scene.stage.server.apply(names.map((name) => key(name)));
    await pass(20_000);
    const secretOf = (name: string) => scene.stage.server.find(SECRETS, 'team-a', `${name}-api-key`);
    const keyIn = (name: string) => Buffer.from(Object(secretOf(name)['data'])['api_key'], 'base64').toString();
    const former = new Map(names.map((name) => [name, keyIn(name)]));
    scene.stage.server.apply(names.map((name) => key(name, { annotations: { 'modelgateway.dev/rotate': '1' } })));
    await scene.witness.pass(20_000, 1_000);
    for (const name of names) {
      const digests = scene.stage.gateways.map(
        ({ served }) => new Set(served?.snapshot.keys.map(({ digest }) => digest)),
      );
      const both = [former.get(name) ?? '', keyIn(name)];
      expect(both[0]).not.toBe(both[1]);
      for (const served of digests) expect(both.every((one) => served.has(digestOf(one)))).toBe(true);
    }
  });
});
