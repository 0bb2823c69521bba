import { readFileSync, rmSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { loadCluster } from '#crds/api/kube-config.ts';
import { TokenFile } from '#crds/api/token-file.ts';
import { kubeConfigFile, newFolder, write } from './kube-config-file.ts';

const base64 = (text: string) => Buffer.from(text).toString('base64');

/** Time passes only by `later`; files are read in real time. */
function later(ms: number): void {
  vi.advanceTimersByTime(ms);
}

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['performance', 'Date'] });
});
afterEach(() => {
  vi.useRealTimers();
  vi.unstubAllEnvs();
});

describe('a kubeconfig file', () => {
  it('names the server, the CA and its name, a certificate, and the namespace', async () => {
    const kubeconfig = kubeConfigFile({
      cluster: { 'certificate-authority-data': base64('the CA'), 'tls-server-name': 'api.internal' },
      user: { 'client-certificate-data': base64('my certificate'), 'client-key-data': base64('my key') },
      namespace: 'team-a',
    });
    const cluster = await loadCluster({ kubeconfig });
    expect(cluster.origin).toBe('https://one.example:6443');
    expect(cluster.namespace).toBe('team-a');
    expect(await cluster.authorization()).toBeUndefined();
    const texts = Object.fromEntries(Object.entries(cluster.tls).map(([name, value]) => [name, String(value)]));
    expect(texts).toEqual({
      ca: 'the CA',
      servername: 'api.internal',
      cert: 'my certificate',
      key: 'my key',
    });
  });

  it('may name files instead, beside it', async () => {
    const folder = newFolder();
    write(folder, 'ca.crt', 'the CA');
    const kubeconfig = kubeConfigFile({ cluster: { 'certificate-authority': 'ca.crt' } }, folder);
    expect(String((await loadCluster({ kubeconfig })).tls.ca)).toBe('the CA');
  });

  it.each([
    ['a token', { token: 'secret' }, 'Bearer secret'],
    ['a name and a password', { username: 'me', password: 'secret' }, `Basic ${base64('me:secret')}`],
    ['nothing', {}, undefined],
  ])('authorizes by %s', async (_what, user, expected) => {
    const cluster = await loadCluster({ kubeconfig: kubeConfigFile({ user }) });
    expect(await cluster.authorization()).toBe(expected);
    expect(cluster.namespace).toBe('default');
  });

  it('has other contexts, which can be named', async () => {
    const cluster = await loadCluster({ kubeconfig: kubeConfigFile({}), context: 'other' });
    expect([cluster.origin, cluster.namespace]).toEqual(['https://other.example', 'elsewhere']);
    expect(await cluster.authorization()).toBe('Bearer of-v');
  });

  it('turns verification off only where it says so', async () => {
    const kubeconfig = kubeConfigFile({ cluster: { 'insecure-skip-tls-verify': true } });
    expect((await loadCluster({ kubeconfig })).tls).toEqual({ rejectUnauthorized: false });
    expect((await loadCluster({ kubeconfig: kubeConfigFile({}) })).tls).toEqual({});
  });

  it('is the one that KUBECONFIG names where none is given', async () => {
    vi.stubEnv('KUBECONFIG', kubeConfigFile({ namespace: 'from-the-environment' }));
    expect((await loadCluster()).namespace).toBe('from-the-environment');
  });
});

describe('a plugin of a kubeconfig', () => {
  function plugin(status: object, exitCode = 0) {
    const folder = newFolder();
    const credential = { apiVersion: 'client.authentication.k8s.io/v1', kind: 'ExecCredential', status };
    const script = `echo run >>${folder}/runs; sed "s/COUNT/$(wc -l <${folder}/runs | tr -d ' ')/" ${folder}/credential`;
    write(folder, 'credential', JSON.stringify(credential));
    const command = write(
      folder,
      'plugin',
      `#!/bin/sh\n${script}\necho broken, and how >&2\nexit ${exitCode}\n`,
      0o700,
    );
    const exec = { apiVersion: 'client.authentication.k8s.io/v1', command, args: [] };
    const runs = () => readFileSync(join(folder, 'runs'), 'utf8').trim().split('\n').length;
    return { kubeconfig: kubeConfigFile({ user: { exec } }, folder), runs };
  }

  it('is run for a token, once until it expires', async () => {
    const expirationTimestamp = new Date(Date.now() + 3_600_000).toISOString();
    const { kubeconfig, runs } = plugin({ token: 'token-COUNT', expirationTimestamp });
    const cluster = await loadCluster({ kubeconfig });
    expect(await cluster.authorization()).toBe('Bearer token-1');
    later(3_500_000);
    expect(await cluster.authorization()).toBe('Bearer token-1');
    expect(runs()).toBe(1);
    later(200_000);
    expect(await cluster.authorization()).toBe('Bearer token-2');
  });

  it('is run anew where its token was refused, once for all that were refused', async () => {
    const { kubeconfig, runs } = plugin({ token: 'token-COUNT' });
    const cluster = await loadCluster({ kubeconfig });
    const first = await cluster.authorization();
    const renewed = [1, 2, 3].map(() => {
      cluster.refused(first);
      return cluster.authorization();
    });
    expect(await Promise.all(renewed)).toEqual(['Bearer token-2', 'Bearer token-2', 'Bearer token-2']);
    cluster.refused(first);
    expect(await cluster.authorization()).toBe('Bearer token-2');
    expect(runs()).toBe(2);
  });

  it('may give a certificate', async () => {
    const { kubeconfig } = plugin({ clientCertificateData: 'certificate', clientKeyData: 'key' });
    const cluster = await loadCluster({ kubeconfig });
    expect(cluster.tls).toEqual({ cert: 'certificate', key: 'key' });
    expect(await cluster.authorization()).toBeUndefined();
  });

  it('that fails says why, in one line', async () => {
    const { kubeconfig } = plugin({}, 3);
    await expect(loadCluster({ kubeconfig })).rejects.toThrow(
      /^the credentials of the kubeconfig cannot be had: broken, and how$/,
    );
  });
});

