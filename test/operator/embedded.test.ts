/** The real entry in a process of its own: what a new user sees, and what an edit does to running calls. */
import { spawnSync } from 'node:child_process';
import { cpSync, rmSync, statSync } from 'node:fs';
import { createServer } from 'node:net';
import { afterEach, describe, expect, it } from 'vitest';
import { atEnd, endAll, launch, start } from './embedded-process.ts';
import { makeFolder, sleep, until } from './folder.ts';
import { documents, manifest, REPOSITORY } from './worlds.ts';

afterEach(endAll);

const KEY = 'my-own-key-of-the-test';
const OWN = documents(
  manifest(
    'GatewayConfig',
    'default',
    'chat',
    { provider: 'simulator', override_params: { model: 'echo' } },
    { 'modelgateway.dev/default': 'true' },
  ),
  manifest('ApiKey', 'default', 'mine', { type: 'workspace-service' }),
  manifest('Secret', 'default', 'mine-api-key', { api_key: `$\{env:MY_KEY}` }),
);

async function ask(
  origin: string,
  content = 'Hello',
  headers: Record<string, string> = { 'x-gateway-api-key': KEY },
): Promise<{ status: number; text: string }> {
  const response = await fetch(`${origin}/v1/chat/completions`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body: JSON.stringify({ model: 'any', messages: [{ role: 'user', content }] }),
  });
  return { status: response.status, text: await response.text() };
}

async function askUntil(origin: string, status: number): Promise<number> {
  const startedMs = performance.now();
  while ((await ask(origin)).status !== status) {
    if (performance.now() - startedMs > 2000) throw new Error(`no ${status} within 2 s`);
    await sleep(10);
  }
  return performance.now() - startedMs;
}

describe('npm start', () => {
  it('starts soon on the quick start, and its curl works when pasted', async () => {
    const { folder, out, errors, startedInMs } = await start(makeFolder());
    expect(startedInMs, 'ms to start, with room for a busy machine').toBeLessThan(5000);
    expect(out()).toMatch(/^GatewayConfig +default\/chat +True +True +True +True +\S+chat\.yaml:\d+$/m);
    const command = /^curl [\s\S]*?(?<!\\)$/m.exec(out())?.[0] ?? '';
    const { stdout, status } = spawnSync('sh', ['-c', command], { encoding: 'utf8' });
    expect(status).toBe(0);
    expect(stdout).toContain('HTTP/1.1 200');
    expect(stdout).toContain('"content":"Hello"');
    expect(stdout.toLowerCase()).toContain('x-gateway-last-used-option-index: config.targets[1]');
    expect(statSync(folder.at('.model-gateway/secrets/default/quickstart-api-key.yaml')).mode & 0o777).toBe(0o600);
    expect(out(), 'a key in a log').not.toContain('mgw_');
    expect(errors()).toBe('');
  });

  it('serves edits within a second, keeps the last good version of a bad one, and drops what is deleted', async () => {
    const { folder, origin, out } = await start(makeFolder({ 'm/a.yaml': OWN }), ['--manifests', 'm'], { MY_KEY: KEY });
    expect(await ask(origin)).toMatchObject({ status: 200, text: expect.stringContaining('"content":"Hello"') });
    folder.write('m/a.yaml', OWN.replace('"echo"', '"status-418"'));
    expect(await askUntil(origin, 418)).toBeLessThan(1000);
    folder.write('m/a.yaml', OWN.replace('"provider":"simulator"', '"provider":"simulater"'));
    await until(() => out().includes('Accepted=False'), 2000, out);
    expect((await ask(origin)).status).toBe(418);
    folder.write('m/a.yaml', 'half: [');
    await until(() => /^m\/a\.yaml:1: Unparsable: /m.test(out()), 2000, out);
    expect((await ask(origin)).status).toBe(418);
    folder.write('m/a.yaml', OWN);
    expect(await askUntil(origin, 200)).toBeLessThan(1000);
    rmSync(folder.at('m/a.yaml'));
    expect(await askUntil(origin, 401)).toBeLessThan(1000);
    expect(out()).not.toContain(KEY);
  });

  it('has the documented admin port', async () => {
    const { admin } = await start(makeFolder({ 'a.yaml': OWN }), ['--manifests', 'a.yaml'], { MY_KEY: KEY });
    expect((await fetch(`${admin}/readyz`)).status).toBe(200);
    expect(await (await fetch(`${admin}/config`)).json()).toMatchObject({
      generation: 1,
      hash: expect.stringMatching(/./),
    });
  });

  it('asks no key where it runs open', async () => {
    const { origin, out } = await start(makeFolder({ 'a.yaml': OWN }), ['--manifests', 'a.yaml', '--open'], {
      MY_KEY: KEY,
    });
    expect((await ask(origin, 'Hello', {})).status).toBe(200);
    expect(out()).not.toContain('x-gateway-api-key');
  });

  it('says that nobody can call where there is no key', async () => {
    const { origin, out } = await start(makeFolder({ 'a.yaml': OWN }), ['--manifests', 'a.yaml']);
    expect(out()).toContain('the environment variable MY_KEY is not set');
    expect(out()).toContain('every call ends in 401');
    expect((await ask(origin)).status).toBe(401);
  });

  it('reads its flags from the environment', async () => {
    const { origin } = await start(makeFolder({ 'a.yaml': OWN }), [], {
      MODEL_GATEWAY_MANIFESTS: 'a.yaml',
      MODEL_GATEWAY_OPEN: '1',
      MY_KEY: KEY,
    });
    expect((await ask(origin, 'Hello', {})).status).toBe(200);
  });

  it.each(['port', 'admin-port'])('names --%s when it is in use', async (flag) => {
    const other = createServer().listen(0, '127.0.0.1');
    atEnd(() => other.close());
    await new Promise((resolve) => other.once('listening', resolve));
    const { port } = other.address() as { port: number };
    const folder = makeFolder();
    atEnd(() => folder.remove());
    const ports = ['--port', '0', '--admin-port', '0', `--${flag}`, String(port)];
    const { ended, text } = launch(folder, ports, {});
    expect(await ended).toBe(2);
    expect(text.errors).toMatch(
      new RegExp(`^model-gateway: 127\\.0\\.0\\.1:${port} is in use: .* --${flag} or MODEL_GATEWAY_\\w+\\n$`),
    );
  });

  it.each(['SIGTERM', 'SIGINT'] as const)('finishes what runs on %s, and exits with 0', async (signal) => {
    const slow = OWN.replace('"echo"', '"delay-700"');
    const { origin, child, ended } = await start(makeFolder({ 'a.yaml': slow }), ['--manifests', 'a.yaml'], {
      MY_KEY: KEY,
    });
    const answer = ask(origin);
    await sleep(200);
    child.kill(signal);
    await sleep(20);
    // The terminal signals the whole group, and the launcher passes it on: the same signal twice is one.
    child.kill(signal);
    expect((await answer).status).toBe(200);
    expect(await ended).toBe(0);
  });

  it('runs the examples from a copy, so that they need nothing of their place', async () => {
    const folder = makeFolder();
    cpSync(`${REPOSITORY}/crds/examples/quickstart`, folder.at('copy'), { recursive: true });
    const { out } = await start(folder, ['--manifests', 'copy', '--data', 'state']);
    expect(out()).toMatch(/^ApiKey +default\/quickstart +True +True +True +True +copy\/api-key\.yaml:\d+$/m);
    expect(statSync(folder.at('state/secrets/default/quickstart-api-key.yaml')).isFile()).toBe(true);
  });
});
