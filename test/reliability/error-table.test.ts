/** Every code of the table, provoked: its status, its type, its one envelope, and a word in the documentation. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ERRORS, type ErrorCode } from '#gateway/errors.ts';
import { HI, type Stage, startStage, target } from '../conformance/stage.ts';
import { startTestGateway } from '../fakes/gateway.ts';
import { apiKey, config, defaultConfig, object } from '../fakes/objects.ts';
import { openAiEvents } from '../fakes/openai-wire.ts';
import { rawExchange } from '../fakes/raw.ts';
import { hangBeforeHeaders, json, pieces, type Reply, redirect, resetMidBody, text } from '../fakes/replies.ts';
import { startUpstream, type Upstream } from '../fakes/upstream.ts';

const CHAT = '/v1/chat/completions';
let stage: Stage;
beforeAll(async () => {
  stage = await startStage(
    1,
    ([upstream]) => {
      const up = upstream as Upstream;
      return [
        defaultConfig('house', target(up)),
        config('hasty', target(up, { request_timeout: 50 })),
        config('stalling', { strategy: { mode: 'single', stream_idle_timeout: 50 }, targets: [target(up)] }),
        config('anthropic', target(up, { provider: 'anthropic' })),
        config('refused', { provider: 'openai', api_key: 'k', custom_host: 'http://127.0.0.1:1/v1' }),
        config('tls', { provider: 'openai', api_key: 'k', custom_host: `https://127.0.0.1:${up.port}/v1` }),
        config('bare', { retry: { attempts: 1 } }),
        object('Integration', 'few', {
          provider: 'simulator',
          allow_all_models: false,
          models: [{ slug: 'yes', enabled: true }],
        }),
        apiKey('fixed', 'fixed-key-of-table', { defaults: { config_id: 'house', allow_config_override: false } }),
        apiKey('reader', 'reader-key-of-table', { scopes: ['logs.list'] }),
      ].join('');
    },
    ([upstream]) => ({ requestHosts: [upstream?.origin ?? ''], limits: { firstByteMs: 150, attemptsMs: 60_000 } }),
  );
});
afterAll(() => stage.close());

const ask = (headers: Record<string, string> = {}, body: unknown = HI, path = CHAT) =>
  stage.gateway.post(path, body, headers);
const named = (name: string, body?: unknown) => ask({ 'x-gateway-config': name }, body);

function upstreamSays(reply: Reply, name = 'house', body: unknown = HI): Promise<Response> {
  stage.at(0).answer(reply);
  return named(name, body);
}

const direct = (host: string) =>
  ask({ 'x-gateway-provider': 'openai', authorization: 'Bearer own', 'x-gateway-custom-host': host });

/** Requests that need bytes of their own: as a Response of what came back. */
async function raw(bytes: string): Promise<Response> {
  const { first } = await rawExchange(stage.gateway.origin, bytes, { waitMs: 1_500 });
  return new Response(first?.body, { status: first?.status ?? 599 });
}

async function elsewhere(
  run: (gateway: Awaited<ReturnType<typeof startTestGateway>>) => Promise<Response>,
  options = {},
): Promise<Response> {
  const gateway = await startTestGateway(options);
  try {
    const response = await run(gateway);
    const body = await response.text();
    return new Response(body, { status: response.status });
  } finally {
    await gateway.close();
  }
}

function policy(kind: string, spec: object): string {
  const about = { conditions: [{ key: 'api_key', value: '*' }], group_by: [{ key: 'api_key' }] };
  return object(kind, 'tight', { ...spec, ...about });
}

function limitedBy(manifests: string): Promise<Response> {
  return elsewhere((gateway) => gateway.chat(HI, { 'x-gateway-config': '{"provider":"simulator"}' }), { manifests });
}

/** A prompt that asks for one variable. */
function filled(variables: object): Promise<Response> {
  const spec = { string: 'Hello {{name}}', variables: { name: { required: true } } };
  return elsewhere((gateway) => gateway.post('/v1/prompts/greet/completions', { variables }), {
    manifests: object('Prompt', 'greet', spec),
  });
}

function checkedBy(check: object): Promise<Response> {
  return named(JSON.stringify({ provider: 'simulator', input_guardrails: [{ ...check, deny: true }] }));
}

