/** What the README says works. */
import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import OpenAI from 'openai';
import { afterEach, describe, expect, it } from 'vitest';
import { endAll, start } from './embedded-process.ts';
import { makeFolder } from './folder.ts';
import { NODE, REPOSITORY } from './worlds.ts';

afterEach(endAll);

const README = readFileSync(join(REPOSITORY, 'README.md'), 'utf8');
const PACKAGE = JSON.parse(readFileSync(join(REPOSITORY, 'package.json'), 'utf8')) as {
  scripts: Record<string, string>;
};

/** Text of the first fenced block of a language. */
function block(language: string): string {
  const found = new RegExp(`\`\`\`${language}\\n([\\s\\S]*?)\`\`\``).exec(README)?.[1];
  if (found === undefined) throw new Error(`the README has no ${language}`);
  return found;
}

describe('the README', () => {
  it('opens with the two commands', () => {
    expect(README.split('\n').slice(0, 5)).toEqual(['# model-gateway', '', '    npm start', '    npm test', '']);
  });

  it('names only commands that there are', () => {
    const commands = [...README.matchAll(/(?:`| {4}|\n|\.\.\. )npm (?:run )?(\w+)/g)].map((match) => match[1] ?? '');
    expect(commands.length).toBeGreaterThan(8);
    for (const command of commands) expect(Object.keys(PACKAGE.scripts)).toContain(command);
  });

  it('links only to what there is', () => {
    const links = [...README.matchAll(/\]\((?!http)([^)#]+)\)/g)].map((match) => match[1] ?? '');
    expect(links.length).toBeGreaterThan(1);
    for (const link of links) expect(existsSync(join(REPOSITORY, link))).toBe(true);
  });

  it('has a first manifest that is accepted whole', () => {
    const folder = makeFolder({ 'my/team.yaml': block('yaml') });
    try {
      const { status, stdout, stderr } = spawnSync(NODE, [join(REPOSITORY, 'operator/validate.ts'), 'my'], {
        cwd: REPOSITORY,
        env: { PATH: process.env.PATH, INIT_CWD: folder.path, OPENAI_API_KEY: 'sk-of-nobody' },
        encoding: 'utf8',
      });
      expect({ status, stdout, stderr }).toEqual({
        status: 0,
        stdout: '4 objects, 4 accepted, 0 refused\n',
        stderr: '',
      });
    } finally {
      folder.remove();
    }
  });

  it('has a first manifest that answers, and the SDK reaches it', async () => {
    // The account that nobody has refuses connections: the simulator behind it answers.
    const manifest = block('yaml')
      .replace('provider: openai\n', 'provider: openai\n  configurations: {custom_host: "http://127.0.0.1:1/v1"}\n')
      .replace(/ {2}retry: .*\n/, '');
    const { origin, folder } = await start(makeFolder({ 'my/team.yaml': manifest }), ['--manifests', 'my'], {
      OPENAI_API_KEY: 'sk-of-nobody',
    });
    const secret = readFileSync(folder.at('.model-gateway/secrets/default/checkout-api-key.yaml'), 'utf8');
    const apiKey = /api_key: *"?([^"\s]+)/.exec(secret)?.[1] ?? '';
    const client = new OpenAI({ baseURL: `${origin}/v1`, apiKey, maxRetries: 0 });
    const stream = await client.chat.completions.create({
      model: 'any',
      messages: [{ role: 'user', content: 'Hello' }],
      stream: true,
    });
    let text = '';
    for await (const chunk of stream) text += chunk.choices[0]?.delta.content ?? '';
    expect(text).toBe('Hello');
  });

  it('has the figures of the bench, and how they were taken', () => {
    expect(README).toMatch(/\| requests of 300 B\/s \| [\d,]+ \| [\d,]+ \| [\d,]+ \|/);
    expect(README).toMatch(/Node [\d.]+, nginx [\d.]+/);
  });
});
