/** Each row of the simulator's table, asked through the gateway for each operation, whole and streamed. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { SIMULATOR_MODELS } from '#gateway/providers/simulator/models.ts';
import { type Stage, startStage } from '../conformance/stage.ts';
import { defaultConfig } from '../fakes/objects.ts';
import { readSse } from '../fakes/sse.ts';
import { waitFor } from '../fakes/wait-for.ts';

let stage: Stage;
beforeAll(async () => {
  const spec = { strategy: { mode: 'single', stream_idle_timeout: 300 }, targets: [{ provider: 'simulator' }] };
  stage = await startStage(0, () => defaultConfig('sim', spec));
});
afterAll(() => stage.close());

const TOOLS = [{ type: 'function', function: { name: 'look_up', parameters: { type: 'object', properties: {} } } }];
const MESSAGES = [{ role: 'user', content: 'one two three four' }];
const OPERATIONS = [
  ['/v1/chat/completions', { messages: MESSAGES, tools: TOOLS }],
  ['/v1/completions', { prompt: 'one two three four' }],
  ['/v1/embeddings', { input: 'one two three four' }],
  ['/v1/messages', { max_tokens: 99, messages: MESSAGES, tools: [{ name: 'look_up', input_schema: {} }] }],
] as const;
type Path = (typeof OPERATIONS)[number][0];

/** What a row does: status and code of a failure, or the end of an answer; of a stream too, where that differs. */
interface Expected {
  readonly model: string;
  readonly status: number;
  readonly code?: string;
  /** The code of the error event that ends the stream. */
  readonly streamCode?: string;
  /** The code of a stream that failed before its first event, where it differs from the whole answer's. */
  readonly unbegunCode?: string;
  readonly finish?: string;
  /** Only chats call tools. */
  readonly chatFinish?: string;
  readonly header?: readonly [name: string, value: string];
}

/** Events leave one by one, so that what is right of a stream has gone on before it breaks. */
const SLOW = 'slow-25+';

const EXPECTED: Readonly<Record<string, Expected>> = {
  echo: { model: 'echo', status: 200, finish: 'stop' },
  'status-<code>': { model: 'status-418', status: 418, code: 'upstream_error' },
  'rate-limited-<seconds>': {
    model: 'rate-limited-9',
    status: 429,
    code: 'rate_limit_exceeded',
    header: ['retry-after', '9'],
  },
  'context-too-small': { model: 'context-too-small', status: 400, code: 'context_length_exceeded' },
  'flaky-<n>': { model: 'flaky-999999', status: 503, code: 'upstream_error' },
  'delay-<ms>': { model: 'delay-5', status: 200, finish: 'stop' },
  'slow-<ms>': { model: 'slow-1', status: 200, finish: 'stop' },
  'cut-after-<n>': { model: `${SLOW}cut-after-2`, status: 502, code: 'upstream_cut', streamCode: 'upstream_cut' },
  'stall-after-<n>': {
    model: `${SLOW}stall-after-2`,
    status: 200,
    streamCode: 'upstream_stalled',
  },
  // To a reader of event streams, lines that are no fields say nothing: the stream ends without having begun.
  garbage: { model: 'garbage', status: 502, code: 'upstream_invalid', unbegunCode: 'upstream_cut' },
  'garbage-after-<n>': {
    model: `${SLOW}garbage-after-2`,
    status: 502,
    code: 'upstream_invalid',
    streamCode: 'upstream_invalid',
  },
  'long-<n>': { model: 'long-12', status: 200, finish: 'stop' },
  'tool-call': { model: 'tool-call', status: 200, finish: 'stop', chatFinish: 'tool_calls' },
  'content-filter': { model: 'content-filter', status: 200, finish: 'content_filter' },
};

const STOP_REASONS: Readonly<Record<string, string>> = {
  stop: 'end_turn',
  tool_calls: 'tool_use',
  content_filter: 'refusal',
};

const ROWS = SIMULATOR_MODELS.map(({ name }) => [name, EXPECTED[name]] as const);
const CASES = ROWS.flatMap(([name, expected]) =>
  OPERATIONS.map(([path, body]) => [name, path, body, expected as Expected] as const),
);
const STREAMS = CASES.filter(([, path]) => path !== '/v1/embeddings');

