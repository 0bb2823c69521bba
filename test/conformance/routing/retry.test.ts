/** Retries: how many, after what, how long they wait, and what holds them back. */
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { config } from '../../fakes/objects.ts';
import { openAiError } from '../../fakes/openai-wire.ts';
import { chat, chatStream, hangBeforeHeaders, json, resetBeforeHeaders } from '../../fakes/replies.ts';
import { failureOf, HI, type Stage, startStage, target } from '../stage.ts';

let stage: Stage;
/** Each test has an upstream credential of its own, and so a retry budget of its own. */
let credentials = 0;

beforeAll(async () => {
  stage = await startStage(2);
});
afterAll(() => stage.close());
beforeEach(() => {
  for (const upstream of stage.upstreams) upstream.answer(chat());
});

const AT_ONCE = { 'retry-after-ms': '1' };
const failing = (status: number, headers: Record<string, string> = AT_ONCE) => json(status, openAiError('no'), headers);

function use(spec: object, fallback = false): void {
  credentials += 1;
  const own = { api_key: `credential-${credentials}` };
  const tree = fallback
    ? { strategy: { mode: 'fallback' }, targets: [target(stage.at(0), own), target(stage.at(1), own)], ...spec }
    : target(stage.at(0), { ...own, ...spec });
  stage.gateway.apply(config('r', tree));
}

async function ask(body: object = HI) {
  const before = stage.at(0).calls.length;
  const response = await stage.gateway.chat(body, { 'x-gateway-config': 'r' });
  return {
    response,
    calls: stage.at(0).calls.length - before,
    count: response.headers.get('x-gateway-retry-attempt-count'),
  };
}

const HASTY = { use_retry_after_headers: true };

describe('retry', () => {
  it('is none unless a config says so', async () => {
    use({});
    stage.at(0).answer(failing(503));
    expect(await ask()).toMatchObject({ calls: 1, count: '0' });
  });

  it.each([
    [1, 1, 2, '1', 200],
    [3, 2, 3, '2', 200],
    [2, 9, 3, '-1', 503],
    [5, 9, 6, '-1', 503],
    [0, 9, 1, '0', 503],
  ])('with %i attempts, against %i failures', async (attempts, failures, calls, count, status) => {
    use({ retry: { attempts, ...HASTY } });
    stage.at(0).answer([...Array.from({ length: failures }, () => failing(503)), chat()]);
    const asked = await ask();
    expect(asked).toMatchObject({ calls, count });
    expect(asked.response.status).toBe(status);
  });

  it.each([429, 500, 502, 503, 504, 529])('comes by itself after %i', async (status) => {
    use({ retry: { attempts: 1, ...HASTY } });
    stage.at(0).answer([failing(status), chat()]);
    expect(await ask()).toMatchObject({ calls: 2, count: '1' });
  });

  it.each([400, 401, 403, 404, 408, 409, 413, 422, 501, 505])('does not come by itself after %i', async (status) => {
    use({ retry: { attempts: 1, ...HASTY } });
    stage.at(0).answer([failing(status), chat()]);
    expect(await ask()).toMatchObject({ calls: 1, count: '0' });
  });

  it.each([
    [418, 2],
    [503, 1],
    [429, 1],
  ])('a list replaces the default: %i is asked %i times', async (status, calls) => {
    use({ retry: { attempts: 1, on_status_codes: [418], ...HASTY } });
    stage.at(0).answer([failing(status), chat()]);
    expect((await ask()).calls).toBe(calls);
  });

  it('comes after a network error', async () => {
    use({ retry: { attempts: 1 } });
    stage.at(0).answer([resetBeforeHeaders, chat()]);
    expect(await ask()).toMatchObject({ calls: 2, count: '1' });
  });

  it('a network error counts as 502 in a list', async () => {
    use({ retry: { attempts: 1, on_status_codes: [500] } });
    stage.at(0).answer([resetBeforeHeaders, chat()]);
    expect((await ask()).calls).toBe(1);
    use({ retry: { attempts: 1, on_status_codes: [502] } });
    stage.at(0).answer([resetBeforeHeaders, chat()]);
    expect((await ask()).calls).toBe(2);
  });

  it.each([
    [undefined, 1, 408],
    [[408], 2, 200],
  ])('a timeout is tried again only where 408 is listed: %j', async (codes, calls, status) => {
    use({ request_timeout: 60, retry: { attempts: 1, ...(codes === undefined ? {} : { on_status_codes: codes }) } });
    stage.at(0).answer([hangBeforeHeaders, chat()]);
    const asked = await ask();
    expect(asked.calls).toBe(calls);
    expect(asked.response.status).toBe(status);
  });

  it('counts the answering target’s own retries', async () => {
    use({ retry: { attempts: 1, ...HASTY } }, true);
    stage.at(0).answer(failing(503));
    const asked = await ask();
    expect(asked).toMatchObject({ calls: 2, count: '0' });
    expect(asked.response.headers.get('x-gateway-last-used-option-index')).toBe('config.targets[1]');
  });

  it('is inherited by targets, and replaced whole by a target’s own', async () => {
    credentials += 1;
    const own = { api_key: `credential-${credentials}` };
    const tree = {
      retry: { attempts: 3, ...HASTY },
      strategy: { mode: 'fallback' },
      targets: [target(stage.at(0), { ...own, retry: { attempts: 1, ...HASTY } }), target(stage.at(1), own)],
    };
    stage.gateway.apply(config('r', tree));
    stage.at(0).answer(failing(503));
    stage.at(1).answer(failing(503));
    const before = stage.at(1).calls.length;
    expect((await ask()).calls).toBe(2);
    expect(stage.at(1).calls.length - before).toBe(4);
  });

  it('holds for streams before their first byte', async () => {
    use({ retry: { attempts: 1, ...HASTY } });
    stage.at(0).answer([failing(503), chatStream({ text: 'at last' })]);
    const asked = await ask({ ...HI, stream: true });
    expect(asked).toMatchObject({ calls: 2, count: '1' });
    expect(await asked.response.text()).toContain('[DONE]');
  });

  it('sends the same body again', async () => {
    use({ retry: { attempts: 2, ...HASTY } });
    stage.at(0).answer([failing(503), failing(503), chat()]);
    await ask();
    expect(
      new Set(
        stage
          .at(0)
          .calls.slice(-3)
          .map(({ body }) => body),
      ).size,
    ).toBe(1);
  });
});

