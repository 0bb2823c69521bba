/** The shared cluster, as suites use it. */
import { existsSync } from 'node:fs';
import { expect, it } from 'vitest';
import { cluster } from './cluster.ts';
import { describeCluster } from './describe-cluster.ts';

describeCluster('the shared cluster', () => {
  it('is ready, and is the version that go.mod requires', async () => {
    const { body } = await cluster().request({ path: '/version' });
    expect(body).toMatchObject({ gitVersion: 'v1.36.3', major: '1', minor: '36' });
    expect(JSON.parse(await cluster().kubectl(['version', '-o', 'json']))).toMatchObject({
      clientVersion: { gitVersion: 'v1.36.3' },
      serverVersion: { gitVersion: 'v1.36.3' },
    });
  });

  it('has a kubeconfig and a CA that others can use', () => {
    expect(existsSync(cluster().kubeconfig)).toBe(true);
    expect(existsSync(cluster().caFile)).toBe(true);
  });

  it('gives every caller a namespace of its own', async () => {
    const names = await Promise.all([cluster().namespace('own'), cluster().namespace('own')]);
    expect(new Set(names).size).toBe(2);
    const listed = await cluster().kubectl(['get', 'namespaces', '-o', 'name']);
    for (const name of names) expect(listed).toContain(`namespace/${name}\n`);
  });

  it('gives kubectl its input, and says what kubectl said', async () => {
    const namespace = await cluster().namespace('input');
    const manifest = JSON.stringify({
      apiVersion: 'v1',
      kind: 'ConfigMap',
      metadata: { name: 'one' },
      data: { a: 'b' },
    });
    expect(await cluster().kubectl(['apply', '-n', namespace, '-f', '-'], manifest)).toBe('configmap/one created\n');
    await expect(cluster().kubectl(['get', '-n', namespace, 'configmap', 'two'])).rejects.toMatchObject({
      name: 'CommandFailed',
      status: 1,
      stderr: 'Error from server (NotFound): configmaps "two" not found\n',
    });
  });

  it('authorizes service accounts by their real tokens', async () => {
    const namespace = await cluster().namespace('account');
    const token = await cluster().tokenFor(namespace, 'reader');
    const path = `/api/v1/namespaces/${namespace}/configmaps`;
    const refused = await cluster().request({ path, token });
    expect(refused).toMatchObject({ status: 403, body: { reason: 'Forbidden' } });
    expect(JSON.stringify(refused.body)).toContain(`system:serviceaccount:${namespace}:reader`);

    await cluster().kubectl(['create', 'role', 'reader', '-n', namespace, '--verb=list', '--resource=configmaps']);
    const account = `--serviceaccount=${namespace}:reader`;
    await cluster().kubectl(['create', 'rolebinding', 'reader', '-n', namespace, '--role=reader', account]);
    await expect.poll(async () => (await cluster().request({ path, token })).status, { timeout: 10_000 }).toBe(200);

    const kubeconfig = cluster().kubeconfigFor(await cluster().tokenFor(namespace, 'reader'), namespace);
    expect(await cluster().kubectl(['get', 'configmaps', '-o', 'name', '--kubeconfig', kubeconfig])).toBe('');
    await expect(cluster().kubectl(['get', 'secrets', '--kubeconfig', kubeconfig])).rejects.toThrow(/forbidden/);
  });

  it('refuses a token that it has not given', async () => {
    expect(await cluster().request({ path: '/api/v1/namespaces', token: 'made-up' })).toMatchObject({ status: 401 });
  });
});

describeCluster('helm of the cluster', () => {
  it('talks to the shared cluster', async () => {
    const namespace = await cluster().namespace('helm');
    expect(JSON.parse(await cluster().helm(['list', '-n', namespace, '-o', 'json']))).toEqual([]);
  });
}, ['helm']);
