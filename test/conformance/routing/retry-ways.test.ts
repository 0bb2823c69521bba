/** Retries of each dialect, whole and streamed: what is sent again, what is counted, and what ends them. */
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { anthropicError } from '../../fakes/anthropic-wire.ts';
import { config } from '../../fakes/objects.ts';
import { openAiChat, openAiError } from '../../fakes/openai-wire.ts';
import { chat, json, pieces, type Reply, text } from '../../fakes/replies.ts';
import { type Stage, startStage, target } from '../stage.ts';
import { askBy, broken, CHAT, CHAT_STREAM, errorOf, good, isWhole, targetOf, WAYS, type Way } from './ways.ts';

let stage: Stage;
let serial = 0;
beforeAll(async () => {
  stage = await startStage(2);
});
afterAll(() => stage.close());
beforeEach(() => {
  for (const upstream of stage.upstreams) upstream.answer(chat());
});

const HASTY = { use_retry_after_headers: true };
const AT_ONCE = { 'retry-after-ms': '1' };
const DEFAULTS = [429, 500, 502, 503, 504, 529];
/** But 407, which no fetch hands to its caller, and 421, after which fetch itself asks again. */
const STATUSES = [...Array(200).keys()].map((index) => 400 + index).filter((status) => ![407, 421].includes(status));
/** Successes in status alone, with a wish to be asked again at once. */
const EVENTS = { headers: { 'content-type': 'text/event-stream', ...AT_ONCE } };

function failing({ wire }: Pick<Way, 'wire'>, status: number): Reply {
  return json(status, wire === 'openai' ? openAiError('no') : anthropicError('api_error', 'no'), AT_ONCE);
}

/** Puts one target with `retry` into use, with a credential and so a budget of its own. */
function use(way: Way, retry: object, more: object = {}): void {
  serial += 1;
  const spec = { api_key: `ways-${serial}`, retry: { ...HASTY, ...retry }, ...more };
  stage.gateway.apply(config('retry', targetOf(way.wire, stage.at(0), spec)));
}

describe.each(WAYS)('%s', (_name, way) => {
  it.each([
    [1, 0, [1], '0', 200],
    [3, 1, [2], '1', 200],
    [3, 3, [4], '3', 200],
    [5, 5, [6], '5', 200],
    [2, 3, [3], '-1', 503],
    [1, 2, [2], '-1', 503],
    [0, 1, [1], '0', 503],
  ])('with %i attempts and %i failures', async (attempts, failures, calls, retries, status) => {
    use(way, { attempts });
    stage.at(0).answer([...Array.from({ length: failures }, () => failing(way, 503)), good(way)]);
    const asked = await askBy(stage, way, 'retry');
    expect(asked).toMatchObject({ calls: [calls[0], 0], retries, status, path: 'config' });
    if (status === 200) expect(isWhole(way, asked.text)).toBe(true);
    else expect(errorOf(asked.text)).toMatchObject({ message: 'no' });
  });

  it('comes by itself after six statuses alone', async () => {
    for (const [turn, status] of STATUSES.entries()) {
      if (turn % 5 === 0) use(way, { attempts: 1 });
      stage.at(0).answer([failing(way, status), good(way)]);
      expect([status, (await askBy(stage, way, 'retry')).calls[0]]).toEqual([
        status,
        DEFAULTS.includes(status) ? 2 : 1,
      ]);
    }
  });

  it('sends the same request each time', async () => {
    use(way, { attempts: 2 });
    stage.at(0).answer([failing(way, 503), failing(way, 529), good(way)]);
    await askBy(stage, way, 'retry');
    const sent = stage.at(0).calls.slice(-3);
    expect(new Set(sent.map(({ body }) => body)).size).toBe(1);
    expect(new Set(sent.map(({ headers }) => JSON.stringify(headers))).size).toBe(1);
  });

  it('a later failure that is not to be tried again is the answer of that retry', async () => {
    use(way, { attempts: 5 });
    stage.at(0).answer([failing(way, 503), failing(way, 422), good(way)]);
    expect(await askBy(stage, way, 'retry')).toMatchObject({ status: 422, calls: [2, 0], retries: '1' });
  });
});

