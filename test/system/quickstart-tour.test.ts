/** What the quick start shows without any account: a guardrail, the cache, a prompt, and limits that nobody meets by chance. */
import { cpSync, readFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { waitFor } from '../fakes/wait-for.ts';
import { endAll, type Running, start } from '../operator/embedded-process.ts';
import { makeFolder } from '../operator/folder.ts';
import { REPOSITORY } from '../operator/worlds.ts';

const LIMITS = 'copy/limits.yaml';
const FAILED = { verdict: false, deny: true };

let running: Running;
let key = '';

beforeAll(async () => {
  const folder = makeFolder();
  cpSync(`${REPOSITORY}/crds/examples/quickstart`, folder.at('copy'), { recursive: true });
  running = await start(folder, ['--manifests', 'copy']);
  const secret = readFileSync(folder.at('.model-gateway/secrets/default/quickstart-api-key.yaml'), 'utf8');
  key = (parse(secret) as { stringData: { api_key: string } }).stringData.api_key;
});
afterAll(endAll);

async function post(path: string, body: object, config?: string) {
  const response = await fetch(`${running.origin}/v1/${path}`, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      authorization: `Bearer ${key}`,
      ...(config !== undefined && { 'x-gateway-config': config }),
    },
    body: JSON.stringify(body),
  });
  return { status: response.status, headers: response.headers, body: await response.json() };
}

const chat = (content: string, config?: string) =>
  post('chat/completions', { model: 'any', messages: [{ role: 'user', content }] }, config);
const answered = (content: string) => ({ choices: [{ message: { content } }] });

describe('the quick start', () => {
  it('serves every object that it has', () => {
    const rows = [...running.out().matchAll(/^\w+ +default\/[\w-]+ +(\w.*?) +copy\/\S+$/gm)].map(([, said]) => said);
    expect(rows).toHaveLength(9);
    for (const said of rows) expect(said).not.toContain('False');
  });

  it('answers a call that names no config, after a fallback', async () => {
    const { status, headers, body } = await chat('Hello');
    expect({ status, body }).toMatchObject({ status: 200, body: answered('Hello') });
    expect(headers.get('x-gateway-last-used-option-index')).toBe('config.targets[1]');
    expect(headers.get('x-gateway-cache-status')).not.toBe('HIT');
  });

  it.each([
    ['a word', 'The word is SwordFish.', 'default.contains'],
    ['a credential', `My key is ghp_${'aB3dE6gH9'.repeat(4)}`, 'default.secrets'],
  ])('denies %s with 446, and tells by which check', async (_what, content, check) => {
    const { status, body } = await chat(content, 'guarded');
    expect(status).toBe(446);
    const { before_request_hooks: hooks } = (body as { hook_results: { before_request_hooks: HookResult[] } })
      .hook_results;
    expect(hooks).toMatchObject([{ id: 'no-secrets', ...FAILED }]);
    expect(hooks[0]?.checks.filter(({ verdict }) => !verdict).map(({ id }) => id)).toEqual([check]);
  });

  it('lets pass with the same config what holds nothing forbidden', async () => {
    expect(await chat('Hello', 'guarded')).toMatchObject({ status: 200, body: answered('Hello') });
  });

  it('answers from the cache what was asked before', async () => {
    const first = await chat('What is a gateway?', 'cached');
    const again = await chat('What is a gateway?', 'cached');
    const other = await chat('What is a cache?', 'cached');
    expect([first, again, other].map(({ headers }) => headers.get('x-gateway-cache-status'))).toEqual([
      'MISS',
      'HIT',
      'MISS',
    ]);
    expect(again.body).toMatchObject(answered('What is a gateway?'));
  });

  it('fills in the prompt, and answers with it', async () => {
    const variables = { name: 'Ada', language: 'French' };
    expect(await post('prompts/greeting/render', { variables })).toMatchObject({
      status: 200,
      body: {
        success: true,
        data: {
          model: 'echo',
          messages: [
            { role: 'system', content: 'You greet in French.' },
            { role: 'user', content: 'Say hello to Ada.' },
          ],
        },
      },
    });
    expect(await post('prompts/greeting/completions', { variables: { name: 'Ada' } })).toMatchObject({
      status: 200,
      body: answered('Say hello to Ada.'),
    });
  });

  it('names the variable of the prompt that is missing', async () => {
    expect(await post('prompts/greeting/render', { variables: { language: 'French' } })).toMatchObject({
      status: 400,
      body: {
        error: { code: 'missing_variable', param: 'variables.name', message: expect.stringContaining('"greeting"') },
      },
    });
  });

  it('lists models', async () => {
    const response = await fetch(`${running.origin}/v1/models`, { headers: { authorization: `Bearer ${key}` } });
    expect(response.status).toBe(200);
  });

  // Last: from here on calls are refused.
  it('limits the rate as soon as the policy says 1', async () => {
    const text = readFileSync(running.folder.at(LIMITS), 'utf8');
    expect(text).toMatch(/^ {2}value: \d+$/m);
    running.folder.write(LIMITS, text.replace(/^ {2}value: \d+$/m, '  value: 1'));
    await waitFor(async () => (await chat('Hello')).status === 429, 'a call to be refused', 15_000);
    const { headers, body } = await chat('Hello');
    expect(body).toMatchObject({ error: { code: 'rate_limited' } });
    expect(Number(headers.get('retry-after'))).toBeGreaterThan(0);
  });
});

interface HookResult {
  readonly checks: readonly { readonly id: string; readonly verdict: boolean }[];
}