/** Two at once with a key that may have one: the second is refused, the first hangs until its own time is over. */
async function tooMany(): Promise<Response> {
  const hanging = await startUpstream(hangBeforeHeaders);
  const key = 'one-at-a-time-of-table';
  const manifests = apiKey('one', key, { concurrency: { max_in_flight: 1 } }) + config('slow', target(hanging));
  try {
    return await elsewhere(
      async (gateway) => {
        const headers = { 'x-gateway-api-key': key, 'x-gateway-config': 'slow' };
        const first = gateway.chat(HI, { ...headers, 'x-gateway-request-timeout': '500' });
        await hanging.called(1);
        const second = await gateway.chat(HI, headers);
        await (await first).text();
        return second;
      },
      { manifests },
    );
  } finally {
    await hanging.close();
  }
}

/**
 * A defect cannot be provoked; a race of circuits and a shutdown are where routing and draining are tested, and what the
 * operator says of the control plane where that is.
 */
const ELSEWHERE = [
  'internal',
  'no_target',
  'draining',
  'unknown_object',
  'workspace_not_allowed',
  'rights_exceeded',
  'owned_elsewhere',
  'conflict',
] as const;

/** How each is provoked. Those that end a stream are found in its last event. */
const PROVOKE: Readonly<Record<Exclude<ErrorCode, (typeof ELSEWHERE)[number]>, () => Promise<Response>>> = {
  invalid_json: () => ask({}, '{'),
  too_deep: () => ask({}, `{"a":${'['.repeat(64)}${']'.repeat(64)}}`),
  too_large: () => ask({}, `{${Array.from({ length: 50_001 }, (_, index) => `"k${index}":0`).join(',')}}`),
  invalid_value: () => ask({}, { ...HI, temperature: 9 }),
  missing_field: () => ask({}, { model: 'm' }),
  invalid_config: () => named('{"speed":1}'),
  unknown_config: () => named('nobody'),
  config_refused: () =>
    elsewhere((gateway) => {
      gateway.apply(config('bad', { provider: 'nobody', api_key: 'k' }), { allowComplaints: true });
      return gateway.chat(HI, { 'x-gateway-config': 'bad' });
    }),
  config_override_denied: () => ask({ 'x-gateway-api-key': 'fixed-key-of-table', 'x-gateway-config': 'house' }),
  unknown_slug: () => named('{"provider":"@nobody"}'),
  unknown_provider: () => named('{"provider":"nobody","api_key":"k"}'),
  no_provider: () => named('bare'),
  override_not_allowed: () =>
    elsewhere((gateway) =>
      gateway.chat(HI, {
        'x-gateway-provider': 'openai',
        authorization: 'Bearer x',
        'x-gateway-custom-host': 'https://llm.example',
      }),
    ),
  host_not_allowed: () => direct('https://llm.example'),
  bad_request: () => raw('NONSENSE\r\n\r\n'),
  invalid_api_key: () => ask({ 'x-gateway-api-key': 'wrong' }),
  missing_scope: () => ask({ 'x-gateway-api-key': 'reader-key-of-table' }),
  model_not_allowed: () =>
    ask({}, { ...HI, model: '@few/no' }).then(() =>
      ask({ 'x-gateway-config': '{"provider":"@few"}' }, { ...HI, model: 'no' }),
    ),
  unknown_path: () => ask({}, HI, '/v1/nothing'),
  unknown_prompt: () => ask({}, { variables: {} }, '/v1/prompts/nobody/completions'),
  missing_variable: () => filled({}),
  prompt_too_large: () => filled({ name: 'x'.repeat(1_048_577) }),
  unknown_model: () =>
    fetch(`${stage.gateway.origin}/v1/models/nothing`, { headers: { 'x-gateway-api-key': stage.gateway.key } }),
  method_not_allowed: () => fetch(stage.gateway.origin + CHAT, { method: 'PUT' }),
  request_timeout: () => upstreamSays(hangBeforeHeaders, 'hasty'),
  body_too_large: () =>
    raw(
      `POST ${CHAT} HTTP/1.1\r\nhost: x\r\nx-gateway-api-key: ${stage.gateway.key}\r\ncontent-type: application/json\r\ncontent-length: 99999999\r\n\r\n`,
    ),
  unsupported_media_type: () => ask({ 'content-type': 'text/plain' }),
  headers_too_large: () => raw(`GET / HTTP/1.1\r\nhost: x\r\nx: ${'x'.repeat(20_000)}\r\n\r\n`),
  unsupported_operation: () => ask({ 'x-gateway-config': 'anthropic' }, { model: 'm', input: 'x' }, '/v1/embeddings'),
  guardrail_denied: () => checkedBy({ 'default.characterCount': { maxCharacters: 1 } }),
  guardrail_failed: () => checkedBy({ 'default.webhook': { webhookURL: 'http://127.0.0.1:1/' } }),
  rate_limited: () => limitedBy(policy('RateLimitPolicy', { type: 'requests', unit: 'rpm', value: 0 })),
  request_exceeds_limit: () => limitedBy(policy('RateLimitPolicy', { type: 'tokens', unit: 'rpm', value: 1 })),
  usage_limit_exceeded: () => limitedBy(policy('UsageLimitPolicy', { type: 'tokens', credit_limit: 0 })),
  too_many_in_flight: tooMany,
  upstream_auth: () => upstreamSays(json(401, {})),
  upstream_unreachable: () => named('refused'),
  upstream_tls: () => named('tls'),
  upstream_redirect: () => upstreamSays(redirect('http://127.0.0.1:1/')),
  upstream_invalid: () => upstreamSays(text(200, 'hello')),
  upstream_cut: () => upstreamSays(resetMidBody(JSON.stringify({ a: 'b'.repeat(500) }))),
  upstream_stalled: () =>
    upstreamSays(pieces(openAiEvents().slice(0, 2), { ending: 'stall' }), 'stalling', { ...HI, stream: true }),
  upstream_error: () => upstreamSays(json(502, {})),
  upstream_rate_limited: () => upstreamSays(json(429, {})),
  credential_unavailable: () =>
    elsewhere((gateway) => {
      const mapping = { target_field: 'api_key', secret_name: 'missing', secret_key: 'key' };
      gateway.apply(object('Integration', 'lost', { provider: 'openai', secret_mappings: [mapping] }), {
        allowComplaints: true,
      });
      return gateway.chat(HI, { 'x-gateway-provider': '@lost' });
    }),
  not_ready: () => elsewhere((gateway) => gateway.chat(HI), { empty: true }),
  control_plane_unavailable: () => fetch(`${stage.gateway.origin}/v1/policies/rate-limits`),
  upstream_timeout: () => upstreamSays(hangBeforeHeaders),
  loop_detected: () => ask({ 'cdn-loop': 'model-gateway, model-gateway, model-gateway' }),
};

