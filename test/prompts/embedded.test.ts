/** Versions in embedded mode: files of ours, which a restart finds again, however the process before it ended. */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { apiKey, object } from '../fakes/objects.ts';
import { waitFor } from '../fakes/wait-for.ts';
import { endAll, type Running, start } from '../operator/embedded-process.ts';
import { type Folder, makeFolder } from '../operator/folder.ts';

const KEY = 'key-of-prompts-0123456789';
const ALLOWED = apiKey('me', KEY, { scopes: ['prompts.render', 'completions.write'] });
const prompt = (string: string, more: object = {}) => ALLOWED + object('Prompt', 'p', { string, ...more });

afterEach(endAll);

const begin = (folder: Folder) => start(folder, ['--manifests', 'm']);

async function render({ origin }: Running, reference: string): Promise<string> {
  const response = await fetch(`${origin}/v1/prompts/${reference}/render`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'x-gateway-api-key': KEY },
    body: JSON.stringify({ variables: { n: 1 } }),
  });
  const body = (await response.json()) as { data?: { prompt: string }; error?: { code: string } };
  return body.data?.prompt ?? String(body.error?.code);
}

function becomes(running: Running, reference: string, text: string): Promise<unknown> {
  return waitFor(async () => (await render(running, reference)) === text, `${reference} to be ${text}`, 15_000);
}

/** Texts of the versions on disk, by file. */
function versionsOn(folder: Folder): Record<string, string> {
  const directory = join(folder.path, '.model-gateway/objects/PromptVersion/default');
  const files = readdirSync(directory).sort();
  const contents = files.map(
    (file) => parse(readFileSync(join(directory, file), 'utf8')) as { spec: { content: string } },
  );
  return Object.fromEntries(files.map((file, at) => [file, JSON.parse(contents[at]?.spec.content ?? '{}').string]));
}

async function crash({ child, ended }: Running): Promise<void> {
  child.kill('SIGKILL');
  await ended;
}

describe('versions in embedded mode', () => {
  it('outlive restarts and crashes, and none is made twice', async () => {
    const folder = makeFolder({ 'm/all.yaml': prompt('one {{n}}') });
    let running = await begin(folder);
    await becomes(running, 'p', 'one 1');
    folder.write('m/all.yaml', prompt('two {{n}}'));
    await becomes(running, 'p', 'two 1');
    expect(await render(running, 'p@1')).toBe('one 1');
    await crash(running);
    running = await begin(folder);
    await becomes(running, 'p@latest', 'two 1');
    expect(await render(running, 'p@1')).toBe('one 1');
    await crash(running);
    // What was edited while nobody watched is a version too.
    folder.write('m/all.yaml', prompt('three {{n}}', { publish: false }));
    running = await begin(folder);
    await becomes(running, 'p@latest', 'three 1');
    expect(await render(running, 'p')).toBe('two 1');
    expect(versionsOn(folder)).toEqual({
      'prompt.p.v1.yaml': 'one {{n}}',
      'prompt.p.v2.yaml': 'two {{n}}',
      'prompt.p.v3.yaml': 'three {{n}}',
    });
    expect(running.errors()).toBe('');
  }, 90_000);

  it('a process that is killed at any moment of an edit leaves whole versions', async () => {
    const folder = makeFolder({ 'm/all.yaml': prompt('v0') });
    for (let round = 1; round <= 4; round += 1) {
      const running = await begin(folder);
      folder.write('m/all.yaml', prompt(`v${round}`));
      await new Promise((resolve) => setTimeout(resolve, round * 40));
      await crash(running);
    }
    const running = await begin(folder);
    await becomes(running, 'p', 'v4');
    const texts = Object.values(versionsOn(folder));
    expect(texts[0]).toBe('v0');
    expect(texts.at(-1)).toBe('v4');
    expect(new Set(texts).size).toBe(texts.length);
    expect(running.out()).not.toContain('failed');
  }, 90_000);
});
