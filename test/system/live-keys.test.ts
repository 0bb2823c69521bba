/** Keys and credentials that change while requests run, in a process of its own. */
import { renameSync, rmSync, writeFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { apiKey, config, defaultConfig, object, secret } from '../fakes/objects.ts';
import { chat, chatStream, gated } from '../fakes/replies.ts';
import { startUpstream, type Upstream } from '../fakes/upstream.ts';
import { atEnd, endAll, type Running, start } from '../operator/embedded-process.ts';
import { makeFolder, sleep, until } from '../operator/folder.ts';

afterAll(endAll);

const STEADY = 'steady-key-0123456789';
const HOUSE = defaultConfig('house', { provider: 'simulator' }) + apiKey('steady', STEADY);

let gateway: Running;
let upstream: Upstream;
beforeAll(async () => {
  upstream = await startUpstream(chat());
  atEnd(() => upstream.close());
  gateway = await start(makeFolder({ 'm/a.yaml': HOUSE }), ['--manifests', 'm']);
});

/** Writes a file of manifests; undefined deletes it. */
function put(file: string, text: string | undefined): void {
  if (text === undefined) rmSync(gateway.folder.at(`m/${file}`));
  else gateway.folder.write(`m/${file}`, text);
}

function ask(key: string, headers: Readonly<Record<string, string>> = {}, body: object = {}) {
  return fetch(`${gateway.origin}/v1/chat/completions`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', authorization: `Bearer ${key}`, ...headers },
    body: JSON.stringify({ model: 'm', messages: [{ role: 'user', content: 'Hello' }], ...body }),
  });
}

async function statusOf(key: string, headers?: Readonly<Record<string, string>>): Promise<number> {
  const response = await ask(key, headers);
  await response.text();
  return response.status;
}

/** Milliseconds until the key has the status. */
async function within(key: string, status: number, headers?: Readonly<Record<string, string>>) {
  const startedMs = performance.now();
  await expect.poll(() => statusOf(key, headers), { interval: 5, timeout: 5_000 }).toBe(status);
  return performance.now() - startedMs;
}

/** Callers with the steady key until `act` is over; what was not 200. */
async function underLoad(act: () => Promise<unknown>, headers?: Readonly<Record<string, string>>): Promise<number[]> {
  const failed: number[] = [];
  let going = true;
  let count = 0;
  const callers = Array.from({ length: 4 }, async () => {
    while (going) {
      const status = await statusOf(STEADY, headers);
      count += 1;
      if (status !== 200) failed.push(status);
    }
  });
  try {
    await act();
  } finally {
    going = false;
  }
  await Promise.all(callers);
  expect(count).toBeGreaterThan(10);
  return failed;
}

describe('a key', () => {
  it('that is rotated: the new one is good and the old one is not, within a second, and others feel nothing', async () => {
    put('turning.yaml', apiKey('turning', 'turning-key-number-0'));
    await within('turning-key-number-0', 200);
    const failed = await underLoad(async () => {
      for (let turn = 1; turn <= 4; turn += 1) {
        put('turning.yaml', apiKey('turning', `turning-key-number-${turn}`));
        expect(await within(`turning-key-number-${turn}`, 200)).toBeLessThan(1_000);
        expect(await statusOf(`turning-key-number-${turn - 1}`)).toBe(401);
      }
    });
    expect(failed).toEqual([]);
  });

  it.each([
    ['disabled', 401, (key: string) => apiKey('other', key, { disabled: true })],
    ['expired', 401, (key: string) => apiKey('other', key, { expires_at: '2020-01-01T00:00:00Z' })],
    ['deleted', 401, () => undefined],
    ['without its scope', 403, (key: string) => apiKey('other', key, { scopes: ['models.list'] })],
    ['in a namespace that has no config', 400, (key: string) => apiKey('other', key, {}, 'elsewhere')],
  ] as const)(
    'that is now %s: %s within a second, and good again when that is undone',
    async (_what, status, change) => {
      const key = 'key-of-the-other-one';
      put('other.yaml', apiKey('other', key));
      await within(key, 200);
      const failed = await underLoad(async () => {
        put('other.yaml', change(key));
        expect(await within(key, status)).toBeLessThan(1_000);
        put('other.yaml', apiKey('other', key));
        expect(await within(key, 200)).toBeLessThan(1_000);
      });
      expect(failed).toEqual([]);
    },
  );

  it('whose file was emptied, as editors do before they write, is still good', async () => {
    put('other.yaml', apiKey('other', 'key-of-the-other-one'));
    await within('key-of-the-other-one', 200);
    put('other.yaml', '');
    await until(() => gateway.out().includes('EmptyFile'), 3_000, gateway.out);
    expect(await statusOf('key-of-the-other-one')).toBe(200);
  });

  it('whose new version is refused keeps its last good one', async () => {
    put('kept.yaml', apiKey('kept', 'key-that-is-kept-0'));
    await within('key-that-is-kept-0', 200);
    put('kept.yaml', apiKey('kept', 'key-that-is-kept-0', { type: 'nonsense' }));
    await until(() => /ApiKey default\/kept.*InvalidSpec/.test(gateway.out()), 3_000, gateway.out);
    expect(await statusOf('key-that-is-kept-0')).toBe(200);
  });

  it('that is disabled does not cut the stream that it had begun', async () => {
    const gate = gated(chatStream({ text: 'one two three' }));
    upstream.answer(gate.reply);
    const key = 'key-of-the-streaming-one';
    const target = { provider: 'openai', api_key: 'k', custom_host: `${upstream.origin}/v1` };
    put('streaming.yaml', config('gated', target) + apiKey('streaming', key));
    await within(key, 200);
    const answered = ask(key, { 'x-gateway-config': 'gated' }, { stream: true });
    await upstream.called(1);
    put('streaming.yaml', config('gated', target) + apiKey('streaming', key, { disabled: true }));
    await within(key, 401);
    gate.open();
    expect(await (await answered).text()).toMatch(/three[\s\S]*\[DONE\]\n\n$/);
    upstream.answer(chat());
  });
});