describe('how long it waits', () => {
  const secondsAhead = (seconds: number) => new Date(Date.now() + seconds * 1000).toUTCString();
  it.each([
    ['retry-after-ms', () => ({ 'retry-after-ms': '120' }), 120],
    ['x-ms-retry-after-ms', () => ({ 'x-ms-retry-after-ms': '120' }), 120],
    ['retry-after in seconds', () => ({ 'retry-after': '1' }), 1000],
    ['retry-after as a date', () => ({ 'retry-after': secondsAhead(2) }), 500],
    ['retry-after-ms before retry-after', () => ({ 'retry-after-ms': '120', 'retry-after': '30' }), 120],
    ['a date that has passed', () => ({ 'retry-after': secondsAhead(-60) }), 0],
  ])('as %s says', async (_what, headers, leastMs) => {
    use({ retry: { attempts: 1, ...HASTY } });
    stage.at(0).answer([failing(503, headers()), chat()]);
    const startedMs = performance.now();
    expect((await ask()).calls).toBe(2);
    const tookMs = performance.now() - startedMs;
    expect(tookMs).toBeGreaterThanOrEqual(leastMs - 5);
    expect(tookMs).toBeLessThan(leastMs + 5_000);
  });

  it('as use_retry_after_header says, too', async () => {
    use({ retry: { attempts: 1, use_retry_after_header: true } });
    stage.at(0).answer([failing(503, { 'retry-after-ms': '1' }), chat()]);
    expect((await ask()).calls).toBe(2);
  });

  it.each([
    ['seconds', { 'retry-after': '61' }],
    ['milliseconds', { 'retry-after-ms': '60001' }],
    ['a date', { 'retry-after': new Date(Date.now() + 3_600_000).toUTCString() }],
  ])('a wish for more than 60 s ends the retries at once: %s', async (_what, headers) => {
    use({ retry: { attempts: 3, ...HASTY } });
    stage.at(0).answer(failing(429, headers));
    const startedMs = performance.now();
    const asked = await ask();
    expect(asked.calls).toBe(1);
    expect(performance.now() - startedMs).toBeLessThan(5_000);
    expect(await failureOf(asked.response)).toMatchObject({ status: 429, type: 'server_error', message: 'no' });
  });

  it('what asks for nothing waits a random time of at most a second', async () => {
    use({ retry: { attempts: 1 } });
    stage.at(0).answer([failing(503, { 'retry-after': '30' }), chat()]);
    const startedMs = performance.now();
    expect((await ask()).calls).toBe(2);
    expect(performance.now() - startedMs).toBeLessThan(3_000);
  });
});

describe('the retry budget', () => {
  it('stops a storm: the upstream sees little more than was asked', async () => {
    use({ retry: { attempts: 5, ...HASTY } });
    stage.at(0).answer(failing(503));
    let calls = 0;
    for (let request = 0; request < 50; request += 1) calls += (await ask()).calls;
    expect(calls).toBe(50 + 10);
  });

  it('is earned by successes, a tenth each', async () => {
    use({ retry: { attempts: 5, ...HASTY } });
    stage.at(0).answer(failing(503));
    for (let request = 0; request < 5; request += 1) await ask();
    stage.at(0).answer(chat());
    for (let request = 0; request < 20; request += 1) await ask();
    stage.at(0).answer(failing(503));
    const { calls } = await ask();
    expect(calls).toBe(1 + 2);
  });

  it('is one per credential', async () => {
    use({ retry: { attempts: 5, ...HASTY } });
    stage.at(0).answer(failing(503));
    for (let request = 0; request < 5; request += 1) await ask();
    expect((await ask()).calls).toBe(1);
    use({ retry: { attempts: 5, ...HASTY } });
    expect((await ask()).calls).toBe(6);
  });
});
