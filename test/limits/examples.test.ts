/** The examples of limits: valid, and meaning what their comments say. */
import { spawnSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { HI } from '../conformance/stage.ts';
import { startTestGateway, type TestGateway } from '../fakes/gateway.ts';
import { defaultConfig } from '../fakes/objects.ts';
import { waitFor } from '../fakes/wait-for.ts';
import { NODE, REPOSITORY } from '../operator/worlds.ts';
import { answerOf, rates } from './stage.ts';

const FOLDER = join(REPOSITORY, 'crds', 'examples', 'limits');
const FILES = readdirSync(FOLDER).sort();
const TEXTS = FILES.map((name) => readFileSync(join(FOLDER, name), 'utf8'));

describe('crds/examples/limits', () => {
  it('is accepted by the command that validates, but for what is not its own', () => {
    const { status, stdout, stderr } = spawnSync(NODE, [join(REPOSITORY, 'operator/validate.ts'), FOLDER], {
      encoding: 'utf8',
      timeout: 20_000,
      env: { PATH: process.env.PATH },
    });
    expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
    expect(stdout).toMatch(/^\S+ Namespace\/team-red: ForeignKind: .*\n4 objects, 4 accepted, 0 refused, 1 ignored\n$/);
  });

  it('is applied by kubectl in the order of its names: the namespace first', () => {
    const kinds = TEXTS.map((text) => (parse(text) as { kind: string }).kind);
    expect(kinds[0]).toBe('Namespace');
    expect(kinds.slice(1).sort()).toEqual(['ApiKey', 'RateLimitPolicy', 'UsageLimitPolicy', 'Workspace']);
  });
});

describe('a gateway with these examples', () => {
  let gateway: TestGateway;
  beforeAll(async () => {
    const own = TEXTS.filter((text) => !text.includes('kind: Namespace')).join('\n---\n');
    const chat = defaultConfig('chat', { provider: 'simulator', override_params: { model: 'echo' } }, 'team-red');
    gateway = await startTestGateway({ manifests: `${own}\n${chat}` });
  });
  afterAll(() => gateway.close());

  const ask = async (headers: Readonly<Record<string, string>> = {}) => {
    const key = gateway.keyIn('team-red', 'robot-api-key');
    return answerOf(await gateway.chat({ ...HI, max_tokens: 20 }, { 'x-gateway-api-key': key, ...headers }));
  };
  const usage = async () =>
    (await (await fetch(`${gateway.adminOrigin}/usage`)).json()) as {
      budgets: readonly { id: string; group: readonly string[]; used: string }[];
    };

  it('tells the caller of the strictest of its rate limits', async () => {
    const { status, headers } = await ask();
    expect(status).toBe(200);
    expect(rates(headers, 'requests').slice(0, 2)).toEqual(['600', '599']);
    expect(rates(headers, 'tokens')[0]).toBe('100000');
  });

  it('refuses what no window has room for', async () => {
    const key = gateway.keyIn('team-red', 'robot-api-key');
    const refused = await answerOf(await gateway.chat({ ...HI, max_tokens: 100_001 }, { 'x-gateway-api-key': key }));
    expect(refused).toMatchObject({ status: 400, code: 'request_exceeds_limit' });
    expect(refused.message).toContain('tokens-per-key');
  });

  it('counts for the team of the workspace, whatever the request says', async () => {
    await ask({ 'x-gateway-metadata': '{"team": "blue"}' });
    const groups = async () => (await usage()).budgets.map(({ group }) => group.join()).sort();
    await waitFor(async () => (await groups()).length === 3, 'three budgets', 5_000);
    // Those of the key and of the workspace have no groups.
    expect(await groups()).toEqual(['', '', 'red']);
  });
});