function ask(path: Path, body: object, model: string): Promise<Response> {
  return stage.gateway.post(path, { ...body, model });
}

function finishOf(path: Path, { finish, chatFinish }: Expected): string | undefined {
  const said = path === '/v1/completions' ? finish : (chatFinish ?? finish);
  return path === '/v1/messages' ? STOP_REASONS[said ?? ''] : said;
}

async function assertFailure(response: Response, { status, code, header }: Expected): Promise<void> {
  expect(response.status).toBe(status);
  const { error } = (await response.json()) as { error: { code: string } };
  expect(error.code).toBe(code);
  if (header !== undefined) expect(response.headers.get(header[0])).toBe(header[1]);
}

/** Without what tells the time: `created` of the simulator comes from the request. */
async function answered(response: Response, path: Path, expected: Expected): Promise<unknown> {
  expect(response.status).toBe(200);
  const body = (await response.json()) as Record<string, unknown>;
  if (path === '/v1/embeddings') {
    expect(body).toMatchObject({ object: 'list', data: [{ embedding: expect.any(Array) }] });
    return body;
  }
  const finish = finishOf(path, expected);
  if (path === '/v1/messages') expect(body['stop_reason']).toBe(finish);
  else
    expect(body).toMatchObject({ choices: [{ finish_reason: finish }], usage: { total_tokens: expect.any(Number) } });
  return body;
}

describe('the table', () => {
  it('has all of these rows, and says what each does', () => {
    expect(SIMULATOR_MODELS.map(({ name }) => name).toSorted()).toEqual(Object.keys(EXPECTED).toSorted());
    for (const { does } of SIMULATOR_MODELS) expect(does).toMatch(/^[A-Z].*\.$/);
  });
});

describe('whole', () => {
  it.each(CASES.filter(([name]) => name !== 'stall-after-<n>'))('%s at %s', async (_name, path, body, expected) => {
    const response = await ask(path, body, expected.model);
    if (expected.code !== undefined) return assertFailure(response, expected);
    const first = await answered(response, path, expected);
    expect(await answered(await ask(path, body, expected.model), path, expected)).toEqual(first);
  });
});

describe('streamed', () => {
  it.each(STREAMS)('%s at %s', async (_name, path, body, expected) => {
    const response = await ask(path, { ...body, stream: true }, expected.model);
    const { code, streamCode, unbegunCode = code } = expected;
    if (unbegunCode !== undefined && streamCode === undefined)
      return assertFailure(response, { ...expected, code: unbegunCode });
    expect(response.status).toBe(200);
    const { events, complete } = await readSse(response);
    const last = events.at(-1);
    const end = path === '/v1/messages' ? '{"type":"message_stop"}' : '[DONE]';
    if (streamCode === undefined) {
      expect(complete).toBe(true);
      expect(last?.data).toBe(end);
      expect(events.map(({ data }) => data).join('\n')).toContain(`_reason":"${finishOf(path, expected)}"`);
    } else {
      expect(JSON.parse(last?.data ?? '')).toMatchObject({ error: { code: streamCode } });
      expect(events.map(({ data }) => data)).not.toContain(end);
      expect(events.length).toBeGreaterThan(1);
    }
  });

  it.each(STREAMS.filter(([name]) => name === 'echo' || name === 'tool-call'))(
    '%s at %s says the same twice',
    async (_name, path, body, expected) => {
      const read = async () => (await ask(path, { ...body, stream: true }, expected.model)).text();
      expect(await read()).toBe(await read());
    },
  );
});

describe('half of an answer that stalls', () => {
  it.each(OPERATIONS)('at %s is given up when the caller leaves', async (path, body) => {
    const inFlight = () => stage.gateway.metric('modelgateway_requests_in_flight');
    const leaving = new AbortController();
    const asked = stage.gateway.post(path, { ...body, model: 'stall-after-1' }, {}, leaving.signal);
    const outcome = asked.catch((error: Error) => error.name);
    await waitFor(async () => (await inFlight()) === 1, 'the request under way');
    leaving.abort();
    expect(await outcome).toBe('AbortError');
    await waitFor(async () => (await inFlight()) === 0, 'the request settled');
  });
});