describe('a stream', () => {
  it.each([
    ['that never began', pieces([], EVENTS)],
    ['that begins with garbage', pieces(['data: hello\n\n'], EVENTS)],
    ['that begins with an error', pieces([`data: ${JSON.stringify(openAiError('overloaded'))}\n\n`], EVENTS)],
    ['that is JSON', json(200, openAiChat(), AT_ONCE)],
  ])('%s is tried again', async (_what, reply) => {
    use(CHAT_STREAM, { attempts: 1 });
    stage.at(0).answer([reply, good(CHAT_STREAM)]);
    const asked = await askBy(stage, CHAT_STREAM, 'retry');
    expect(asked).toMatchObject({ status: 200, calls: [2, 0], retries: '1' });
    expect(isWhole(CHAT_STREAM, asked.text)).toBe(true);
  });

  it.each(WAYS.filter(([, { stream }]) => stream))('that had begun is not tried again: %s', async (_name, way) => {
    use(way, { attempts: 5 });
    stage.at(0).answer([broken(way.wire), good(way)]);
    const asked = await askBy(stage, way, 'retry');
    expect(asked).toMatchObject({ status: 200, calls: [1, 0], retries: '0' });
    expect(isWhole(way, asked.text)).toBe(false);
    expect(asked.text).toContain('"error"');
  });
});

describe('a whole answer', () => {
  it.each([
    ['that is no JSON', text(200, '<html>', AT_ONCE)],
    ['that is empty', text(200, '', AT_ONCE)],
    ['that is cut', pieces(['{"id":'], { headers: { 'content-type': 'application/json', ...AT_ONCE } })],
    ['that leads elsewhere', text(302, '', { location: '/', ...AT_ONCE })],
  ])('%s is tried again', async (_what, reply) => {
    use(CHAT, { attempts: 1 });
    stage.at(0).answer([reply, chat()]);
    expect(await askBy(stage, CHAT, 'retry')).toMatchObject({ status: 200, calls: [2, 0], retries: '1' });
  });

  it('our own refusal is not tried again', async () => {
    serial += 1;
    stage.gateway.apply(config('retry', targetOf('anthropic', stage.at(0), { retry: { attempts: 5, ...HASTY } })));
    const headers = { 'x-gateway-config': 'retry' };
    const response = await stage.gateway.post('/v1/embeddings', { model: 'm', input: 'x' }, headers);
    expect(response.status).toBe(501);
    expect(response.headers.get('x-gateway-retry-attempt-count')).toBe('0');
  });
});

describe('what is told', () => {
  it('of retries: a line with its attempts, a count of retries', async () => {
    use(CHAT, { attempts: 3 });
    stage.at(0).answer([failing(CHAT, 503), failing(CHAT, 500), chat()]);
    const retries = await stage.gateway.metric('modelgateway_retries_total');
    const attempts = await stage.gateway.metric('modelgateway_attempts_total');
    const requests = await stage.gateway.metric('modelgateway_requests_total');
    await askBy(stage, CHAT, 'retry');
    expect((await stage.gateway.metric('modelgateway_retries_total')) - retries).toBe(2);
    expect((await stage.gateway.metric('modelgateway_attempts_total')) - attempts).toBe(3);
    expect((await stage.gateway.metric('modelgateway_requests_total')) - requests).toBe(1);
    const line = (await stage.gateway.logs()).filter(({ msg }) => msg === 'request').at(-1);
    expect(line).toMatchObject({ attempts: 3, status: 200 });
  });
});

