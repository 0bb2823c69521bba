/** G36, the other mouths: answers of failing upstreams, what commands print, the table of the start, a terminal's log. */
import { spawnSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { HI, HI_MESSAGE, type Stage, startStage, target } from '../conformance/stage.ts';
import { apiKey, config, defaultConfig, object, secret } from '../fakes/objects.ts';
import { json, text } from '../fakes/replies.ts';
import { startUpstream, type Upstream } from '../fakes/upstream.ts';
import { endAll, start } from '../operator/embedded-process.ts';
import { makeFolder, until } from '../operator/folder.ts';
import { NODE, REPOSITORY } from '../operator/worlds.ts';

function canary(what: string): string {
  return `canary-${what}-${randomBytes(12).toString('hex')}`;
}

const STORED = canary('stored');
const INLINE = canary('config');
const CLAUDE = canary('claude');
const ALL = [STORED, INLINE, CLAUDE];

let stage: Stage;
beforeAll(async () => {
  stage = await startStage(1, ([upstream]) => {
    const up = upstream as Upstream;
    const integration = (name: string, provider: string, key: string) =>
      secret(`${name}-creds`, { key }) +
      object('Integration', name, {
        provider,
        secret_mappings: [{ target_field: 'api_key', secret_name: `${name}-creds`, secret_key: 'key' }],
        configurations: { custom_host: `${up.origin}/v1` },
      });
    return (
      integration('prod', 'openai', STORED) +
      integration('claude', 'anthropic', CLAUDE) +
      config('own', target(up, { api_key: INLINE })) +
      config('again', target(up, { api_key: INLINE, retry: { attempts: 1, on_status_codes: [500] } })) +
      config('both', { strategy: { mode: 'fallback' }, targets: [{ provider: '@prod' }, { provider: '@claude' }] })
    );
  });
});
afterAll(() => stage.close());

const ways = [
  ['an Integration', { 'x-gateway-provider': '@prod' }],
  ['an Integration of the other dialect', { 'x-gateway-provider': '@claude' }],
  ['a config', { 'x-gateway-config': 'own' }],
  ['a fallback', { 'x-gateway-config': 'both' }],
] as const;

/** What a careless provider says of the request that it was sent. */
function echoing(status: number) {
  const said = `The key ${ALL.join(' or ')} (Bearer ${STORED}) is not good here.`;
  return json(status, {
    type: 'error',
    error: { message: said, type: `wrong ${STORED}`, code: `key-${INLINE}`, param: `header ${CLAUDE}` },
  });
}

describe('an upstream that says the credential it was sent', () => {
  it.each(
    ways.flatMap(([way, headers]) =>
      [400, 401, 403, 404, 422, 429, 500, 503].map((status) => ({ way, status, headers })),
    ),
  )('$status through $way: the caller and the log do not learn it', async ({ status, headers }) => {
    stage.at(0).answer(echoing(status));
    const answers = [
      await stage.gateway.chat(HI, headers),
      await stage.gateway.chat({ ...HI, stream: true }, headers),
      await stage.gateway.post('/v1/messages', HI_MESSAGE, headers),
    ];
    for (const answer of answers) {
      expect(answer.status).toBeGreaterThanOrEqual(400);
      const seen = (await answer.text()) + JSON.stringify([...answer.headers]);
      const call = stage.at(0).calls.at(-1)?.headers ?? {};
      const sent = [call['authorization']?.replace('Bearer ', ''), call['x-api-key']].filter(
        (key) => key !== undefined,
      );
      expect(sent.length).toBe(1);
      for (const key of sent) expect(seen).not.toContain(key);
    }
  });

  it('is still understood: the rest of its message is kept', async () => {
    stage.at(0).answer(json(400, { error: { message: `No ${STORED}, no answer.`, code: 'no_answer' } }));
    const answer = await stage.gateway.chat(HI, { 'x-gateway-provider': '@prod' });
    expect(await answer.json()).toMatchObject({ error: { message: 'No ***, no answer.', code: 'no_answer' } });
  });

  it('tells callers who brought the credential themselves all of it', async () => {
    const own = canary('own');
    stage.at(0).answer(json(400, { error: { message: `No ${own}, no answer.` } }));
    const headers = { 'x-gateway-provider': 'openai', authorization: `Bearer ${own}` };
    const hosted = await startStage(0, undefined, () => ({ requestHosts: [stage.at(0).origin] }));
    const answer = await hosted.gateway.chat(HI, { ...headers, 'x-gateway-custom-host': `${stage.at(0).origin}/v1` });
    expect(await answer.text()).toContain(`No ${own}, no answer.`);
    await hosted.close();
  });

  it('says it in plain text: nothing of that is handed on', async () => {
    stage.at(0).answer(text(500, `trace: authorization: Bearer ${STORED}`));
    const answer = await stage.gateway.chat(HI, { 'x-gateway-provider': '@prod' });
    expect(await answer.text()).not.toContain(STORED);
    expect(JSON.stringify(await stage.gateway.logs())).not.toContain('canary');
  });
});

describe('what processes print', () => {
  afterEach(endAll);

  const key = canary('gateway-key');
  const given = { stored: canary('in-secret'), config: canary('in-config'), environment: canary('in-environment') };
  const manifests = (host: string) =>
    apiKey('mine', key) +
    secret('creds', { key: given.stored, other: '$' + '{env:MY_CREDENTIAL}' }) +
    object('Integration', 'prod', {
      provider: 'openai',
      secret_mappings: [{ target_field: 'api_key', secret_name: 'creds', secret_key: 'other' }],
      configurations: { custom_host: host },
    }) +
    config('via', { provider: '@prod' }) +
    defaultConfig('house', { provider: 'openai', api_key: given.config, custom_host: host });
  /** Objects at fault in places that hold a secret, or next to one. */
  const faulty = [
    config('bad-key', { provider: 'openai', api_key: 17, cloud1_secret_access_key: given.config }),
    config('bad-field', { provider: 'openai', api_key: given.config, api_keys: given.config }),
    config('bad-type', { provider: 'openai', api_key: { value: given.config } }),
    config('bad-json', { provider: 'openai', cloud2_service_account_json: given.config }),
    config('long-key', { provider: 'openai', api_key: given.config.repeat(400) }),
    object('Integration', 'bad-mapping', { provider: 'openai', configurations: { api_key: given.config } }),
    secret('bad-secret', { api_key: given.stored, nested: { a: given.stored } as unknown as string }),
    apiKey('short', 'short-canary').replace('short-canary', 'canary-1'),
  ].join('');
  const secrets = [key, ...Object.values(given)];

  it.each([
    ['good manifests', () => manifests('http://127.0.0.1:9/v1'), 0],
    ['faulty manifests', () => manifests('http://127.0.0.1:9/v1') + faulty, 1],
    ['a file that is cut in the middle of a key', () => manifests('http://127.0.0.1:9/v1').slice(0, 150), 1],
    ['YAML with a secret at the fault', () => `a: [${given.stored}\nb: ${given.config}: : x`, 1],
  ])('validate: %s', (_what, make, status) => {
    const folder = makeFolder({ 'm/a.yaml': make() });
    const result = spawnSync(NODE, [`${REPOSITORY}/operator/validate.ts`, 'm'], {
      cwd: folder.path,
      encoding: 'utf8',
      env: { PATH: process.env.PATH, INIT_CWD: folder.path, MY_CREDENTIAL: given.environment },
    });
    folder.remove();
    expect(result.status).toBe(status);
    for (const value of [...secrets, 'canary-1']) expect(result.stdout + result.stderr).not.toContain(value);
  });

  it('embedded mode: its table, its log of every level, its admin port, its answers', async () => {
    const upstream = await startUpstream(echoing(400));
    const running = await start(
      makeFolder({ 'm/a.yaml': manifests(`${upstream.origin}/v1`) + faulty }),
      ['--manifests', 'm', '--log-level', 'debug'],
      { MY_CREDENTIAL: given.environment },
    );
    const post = (headers: Readonly<Record<string, string>>) =>
      fetch(`${running.origin}/v1/chat/completions`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', authorization: `Bearer ${key}`, ...headers },
        body: JSON.stringify({ ...HI, messages: [{ role: 'user', content: given.stored }] }),
      });
    for (const headers of [{}, { 'x-gateway-config': 'via' }, { authorization: `Bearer ${key}x` }])
      await (await post(headers)).text();
    expect(upstream.calls.map(({ headers }) => headers['authorization'])).toEqual([
      `Bearer ${given.config}`,
      `Bearer ${given.environment}`,
    ]);
    running.folder.write('m/a.yaml', manifests(`${upstream.origin}/v2`));
    await until(() => running.out().includes('generation 2'), 5_000, running.out);
    const pages = ['/config', '/config?objects', '/metrics', '/readyz'];
    const told = await Promise.all(pages.map(async (page) => (await fetch(running.admin + page)).text()));
    running.child.kill('SIGTERM');
    expect(await running.ended).toBe(0);
    await upstream.close();
    expect(running.out()).toContain('"msg":"request"');
    const everything = [...told, running.out(), running.errors()].join('\n');
    for (const value of [...secrets, 'canary-1']) expect(everything).not.toContain(value);
  });
});