describe('no cluster', () => {
  it.each([
    [
      'a cluster that is not there',
      {},
      'no-cluster',
      "the kubeconfig's context no-cluster names the cluster x, which it has not",
    ],
    ['a user that is not there', {}, 'no-user', "the kubeconfig's context no-user names the user x, which it has not"],
    [
      'a context that is not there',
      {},
      'third',
      'the kubeconfig has no context third; it has one, other, no-cluster, no-user',
    ],
    ['no context', {}, '', 'the kubeconfig has no current-context: name one of its contexts'],
    ['no URL', { cluster: { server: 'one.example' } }, 'one', 'the server of the cluster c is no URL: one.example'],
    [
      'a path',
      { cluster: { server: 'https://one.example/k8s/c-1' } },
      'one',
      'the server of the cluster c has a path, which is not supported: https://one.example/k8s/c-1',
    ],
    [
      'a proxy',
      { cluster: { 'proxy-url': 'http://proxy' } },
      'one',
      "the kubeconfig's cluster c has a proxy-url, which is not supported",
    ],
    [
      'another to be played',
      { user: { as: 'admin' } },
      'one',
      "the kubeconfig's user u impersonates another (as), which is not supported",
    ],
  ])('%s is told in one line', async (_what, entries, context, message) => {
    await expect(loadCluster({ kubeconfig: kubeConfigFile(entries), context })).rejects.toThrow(new Error(message));
  });

  it('without TLS is refused', async () => {
    const kubeconfig = kubeConfigFile({ cluster: { server: 'http://one.example' } });
    await expect(loadCluster({ kubeconfig })).rejects.toThrow(/^the credentials.*HTTP protocol is not allowed[^\n]*$/);
  });

  it.each([
    ['is not there', undefined],
    ['is no YAML', '{{'],
    ['is empty', ''],
  ])('a file that %s is named', async (_what, text) => {
    const folder = newFolder();
    const kubeconfig = text === undefined ? join(folder, 'none') : write(folder, 'config', text);
    const prefix = `the kubeconfig ${kubeconfig} cannot be read: `;
    const error = await loadCluster({ kubeconfig }).catch((one: Error) => one);
    expect((error as Error).message.slice(0, prefix.length)).toBe(prefix);
    expect((error as Error).message).not.toContain('\n');
  });

  it('where there is neither a pod nor a kubeconfig says so', async () => {
    vi.stubEnv('KUBECONFIG', '');
    vi.stubEnv('HOME', newFolder());
    await expect(loadCluster()).rejects.toThrow(
      new Error('there is no cluster: this is no pod with a service account, and there is no kubeconfig'),
    );
  });
});

describe('a token file', () => {
  it('is that of a service account, and its new token is used once it changes', async () => {
    const folder = newFolder();
    const tokenFile = write(folder, 'token', 'first\n');
    const user = { 'auth-provider': { name: 'tokenFile', config: { tokenFile } } };
    const cluster = await loadCluster({ kubeconfig: kubeConfigFile({ user }, folder) });
    expect(await cluster.authorization()).toBe('Bearer first');
    write(folder, 'token', 'the second\n');
    expect(await cluster.authorization()).toBe('Bearer first');
    later(10_000);
    expect(await cluster.authorization()).toBe('Bearer the second');
  });

  it('is read at once after its token was refused', async () => {
    const folder = newFolder();
    const file = new TokenFile(write(folder, 'token', 'first'));
    expect(await file.read()).toBe('first');
    write(folder, 'token', 'other');
    file.forget();
    expect(await file.read()).toBe('other');
  });

  it('is seen to change where only the link to it does', async () => {
    const folder = newFolder();
    write(folder, 'a', 'token-a');
    write(folder, 'b', 'token-b');
    symlinkSync('a', join(folder, 'token'));
    const file = new TokenFile(join(folder, 'token'));
    expect(await file.read()).toBe('token-a');
    rmSync(join(folder, 'token'));
    symlinkSync('b', join(folder, 'token'));
    later(10_000);
    expect(await file.read()).toBe('token-b');
  });

  it('that cannot be read any more leaves the token as it was', async () => {
    const folder = newFolder();
    const path = write(folder, 'token', 'first');
    const file = new TokenFile(path);
    await file.read();
    rmSync(path);
    later(10_000);
    expect(await file.read()).toBe('first');
    write(folder, 'token', '  \n');
    expect(await file.read()).toBe('first');
    write(folder, 'token', 'back');
    expect(await file.read()).toBe('back');
  });

  it('that was never there is an error which names it', async () => {
    const path = join(newFolder(), 'token');
    await expect(new TokenFile(path).read()).rejects.toThrow(`the token file ${path} cannot be read: ENOENT`);
  });
});
