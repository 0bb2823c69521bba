/** What is no inference is logged, counted and named like any other request: models, unknown paths, wrong methods, nothing loaded. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startTestGateway, type TestGateway } from '../fakes/gateway.ts';

let gateway: TestGateway;
let empty: TestGateway;
beforeAll(async () => {
  [gateway, empty] = await Promise.all([startTestGateway(), startTestGateway({ empty: true })]);
});
afterAll(() => Promise.all([gateway.close(), empty.close()]));

const CASES: readonly (readonly [
  method: string,
  path: string,
  status: number,
  error: string | undefined,
  caller: string | undefined,
])[] = [
  ['GET', '/v1/models', 200, undefined, 'test'],
  ['GET', '/v1/models/nothing', 404, 'unknown_model', 'test'],
  ['GET', '/v1/nothing', 404, 'unknown_path', undefined],
  ['POST', '/v1/nothing', 404, 'unknown_path', undefined],
  ['GET', '/', 404, 'unknown_path', undefined],
  ['GET', '/v1/chat/completions', 405, 'method_not_allowed', undefined],
  ['DELETE', '/v1/messages', 405, 'method_not_allowed', undefined],
  ['POST', '/v1/models', 405, 'method_not_allowed', undefined],
  ['GET', '/v1/%zz', 400, 'bad_request', undefined],
];

async function logged(from: TestGateway, id: string): Promise<readonly Record<string, unknown>[]> {
  return (await from.logs()).filter((line) => line['request_id'] === id);
}

describe('a plain answer', () => {
  it.each(CASES)('%s %s is a %i in one log line and one count', async (method, path, status, error, caller) => {
    const before = await gateway.metric('modelgateway_requests_total');
    const headers = { authorization: `Bearer ${gateway.key}`, 'x-gateway-trace-id': 'a trace of its own' };
    const response = await fetch(`${gateway.origin}${path}?secret=canary`, { method, headers });
    const body = await response.text();
    expect(response.status).toBe(status);
    expect(response.headers.get('x-gateway-trace-id')).toBe('a trace of its own');
    const id = response.headers.get('x-request-id') ?? '';
    expect(id).toMatch(/^req_/);
    const lines = await logged(gateway, id);
    expect(lines).toHaveLength(1);
    expect(lines[0]).toMatchObject({ method, path, status });
    expect(lines[0]?.['error']).toBe(error);
    expect(lines[0]?.['caller']).toBe(caller);
    expect(JSON.stringify(lines) + body).not.toContain('canary');
    expect((await gateway.metric('modelgateway_requests_total')) - before).toBe(1);
    expect(await gateway.metric('modelgateway_requests_in_flight')).toBe(0);
  });

  it.each([
    ['GET', '/v1/messages'],
    ['PUT', '/v1/messages/count_tokens'],
  ])('%s %s is in Anthropic’s envelope', async (method, path) => {
    const response = await fetch(gateway.origin + path, { method });
    expect(await response.json()).toMatchObject({ type: 'error', error: { type: expect.any(String) } });
  });

  it.each(['/v1/chat/completions', '/v1/messages', '/v1/embeddings'])(
    '%s before anything is loaded is a 503 to come back from',
    async (path) => {
      const response = await empty.post(path, {});
      expect(response.status).toBe(503);
      expect(response.headers.get('retry-after')).toBe('1');
      expect(await logged(empty, response.headers.get('x-request-id') ?? '')).toMatchObject([
        { path, status: 503, error: 'not_ready' },
      ]);
    },
  );
});
