/** When the official SDKs try again by themselves, how long they wait, and what they make of what never answers. */
import { createServer } from 'node:net';
import Anthropic from '@anthropic-ai/sdk';
import OpenAI from 'openai';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { anthropicError } from '../fakes/anthropic-wire.ts';
import { apiKey, config } from '../fakes/objects.ts';
import { openAiError } from '../fakes/openai-wire.ts';
import { hangBeforeHeaders, json, pieces, type Reply } from '../fakes/replies.ts';
import { waitFor } from '../fakes/wait-for.ts';
import { HI, saying, TEXT } from './said.ts';
import { COMBINATIONS, type Sdk, type Stage, startStage, type Wire } from './stage.ts';

const POOR_KEY = 'key-of-one-who-may-only-list-models';
const ERRORS = { openai: OpenAI, anthropic: Anthropic } as const;

let stage: Stage;
let closedPort: number;
beforeAll(async () => {
  closedPort = await freePort();
  const nowhere = { provider: 'openai', api_key: 'unused', custom_host: `http://127.0.0.1:${closedPort}/v1` };
  stage = await startStage(
    (baseUrl) =>
      config('nowhere', nowhere) +
      config('hasty-openai', { ...upstreamOf('openai', baseUrl.openai), request_timeout: 100 }) +
      config('hasty-anthropic', { ...upstreamOf('anthropic', baseUrl.anthropic), request_timeout: 100 }) +
      config('patient-openai', { ...upstreamOf('openai', baseUrl.openai), retry: { attempts: 2 } }) +
      config('patient-anthropic', { ...upstreamOf('anthropic', baseUrl.anthropic), retry: { attempts: 2 } }) +
      apiKey('poor', POOR_KEY, { scopes: ['models.list'] }),
  );
});
afterAll(() => stage.close());

function upstreamOf(provider: Wire, customHost: string) {
  return { provider, api_key: 'upstream-key', custom_host: customHost };
}

/** A port on which nobody listens. */
function freePort(): Promise<number> {
  return new Promise((resolve) => {
    const server = createServer().listen(0, '127.0.0.1', () => {
      const address = server.address();
      server.close(() => resolve(address !== null && typeof address === 'object' ? address.port : 0));
    });
  });
}

interface Options {
  readonly maxRetries?: number;
  readonly timeout?: number;
  readonly headers?: Record<string, string>;
}

function ask(sdk: Sdk, wire: Wire, options: Options = {}): Promise<object> {
  return sdk === 'openai'
    ? stage.openai(wire).chat.completions.create({ model: 'm', messages: [HI] }, options)
    : stage.anthropic(wire).messages.create({ model: 'm', max_tokens: 10, messages: [HI] }, options);
}

function failing(wire: Wire, status: number, headers: Record<string, string> = {}): Reply {
  return json(status, wire === 'openai' ? openAiError('No.') : anthropicError('api_error', 'No.'), headers);
}

/** So that nobody waits for real. */
const AT_ONCE = { 'retry-after-ms': '1' };