describe('the retry budget', () => {
  const exhaust = async (name: string) => {
    stage.at(0).answer(failing(CHAT, 503));
    stage.at(1).answer(failing(CHAT, 503));
    for (let request = 0; request < 2; request += 1) await askBy(stage, CHAT, name);
  };
  const rule = { retry: { attempts: 5, ...HASTY } };

  it('is one for all configs and targets with the same provider, host and credential', async () => {
    const own = { api_key: 'shared-budget', ...rule };
    stage.gateway.apply(
      config('one', target(stage.at(0), own)) +
        config('other', target(stage.at(0), own)) +
        config('both', {
          strategy: { mode: 'fallback' },
          targets: [target(stage.at(0), own), target(stage.at(0), own)],
        }),
    );
    await exhaust('one');
    expect(await askBy(stage, CHAT, 'other')).toMatchObject({ calls: [1, 0], retries: '-1', status: 503 });
    expect((await askBy(stage, CHAT, 'both')).calls).toEqual([2, 0]);
  });

  it.each([
    ['credential', () => target(stage.at(0), { api_key: 'another-budget', ...rule }), [6, 0]],
    ['host', () => target(stage.at(1), { api_key: 'budget', ...rule }), [0, 6]],
    ['provider', () => target(stage.at(0), { api_key: 'budget', provider: 'anthropic', ...rule }), [6, 0]],
  ])('is another one for another %s', async (what, other, calls) => {
    stage.gateway.apply(
      config('spent', target(stage.at(0), { api_key: 'budget', ...rule })) + config(`fresh-${what}`, other()),
    );
    await exhaust('spent');
    expect((await askBy(stage, CHAT, 'spent')).calls).toEqual([1, 0]);
    expect((await askBy(stage, CHAT, `fresh-${what}`)).calls).toEqual(calls);
  });

  it('outlives a new snapshot', async () => {
    const spec = config('kept', target(stage.at(0), { api_key: 'kept-budget', ...rule }));
    stage.gateway.apply(spec);
    await exhaust('kept');
    stage.gateway.apply(spec + config('news', { provider: 'simulator' }));
    expect((await askBy(stage, CHAT, 'kept')).calls).toEqual([1, 0]);
  });

  it('spent is no hindrance to a fallback, nor to a first try', async () => {
    stage.gateway.apply(
      config('poor', {
        strategy: { mode: 'fallback' },
        ...rule,
        targets: [target(stage.at(0), { api_key: 'poor' }), target(stage.at(1), { api_key: 'poor' })],
      }),
    );
    await exhaust('poor');
    await exhaust('poor');
    stage.at(1).answer(chat());
    expect(await askBy(stage, CHAT, 'poor')).toMatchObject({ status: 200, calls: [1, 1], retries: '0' });
  });

  it.each(WAYS)('is earned by ten successes for one retry: %s', async (_name, way) => {
    use(way, { attempts: 5 });
    stage.at(0).answer(failing(way, 503));
    for (let request = 0; request < 2; request += 1) await askBy(stage, way, 'retry');
    stage.at(0).answer(good(way));
    for (let request = 0; request < 9; request += 1) await askBy(stage, way, 'retry');
    stage.at(0).answer(failing(way, 503));
    expect((await askBy(stage, way, 'retry')).calls).toEqual([1, 0]);
    stage.at(0).answer(good(way));
    await askBy(stage, way, 'retry');
    stage.at(0).answer(failing(way, 503));
    expect((await askBy(stage, way, 'retry')).calls).toEqual([2, 0]);
  });

  it('is not earned beyond ten', async () => {
    use(CHAT, { attempts: 5 });
    stage.at(0).answer(chat());
    for (let request = 0; request < 30; request += 1) await askBy(stage, CHAT, 'retry');
    stage.at(0).answer(failing(CHAT, 503));
    let calls = 0;
    for (let request = 0; request < 5; request += 1) calls += (await askBy(stage, CHAT, 'retry')).calls[0] ?? 0;
    expect(calls).toBe(5 + 10);
  });

  it('holds under many requests at once', async () => {
    use(CHAT, { attempts: 5 });
    stage.at(0).answer(failing(CHAT, 503));
    const before = stage.at(0).calls.length;
    await Promise.all(Array.from({ length: 60 }, () => askBy(stage, CHAT, 'retry')));
    expect(stage.at(0).calls.length - before).toBe(60 + 10);
  });
});
