/** Hosts that a request names: an outsider's word, good only where the installation lists the origin. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { object, secret } from '../fakes/objects.ts';
import { redirect } from '../fakes/replies.ts';
import { failureOf, HI, HI_MESSAGE, type Stage, startStage } from './stage.ts';

let listed: Stage;
let unlisted: Stage;
const MANIFESTS = [
  secret('creds', { key: 'stored-key' }),
  object('Integration', 'prod', {
    provider: 'openai',
    secret_mappings: [{ target_field: 'api_key', secret_name: 'creds', secret_key: 'key' }],
  }),
].join('');

beforeAll(async () => {
  [listed, unlisted] = await Promise.all([
    startStage(
      2,
      () => MANIFESTS,
      ([first]) => ({ requestHosts: [first?.origin ?? '', 'https://llm.example', 'http://localhost:9'] }),
    ),
    startStage(1, () => MANIFESTS),
  ]);
});
afterAll(() => Promise.all([listed.close(), unlisted.close()]));

const ROUTES = [
  '/v1/chat/completions',
  '/v1/completions',
  '/v1/embeddings',
  '/v1/messages',
  '/v1/messages/count_tokens',
];
const BODIES: Record<string, object> = {
  '/v1/completions': { model: 'm', prompt: 'x' },
  '/v1/embeddings': { model: 'm', input: 'x' },
  '/v1/messages': HI_MESSAGE,
  '/v1/messages/count_tokens': HI,
};

function direct(stage: Stage, path: string, host: string): Promise<Response> {
  const provider = path.startsWith('/v1/messages') ? 'anthropic' : 'openai';
  const headers = { 'x-gateway-provider': provider, authorization: 'Bearer own', 'x-gateway-custom-host': host };
  return stage.gateway.post(path, BODIES[path] ?? HI, headers);
}

async function codeOf(response: Response): Promise<string> {
  const body = JSON.stringify(await response.json());
  return `${response.status} ${/host_not_allowed|override_not_allowed|invalid_request_error/.exec(body)?.[0]}`;
}

describe('with no origin listed', () => {
  it.each(ROUTES)('%s refuses a header and an inline config that name one', async (path) => {
    const { origin } = unlisted.at(0);
    const response = await direct(unlisted, path, `${origin}/v1`);
    expect(response.status).toBe(400);
    const inline = JSON.stringify({ provider: 'openai', api_key: 'k', custom_host: `${origin}/v1` });
    const second = await unlisted.gateway.post(path, BODIES[path] ?? HI, { 'x-gateway-config': inline });
    expect(second.status).toBe(400);
    expect(unlisted.at(0).connections.accepted).toBe(0);
  });

  it('says that an override is not allowed', async () => {
    const response = await direct(unlisted, '/v1/chat/completions', `${unlisted.at(0).origin}/v1`);
    expect(await failureOf(response)).toMatchObject({ status: 400, code: 'override_not_allowed' });
  });
});

describe('with origins listed', () => {
  it('a listed one is asked, with the caller’s own credential', async () => {
    const response = await direct(listed, '/v1/chat/completions', `${listed.at(0).origin}/v1`);
    expect(response.status).toBe(200);
    expect(listed.at(0).calls.at(-1)?.headers.authorization).toBe('Bearer own');
  });

  it('and never with a stored one', async () => {
    const headers = { 'x-gateway-provider': '@prod', 'x-gateway-custom-host': `${listed.at(0).origin}/v1` };
    await listed.gateway.chat(HI, headers);
    const sent = JSON.stringify(listed.at(0).calls.at(-1)?.rawHeaders ?? []);
    expect(sent).not.toContain('stored-key');
  });

  it('an inline config may name one too', async () => {
    const inline = { provider: 'openai', api_key: 'inline-key', custom_host: `${listed.at(0).origin}/v1` };
    const response = await listed.gateway.chat(HI, { 'x-gateway-config': JSON.stringify(inline) });
    expect(response.status).toBe(200);
    expect(listed.at(0).calls.at(-1)?.headers.authorization).toBe('Bearer inline-key');
  });

  const REFUSED = [
    'http://127.0.0.1:8080/v1',
    'http://2130706433/v1',
    'http://0x7f.1/v1',
    'http://0177.0.0.1/v1',
    'http://127.1/v1',
    'http://１２７.0.0.1/v1',
    'http://[::1]/v1',
    'http://[::ffff:7f00:1]/v1',
    'http://[::ffff:127.0.0.1]/v1',
    'http://169.254.169.254/latest/meta-data',
    'http://[fe80::1]/v1',
    'http://[fd00::1]/v1',
    'http://10.0.0.1/v1',
    'http://192.168.1.1/v1',
    'http://localhost./v1',
    'http://localhost/v1',
    'http://metadata.google.internal/v1',
    'http://0.0.0.0/v1',
    'https://llm.example.evil.example/v1',
    'https://llm.example:444/v1',
    'http://llm.example/v1',
    'https://llm.example@evil.example/v1',
    'https://user:pass@llm.example/v1',
    'https://evil.example#.llm.example/v1',
    'https://evil.example\\@llm.example/v1',
    'ftp://llm.example/v1',
    'file:///etc/passwd',
    'javascript:alert(1)',
    'llm.example/v1',
    '//llm.example/v1',
    'https://',
    'not a url',
  ];
  it.each(REFUSED.flatMap((host) => [ROUTES[0] ?? '', '/v1/messages'].map((path) => [host, path] as const)))(
    '%s is refused on %s',
    async (host, path) => {
      const response = await direct(listed, path, Buffer.from(host).toString('latin1'));
      expect(await codeOf(response)).toMatch(/^400 (host_not_allowed|invalid_request_error)/);
      expect(listed.at(1).connections.accepted).toBe(0);
    },
  );

  it('a listed name that leads to a private address which is not listed is refused', async () => {
    const failure = await failureOf(await direct(listed, '/v1/chat/completions', 'http://localhost:9/v1'));
    expect(failure).toMatchObject({ status: 400, code: 'host_not_allowed' });
  });

  it.each([301, 302, 307, 308])('a redirect %i is not followed', async (status) => {
    listed.at(0).answer(redirect(`${listed.at(1).origin}/v1/chat/completions`, status));
    const failure = await failureOf(await direct(listed, '/v1/chat/completions', `${listed.at(0).origin}/v1`));
    expect(failure).toMatchObject({ status: 502, code: 'upstream_redirect' });
    expect(listed.at(1).connections.accepted).toBe(0);
  });
});