/** An Integration `name` whose credential is in another file. */
function integration(name: string): string {
  return (
    object('Integration', name, {
      provider: 'openai',
      secret_mappings: [{ target_field: 'api_key', secret_name: `${name}-creds`, secret_key: 'key' }],
      configurations: { custom_host: `${upstream.origin}/v1` },
    }) + config(`via-${name}`, { provider: `@${name}` })
  );
}

describe('a credential', () => {
  it('that changes is used within a second, and none in between: old or new, never nothing', async () => {
    put('prod.yaml', integration('prod') + secret('prod-creds', { key: 'credential-0' }));
    const headers = { 'x-gateway-config': 'via-prod' };
    await within(STEADY, 200, headers);
    const before = upstream.calls.length;
    const sent = () => upstream.calls.slice(before).map((call) => call.headers['authorization']);
    const failed = await underLoad(async () => {
      await until(() => sent().length > 0, 1_000);
      for (let turn = 1; turn <= 3; turn += 1) {
        put('prod.yaml', integration('prod') + secret('prod-creds', { key: `credential-${turn}` }));
        await until(
          () => sent().at(-1) === `Bearer credential-${turn}`,
          1_000,
          () => sent().at(-1),
        );
      }
    }, headers);
    expect(failed).toEqual([]);
    const order = sent().map((header) => Number(header?.replace('Bearer credential-', '')));
    expect(new Set(order)).toEqual(new Set([0, 1, 2, 3]));
  });

  it('that is deleted is used no more: 503 that names what is missing', async () => {
    put('lost.yaml', integration('lost'));
    put('lost-creds.yaml', secret('lost-creds', { key: 'a-credential' }));
    const headers = { 'x-gateway-config': 'via-lost' };
    await within(STEADY, 200, headers);
    put('lost-creds.yaml', undefined);
    expect(await within(STEADY, 503, headers)).toBeLessThan(1_000);
    const count = upstream.calls.length;
    const response = await ask(STEADY, headers);
    expect(await response.json()).toMatchObject({ error: { code: 'credential_unavailable' } });
    expect(upstream.calls).toHaveLength(count);
  });
});

describe('objects under load', () => {
  it('that are refused, conflicting or foreign never take a good one down', async () => {
    put('good.yaml', config('good', { provider: 'simulator' }));
    await within(STEADY, 200, { 'x-gateway-config': 'good' });
    const bad = [
      config('bad', { provider: 'simulator', retry: { attempts: 99 } }),
      config('good', { provider: 'simulator', weight: 1 }),
      config('lost', { provider: '@nobody' }),
      defaultConfig('second-default', { provider: 'simulator' }),
      apiKey('steady', 'another-key-for-steady'),
      object('Nonsense', 'x', {}),
      'kind: [',
      '\u0000\u0001\u0002',
      '---\n---\n- 1\n- 2\n',
      'x'.repeat(200_000),
      `a: &a [${'*a,'.repeat(50)}*a]`,
    ];
    const failed = await underLoad(async () => {
      for (const [index, text] of bad.entries()) {
        put(`z-${index}.yaml`, text);
        await sleep(120);
        expect(await statusOf(STEADY, { 'x-gateway-config': 'good' }), text.slice(0, 60)).toBe(200);
      }
    });
    for (const index of bad.keys()) put(`z-${index}.yaml`, undefined);
    expect(failed).toEqual([]);
    expect((await fetch(`${gateway.admin}/readyz`)).status).toBe(200);
    expect(gateway.errors()).toBe('');
  });

  it('that are added are served within a second, one after the other', async () => {
    for (let index = 0; index < 5; index += 1) {
      const headers = { 'x-gateway-config': `new-${index}` };
      expect(await statusOf(STEADY, headers)).toBe(400);
      put(`new-${index}.yaml`, config(`new-${index}`, { provider: 'simulator' }));
      expect(await within(STEADY, 200, headers)).toBeLessThan(1_000);
    }
  });

  it.each([
    ['in pieces', 'piece'],
    ['by renaming', 'renamed'],
  ])('that are written %s are never served half', async (how, word) => {
    const failed = await underLoad(async () => {
      for (let turn = 0; turn < 4; turn += 1) {
        const text = `${HOUSE}# ${'-'.repeat(2_000)}\n${config(`${word}-${turn}`, { provider: 'simulator' })}`;
        const path = gateway.folder.at('m/a.yaml');
        if (how === 'by renaming') {
          writeFileSync(`${path}.new`, text);
          renameSync(`${path}.new`, path);
        } else
          for (let end = 0; end <= text.length + 400; end += 400) {
            writeFileSync(path, text.slice(0, end));
            await sleep(15);
          }
        const served = await within(STEADY, 200, { 'x-gateway-config': `${word}-${turn}` });
        expect(served).toBeLessThan(1_000);
      }
    });
    expect(failed).toEqual([]);
  });
});