/** Ends a stream that has begun: the status was sent before. */
const IN_STREAMS: readonly string[] = ['upstream_stalled'];

const CODES = Object.keys(PROVOKE) as (keyof typeof PROVOKE)[];

describe('the table of errors', () => {
  it.each(CODES)('%s', async (code) => {
    const response = await PROVOKE[code]();
    const body = await response.text();
    const [status, type] = ERRORS[code];
    const said = body.startsWith('data: ') ? (body.trimEnd().split('\n\n').at(-1) ?? '').slice('data: '.length) : body;
    const { error, ...rest } = JSON.parse(said) as { error: Record<string, unknown>; provider?: string };
    expect(response.status).toBe(IN_STREAMS.includes(code) ? 200 : status);
    expect(error).toEqual({
      message: expect.any(String),
      type: code === 'upstream_error' ? expect.any(String) : type,
      code,
      param: error['param'],
    });
    expect(Object.keys(rest).filter((key) => key !== 'provider')).toEqual(
      type === 'hooks_failed' ? ['hook_results'] : [],
    );
    expect(String(error['message']).length).toBeGreaterThan(10);
  });

  it('is documented row by row', () => {
    const reference = readFileSync(join(import.meta.dirname, '../../crds/generated/errors.md'), 'utf8');
    for (const [code, [status, type, fix]] of Object.entries(ERRORS))
      expect(reference).toContain(`| \`${code}\` | ${status} | \`${type}\` | ${fix} |`);
  });

  it('names no code twice in two spellings', () => {
    const codes = Object.keys(ERRORS);
    expect(new Set(codes.map((code) => code.replaceAll('_', ''))).size).toBe(codes.length);
    for (const code of codes) expect(code).toMatch(/^[a-z]+(?:_[a-z]+)*$/);
  });
});
