/** The gateway of a cluster as a process of its own: on a mounted volume, with and without an API server. */

import { createServer } from 'node:net';
import { afterEach, describe, expect, it } from 'vitest';
import { SNAPSHOT_FORMAT } from '#crds/snapshot/contract.ts';
import { ScriptedApi } from '../gateway/feed/scripted-api.ts';
import { CREDENTIAL, KEY, largeVersion, refusedVersion, version } from '../gateway/feed/versions.ts';
import { atEnd, endAll } from '../operator/embedded-process.ts';
import { sleep } from '../operator/folder.ts';
import {
  askAt,
  kubeconfigOf,
  launchGateway,
  loadOn,
  makePlace,
  startGatewayProcess,
} from './cluster-gateway-process.ts';

afterEach(endAll);

/** The machine may be busy with others. */
const SLOW = { timeout: 10_000 };

describe('gateway/main.ts', () => {
  it('is alive and unready on nothing, and serves what is mounted then', async () => {
    const place = makePlace();
    const gateway = await startGatewayProcess(place);
    expect([await gateway.admin('/healthz'), await gateway.admin('/readyz')]).toEqual([200, 503]);
    expect(await gateway.config()).toEqual({ generation: 0, hash: '', loaded_at: null, format: SNAPSHOT_FORMAT });
    const alone = 'no service account: snapshots come from the volume alone';
    await expect.poll(() => gateway.line(alone), SLOW).toMatchObject({ directory: place.volume.path });
    place.volume.publish(version(1));
    await gateway.serves(1);
    expect([await gateway.admin('/readyz'), (await gateway.ask()).word]).toEqual([200, 'word-1']);
    expect(gateway.errors()).toBe('');
  });

  it('serves the last good snapshot soon after a kill, with nothing else there', async () => {
    const place = makePlace();
    place.volume.publish(version(5));
    const first = await startGatewayProcess(place);
    await first.serves(5);
    await first.kept(5);
    first.child.kill('SIGKILL');
    await first.ended;
    place.volume.unmount();
    const second = await startGatewayProcess(place);
    await second.serves(5);
    expect((await second.ask()).word).toBe('word-5');
    await expect.poll(() => second.line('snapshot loaded'), SLOW).toMatchObject({ source: 'state', generation: 5 });
  });

  it('refuses connections rather than requests until what is at hand is loaded', async () => {
    const place = makePlace();
    place.volume.publish(largeVersion(5, 'word-5', 5_000));
    const first = await startGatewayProcess(place);
    await first.serves(5);
    await first.kept(5);
    const { origin } = first;
    first.child.kill('SIGKILL');
    await first.ended;
    const second = launchGateway(place, ['--port', new URL(origin).port]);
    const answers: number[] = [];
    const untilMs = performance.now() + 20_000;
    while (answers.length < 20 && performance.now() < untilMs) {
      await askAt(origin).then(
        ({ status }) => answers.push(status),
        () => sleep(1),
      );
    }
    expect(new Set(answers)).toEqual(new Set([200]));
    expect(second.text.errors).toBe('');
  });

  it('keeps what it serves over a refused snapshot, and takes the repaired one', async () => {
    const place = makePlace();
    place.volume.publish(version(1));
    const gateway = await startGatewayProcess(place);
    await gateway.serves(1);
    place.volume.publish(refusedVersion(2));
    await expect.poll(async () => (await gateway.config()).refused?.generation, SLOW).toBe(2);
    expect([await gateway.admin('/readyz'), (await gateway.ask()).word]).toEqual([200, 'word-1']);
    place.volume.publish(version(3));
    await gateway.serves(3);
    expect(await gateway.config()).not.toHaveProperty('refused');
  });

  it('is ahead of its volume by the API server, stays when that goes, and logs no secret', async () => {
    const api = new ScriptedApi();
    atEnd(() => api.close());
    const place = makePlace();
    const kubeconfig = kubeconfigOf(place, await api.listen());
    api.publish(version(1));
    const gateway = await startGatewayProcess(place, ['--kubeconfig', kubeconfig, '--release', 'rel']);
    await gateway.serves(1);
    const took: number[] = [];
    for (const generation of [2, 3, 4, 5, 6, 7, 8]) {
      api.publish(version(generation));
      took.push(await gateway.serves(generation));
    }
    expect(Math.min(...took), 'ms from publication to service').toBeLessThan(300);
    api.goAway();
    await sleep(300);
    expect([await gateway.admin('/readyz'), (await gateway.ask()).word]).toEqual([200, 'word-8']);
    place.volume.publish(version(9));
    await gateway.serves(9);
    api.publish(version(10));
    api.comeBack();
    await gateway.serves(10, 20_000);
    gateway.child.kill('SIGTERM');
    expect(await gateway.ended).toBe(0);
    for (const secret of [CREDENTIAL, KEY, 'the-token']) expect(gateway.out() + gateway.errors()).not.toContain(secret);
  });

  it('with --no-api-watch asks no API server', async () => {
    const api = new ScriptedApi();
    atEnd(() => api.close());
    const place = makePlace();
    api.publish(version(9));
    place.volume.publish(version(1));
    const kubeconfig = kubeconfigOf(place, await api.listen());
    const gateway = await startGatewayProcess(place, [
      '--kubeconfig',
      kubeconfig,
      '--release',
      'rel',
      '--no-api-watch',
    ]);
    await gateway.serves(1);
    await sleep(500);
    expect((await gateway.config()).generation).toBe(1);
    expect(api.requests).toEqual([]);
  });
});