describe.each(COMBINATIONS)('the %s SDK over the wire of %s', (sdk, wire) => {
  const failureOf = (options: Options) => ask(sdk, wire, options).catch((error: unknown) => error);

  it.each([408, 409, 429, 500, 502, 503, 504, 529])('tries again after %i, and is answered', async (status) => {
    const upstream = stage.upstream[wire];
    upstream.answer([failing(wire, status, AT_ONCE), saying(wire, TEXT, false)]);
    const before = upstream.calls.length;
    expect(await ask(sdk, wire, { maxRetries: 1 })).toMatchObject({ model: expect.any(String) });
    expect(upstream.calls.length - before).toBe(2);
  });

  it.each([400, 404, 413, 422])('does not try again after %i', async (status) => {
    const upstream = stage.upstream[wire];
    upstream.answer(failing(wire, status, AT_ONCE));
    const before = upstream.calls.length;
    expect(await failureOf({ maxRetries: 2 })).toMatchObject({ status });
    expect(upstream.calls.length - before).toBe(1);
  });

  it('gives up after as many tries as it was told, with the last word of the upstream', async () => {
    const upstream = stage.upstream[wire];
    upstream.answer([failing(wire, 500, AT_ONCE), failing(wire, 503, AT_ONCE), failing(wire, 429, AT_ONCE)]);
    const before = upstream.calls.length;
    const failure = await failureOf({ maxRetries: 2 });
    expect(failure).toBeInstanceOf(ERRORS[sdk].RateLimitError);
    expect(upstream.calls.length - before).toBe(3);
  });

  it('obeys an upstream that says not to try again', async () => {
    const upstream = stage.upstream[wire];
    upstream.answer(failing(wire, 500, { ...AT_ONCE, 'x-should-retry': 'false' }));
    const before = upstream.calls.length;
    expect(await failureOf({ maxRetries: 2 })).toBeInstanceOf(ERRORS[sdk].InternalServerError);
    expect(upstream.calls.length - before).toBe(1);
  });

  it('has nothing to try again where the gateway did', async () => {
    const upstream = stage.upstream[wire];
    upstream.answer([failing(wire, 503), saying(wire, TEXT, false)]);
    const before = upstream.calls.length;
    const headers = { 'x-gateway-config': `patient-${wire}` };
    expect(await ask(sdk, wire, { maxRetries: 0, headers })).toMatchObject({ model: expect.any(String) });
    expect(upstream.calls.length - before).toBe(2);
  });

  it('is told 408 where the upstream does not answer in the time of the config', async () => {
    stage.upstream[wire].answer(hangBeforeHeaders);
    const failure = await failureOf({ maxRetries: 0, headers: { 'x-gateway-config': `hasty-${wire}` } });
    expect(failure).toBeInstanceOf(ERRORS[sdk].APIError);
    expect(failure).toMatchObject({ status: 408 });
    expect((failure as Error).message).not.toContain('upstream-key');
  });

  it('leaves when its own time is over, and so does the gateway upstream', async () => {
    const upstream = stage.upstream[wire];
    upstream.answer(pieces([], { ending: 'stall' }));
    const before = upstream.calls.length;
    const failure = failureOf({ maxRetries: 0, timeout: 300 });
    await upstream.called(before + 1);
    expect(await failure).toBeInstanceOf(ERRORS[sdk].APIConnectionTimeoutError);
    await waitFor(() => upstream.calls[before]?.abortedAt !== undefined, 'the upstream call to be aborted');
  });
});

describe.each(['openai', 'anthropic'] as const)('the %s SDK', (sdk) => {
  it('is told 502 where nobody listens upstream', async () => {
    const headers = { 'x-gateway-config': 'nowhere' };
    const failure = await ask(sdk, 'openai', { maxRetries: 0, headers }).catch((error: unknown) => error);
    expect(failure).toBeInstanceOf(ERRORS[sdk].InternalServerError);
    expect(failure).toMatchObject({ status: 502 });
    expect(JSON.stringify((failure as InstanceType<typeof OpenAI.APIError>).error)).toContain('upstream_unreachable');
  });

  it('has a connection error of its own where no gateway listens', async () => {
    const baseURL = `http://127.0.0.1:${closedPort}`;
    const asked =
      sdk === 'openai'
        ? stage
            .openai('openai')
            .withOptions({ baseURL })
            .chat.completions.create({ model: 'm', messages: [HI] })
        : stage
            .anthropic('openai')
            .withOptions({ baseURL })
            .messages.create({ model: 'm', max_tokens: 1, messages: [HI] });
    await expect(asked).rejects.toBeInstanceOf(ERRORS[sdk].APIConnectionError);
  });

  it('is told PermissionDeniedError where its key may not', async () => {
    const headers = { 'x-gateway-api-key': POOR_KEY };
    const before = stage.upstream.openai.calls.length;
    const failure = await ask(sdk, 'openai', { headers }).catch((error: unknown) => error);
    expect(failure).toBeInstanceOf(ERRORS[sdk].PermissionDeniedError);
    expect(failure).toMatchObject({ status: 403, type: 'permission_error' });
    expect(stage.upstream.openai.calls.length).toBe(before);
  });
});
