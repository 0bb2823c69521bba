/** A control plane of one's own, and what can be done to it. */
import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { clusterState, type OwnCluster, startOwnCluster } from './cluster.ts';
import { describeCluster } from './describe-cluster.ts';

const START_TIMEOUT_MS = 60_000;
const CONFIG_MAPS = '/api/v1/namespaces/default/configmaps';
const jane = { name: 'jane', token: 'token-of-jane', groups: ['viewers'] };

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}

/** A write, and the resourceVersion that it got. */
async function write({ cluster }: OwnCluster, name: string): Promise<string> {
  const { status, body } = await cluster.request({ method: 'POST', path: CONFIG_MAPS, body: { metadata: { name } } });
  expect(status).toBe(201);
  return Object(body).metadata.resourceVersion;
}

/** Status of a watch from a version: that of the answer, or of the error event that it begins with. */
async function watchFrom({ cluster }: OwnCluster, resourceVersion: string): Promise<number> {
  const query = new URLSearchParams({ watch: 'true', resourceVersion, timeoutSeconds: '1' });
  const { status, body } = await cluster.request({ path: `${CONFIG_MAPS}?${query}` });
  const event = Object(typeof body === 'string' ? JSON.parse(body.split('\n')[0] || '{}') : body);
  return event.type === 'ERROR' ? event.object.code : status;
}

describeCluster('a control plane of its own', () => {
  let own: OwnCluster;

  beforeAll(async () => {
    own = await startOwnCluster({ users: [jane] });
  }, START_TIMEOUT_MS);

  afterAll(() => own.plane.stop());

  it('knows the users that it was started with, and their groups', async () => {
    const { cluster } = own;
    expect((await cluster.request({ path: CONFIG_MAPS, token: jane.token })).status).toBe(403);
    await cluster.kubectl(['create', 'clusterrole', 'viewer', '--verb=list', '--resource=configmaps']);
    await cluster.kubectl(['create', 'clusterrolebinding', 'viewers', '--clusterrole=viewer', '--group=viewers']);
    const status = async () => (await cluster.request({ path: CONFIG_MAPS, token: jane.token })).status;
    await expect.poll(status, { timeout: 10_000 }).toBe(200);
  });

  it('comes back on its port with its data, its tokens and its certificate', async () => {
    const { cluster, plane } = own;
    await write(own, 'kept');
    const token = await cluster.tokenFor('default', 'kept');
    const before = plane.pids();
    await plane.stopApiServer();
    await expect(cluster.request({ path: '/readyz' })).rejects.toThrow(/ECONNREFUSED/);
    await plane.startApiServer();
    expect(plane.pids()).toEqual({ etcd: before.etcd, 'kube-apiserver': expect.any(Number) });
    expect(plane.pids()['kube-apiserver']).not.toBe(before['kube-apiserver']);
    expect((await cluster.request({ path: `${CONFIG_MAPS}/kept` })).status).toBe(200);
    expect(await cluster.request({ path: CONFIG_MAPS, token })).toMatchObject({ status: 403 });
  });

  it('answers nothing while it is paused, and everything afterwards', async () => {
    const { cluster, plane } = own;
    plane.pauseApiServer();
    let isAnswered = false;
    const answer = cluster.request({ path: '/readyz' }).finally(() => {
      isAnswered = true;
    });
    await new Promise((resolve) => setTimeout(resolve, 300));
    expect(isAnswered).toBe(false);
    plane.resumeApiServer();
    expect(await answer).toMatchObject({ status: 200, body: 'ok' });
  });

  it('lives and can write nothing while etcd is paused', async () => {
    const { cluster, plane } = own;
    expect((await cluster.request({ path: '/livez/ping' })).status).toBe(200);
    plane.pauseEtcd();
    let isWritten = false;
    const written = write(own, 'late').finally(() => {
      isWritten = true;
    });
    await new Promise((resolve) => setTimeout(resolve, 300));
    expect((await cluster.request({ path: '/livez/ping' })).status).toBe(200);
    expect(isWritten).toBe(false);
    plane.resumeEtcd();
    expect(await written).toMatch(/^\d+$/);
  });

  it('has forgotten old versions after a compaction and a restart', async () => {
    const old = await write(own, 'old');
    await write(own, 'new');
    expect(await watchFrom(own, old)).toBe(200);
    await own.plane.compact();
    await own.plane.restartApiServer();
    expect(await watchFrom(own, old)).toBe(410);
  });

  it('has no part that it was not asked for', () => {
    expect(Object.keys(own.plane.pids()).toSorted()).toEqual(['etcd', 'kube-apiserver']);
  });
});

describeCluster('a control plane without a watch cache', () => {
  it(
    'answers 410 to an old watch after a compaction alone',
    async () => {
      const own = await startOwnCluster({ watchCache: false });
      try {
        const old = await write(own, 'old');
        await write(own, 'new');
        expect(await watchFrom(own, old)).toBe(200);
        await own.plane.compact();
        expect(await watchFrom(own, old)).toBe(410);
      } finally {
        await own.plane.stop();
      }
    },
    START_TIMEOUT_MS,
  );
});

describeCluster('the end of a control plane', () => {
  it(
    'leaves no process and no folder, even if the process that started it is killed',
    async () => {
      const source = `
        import { startControlPlane } from ${JSON.stringify(join(import.meta.dirname, 'control-plane.ts'))};
        const plane = await startControlPlane(JSON.parse(process.argv[1]));
        console.log(JSON.stringify({ pids: Object.values(plane.pids()), folder: plane.access.folder }));
        setInterval(() => {}, 1000);`;
      const args = ['--input-type=module', '-e', source, JSON.stringify(clusterState().found)];
      const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] });
      const [line = ''] = await new Promise<string[]>((resolve) =>
        createInterface(child.stdout)
          .once('line', (text) => resolve([text]))
          .once('close', () => resolve([])),
      );
      const { pids, folder } = JSON.parse(line) as { pids: number[]; folder: string };
      expect(pids.length).toBe(2);
      expect(pids.every(isAlive)).toBe(true);
      child.kill('SIGKILL');
      await expect.poll(() => pids.some(isAlive), { timeout: 10_000 }).toBe(false);
      await expect.poll(() => existsSync(folder), { timeout: 10_000 }).toBe(false);
    },
    START_TIMEOUT_MS,
  );

  it('says why a part does not come up', async () => {
    const { startControlPlane } = await import('./control-plane.ts');
    const { found } = clusterState();
    const parts = { ...found, 'kube-apiserver': found.etcd ?? '' };
    await expect(startControlPlane(parts)).rejects.toThrow(
      /^kube-apiserver has ended:[\s\S]*flag provided but not defined/,
    );
    await expect(startControlPlane({})).rejects.toThrow('etcd is missing');
  });
});