describe('under load', () => {
  it('not one request fails while snapshots are swapped, refused, mixed, and the API server comes and goes', async () => {
    const api = new ScriptedApi();
    atEnd(() => api.close());
    const place = makePlace();
    const kubeconfig = kubeconfigOf(place, await api.listen());
    place.volume.publish(version(1));
    const gateway = await startGatewayProcess(place, ['--kubeconfig', kubeconfig, '--release', 'rel']);
    await gateway.serves(1);
    const load = loadOn(gateway, 6);
    const steps: readonly ((generation: number) => void)[] = [
      (generation) => api.publish(version(generation)),
      (generation) => place.volume.publish(version(generation)),
      (generation) => api.publish(refusedVersion(generation)),
      (generation) => place.volume.swap(new Map([['index', version(generation).index]])),
      () => api.goAway(),
      (generation) => place.volume.publish(largeVersion(generation, `word-${generation}`, 5_000)),
      () => api.comeBack(),
      (generation) => api.publish(version(generation)),
    ];
    for (let round = 0; round < 3; round += 1) {
      for (const [at, step] of steps.entries()) {
        step(10 * (round + 1) + at);
        await sleep(100);
      }
    }
    await gateway.serves(37, 20_000);
    await sleep(100);
    await load.stop();
    expect(load.failures).toEqual([]);
    expect(load.words.length).toBeGreaterThan(100);
    expect(new Set(load.words).size).toBeGreaterThan(5);
    expect(load.words.at(-1)).toBe('word-37');
    expect([...new Set(load.words)].every((word) => /^word-\d+$/.test(word))).toBe(true);
  });
});

describe('the end', () => {
  it.each(['SIGTERM', 'SIGINT'] as const)(
    'by %s finishes what runs, after the grace, with status 0',
    async (signal) => {
      const place = makePlace();
      place.volume.publish(version(1));
      const gateway = await startGatewayProcess(place, ['--grace-ms', '2000']);
      await gateway.serves(1);
      const slow = gateway.ask({ model: 'delay-4000' }).then((asked) => ({ ...asked, atMs: performance.now() }));
      await sleep(150);
      const startedMs = performance.now();
      gateway.child.kill(signal);
      await expect.poll(() => gateway.admin('/readyz'), SLOW).toBe(503);
      expect((await gateway.ask()).word, 'within the grace').toBe('word-1');
      // Still fed: a key that is revoked now must stop working.
      place.volume.publish(version(2));
      await gateway.serves(2);
      const { status, atMs } = await slow;
      expect(status).toBe(200);
      expect(atMs - startedMs, 'it ran on after the grace').toBeGreaterThan(2_000);
      expect(await gateway.ended).toBe(0);
    },
  );

  it('by a second signal comes at once, with status 1', async () => {
    const place = makePlace();
    place.volume.publish(version(1));
    const gateway = await startGatewayProcess(place, ['--grace-ms', '60000']);
    await gateway.serves(1);
    gateway.child.kill('SIGTERM');
    await sleep(1_200);
    const startedMs = performance.now();
    gateway.child.kill('SIGTERM');
    expect(await gateway.ended).toBe(1);
    expect(performance.now() - startedMs).toBeLessThan(5_000);
  });
});

describe('a wrong start', () => {
  it.each(['port', 'admin-port'])('names --%s when it is in use', async (flag) => {
    const other = createServer().listen(0, '127.0.0.1');
    atEnd(() => other.close());
    await new Promise((resolve) => other.once('listening', resolve));
    const { port } = other.address() as { port: number };
    const { ended, text } = launchGateway(makePlace(), [`--${flag}`, String(port)]);
    expect(await ended).toBe(2);
    expect(text.errors).toMatch(
      new RegExp(`^model-gateway: 127\\.0\\.0\\.1:${port} is in use: .* --${flag} or MODEL_GATEWAY_\\w+\\n$`),
    );
  });

  it.each([
    [['--prt', '1'], /^model-gateway: unknown flag --prt \(did you mean --port\?\); see --help\n$/],
    [['--max-shards', '12'], /^model-gateway: --max-shards: must be .*power of two.*"12"\n$/],
    [['--grace-ms', '-1'], /^model-gateway: --grace-ms: must be whole milliseconds, at most \d+, not "-1"\n$/],
    [['--kubeconfig', '/nowhere/at/all'], /^model-gateway: --kubeconfig: .*\/nowhere\/at\/all.*\n$/],
    [['--admin-host', '203.0.113.1'], /^model-gateway: --admin-host: 203\.0\.113\.1 is no address of this machine\n$/],
  ])('%j: one line and status 2', async (argv, line) => {
    const { ended, text } = launchGateway(makePlace(), argv);
    expect(await ended).toBe(2);
    expect(text.errors).toMatch(line);
  });

  it('answers --help and --version', async () => {
    const help = launchGateway(makePlace(), ['--help']);
    expect([await help.ended, help.text.errors]).toEqual([0, '']);
    expect(help.text.out).toContain('Usage: node gateway/main.ts');
    const shown = launchGateway(makePlace(), ['--version']);
    expect([await shown.ended, shown.text.out]).toEqual([0, expect.stringMatching(/^\d+\.\d+\.\d+\n$/)]);
  });
});
