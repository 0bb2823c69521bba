/** Embedded mode counts in a file beside its keys. */
import { existsSync } from 'node:fs';
import { afterEach, expect, it } from 'vitest';
import { endAll, launch, type Running, start } from '../../operator/embedded-process.ts';
import { makeFolder, sleep } from '../../operator/folder.ts';
import { documents, manifest } from '../../operator/worlds.ts';

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
  manifest('Secret', 'default', 'mine-api-key', { api_key: KEY }),
  manifest('RateLimitPolicy', 'default', 'few', {
    ...{ type: 'requests', unit: 'rph', value: 4 },
    ...{ conditions: [{ key: 'api_key', value: '*' }], group_by: [{ key: 'api_key' }] },
  }),
);

async function ask({ origin }: Running): Promise<number> {
  const response = await fetch(`${origin}/v1/chat/completions`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'x-gateway-api-key': KEY },
    body: JSON.stringify({ model: 'any', messages: [{ role: 'user', content: 'Hello' }] }),
  });
  await response.text();
  return response.status;
}

it('remembers what was used when it is killed and started again', async () => {
  const folder = makeFolder();
  folder.write('own.yaml', OWN);
  const argv = ['--manifests', folder.path, '--data', folder.at('data')];
  const first = await start(folder, argv);
  expect([await ask(first), await ask(first), await ask(first)]).toEqual([200, 200, 200]);
  await sleep(1_000);
  first.child.kill('SIGKILL');
  await first.ended;
  expect(existsSync(folder.at('data/usage.db'))).toBe(true);
  const second = await start(folder, argv);
  expect([await ask(second), await ask(second)]).toEqual([200, 429]);
  second.child.kill('SIGTERM');
  expect(await second.ended).toBe(0);
}, 60_000);

it.each([
  ['--store', 'redis://:geheim@a,b', '--store: names several hosts: must begin with redis+sentinel://'],
  ['--store-timeout-ms', 'soon', '--store-timeout-ms: must be whole milliseconds'],
])('%s %s is refused at once', async (flag, value, problem) => {
  const { ended, text } = launch(makeFolder(), [flag, value], {});
  expect(await ended).not.toBe(0);
  expect(text.errors).toContain(problem);
  expect(text.errors).not.toContain('geheim');
});

it('a password file that is not there is named with its flag', async () => {
  const argv = [
    '--store',
    'redis://127.0.0.1:1',
    '--store-password-file',
    'nowhere',
    '--port',
    '0',
    '--admin-port',
    '0',
  ];
  const { ended, text } = launch(makeFolder(), argv, {});
  expect(await ended).not.toBe(0);
  expect(text.errors).toMatch(/--store-password-file: .*nowhere cannot be read/);
});
