/** What a target takes from those above it: section 3 of the semantics, each field at each level. */
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { config } from '../fakes/objects.ts';
import { openAiError } from '../fakes/openai-wire.ts';
import { after, chat, chatStream, json } from '../fakes/replies.ts';
import { HI, type Stage, startStage, target } from './stage.ts';

let stage: Stage;
beforeAll(async () => {
  stage = await startStage(2);
});
afterAll(() => stage.close());
beforeEach(() => {
  for (const upstream of stage.upstreams) upstream.answer(chat());
});

/** A tree of three levels with `fields[level]` at each. */
function tree(fields: readonly object[]): object {
  const [root = {}, branch = {}, leaf = {}] = fields;
  const single = { strategy: { mode: 'single' } };
  return { ...single, ...root, targets: [{ ...single, ...branch, targets: [target(stage.at(0), leaf)] }] };
}

async function ask(spec: object, headers: Record<string, string> = {}, body: object = HI): Promise<Response> {
  stage.gateway.apply(config('tree', spec));
  const response = await stage.gateway.chat(body, { 'x-gateway-config': 'tree', ...headers });
  await response.text();
  return response;
}

/** Sets of levels at which a field is set, and the level whose value holds. */
const LEVELS: readonly (readonly [set: readonly number[], holds: number])[] = [
  [[0], 0],
  [[1], 1],
  [[2], 2],
  [[0, 1], 1],
  [[0, 2], 2],
  [[1, 2], 2],
  [[0, 1, 2], 2],
];

function at(levels: readonly number[], make: (level: number) => object): object[] {
  return [0, 1, 2].map((level) => (levels.includes(level) ? make(level) : {}));
}

describe.each(LEVELS)('set at levels %j, the value of level %i holds:', (levels, holds) => {
  it('forward_headers', async () => {
    await ask(tree(at(levels, (level) => ({ forward_headers: [`x-level-${level}`] }))), {
      'x-level-0': 'a',
      'x-level-1': 'b',
      'x-level-2': 'c',
    });
    const sent = Object.keys(stage.at(0).calls.at(-1)?.headers ?? {}).filter((name) => name.startsWith('x-level'));
    expect(sent).toEqual([`x-level-${holds}`]);
  });

  it('override_params, merged', async () => {
    await ask(tree(at(levels, (level) => ({ override_params: { who: level, [`level_${level}`]: true } }))));
    const sent = stage.at(0).json(-1);
    expect(sent['who']).toBe(holds);
    expect(Object.keys(sent).filter((key) => key.startsWith('level_'))).toEqual(
      levels.map((level) => `level_${level}`),
    );
  });

  it('retry', async () => {
    stage.at(0).answer(json(503, openAiError(), { 'retry-after-ms': '1' }));
    const before = stage.at(0).calls.length;
    const own = { api_key: `retry-${levels.join('')}` };
    const fields = at(levels, (level) => ({ retry: { attempts: level + 1, use_retry_after_headers: true } }));
    await ask(tree(fields.map((field, level) => (level === 2 ? { ...own, ...field } : field))));
    expect(stage.at(0).calls.length - before).toBe(holds + 2);
  });

  it('request_timeout', async () => {
    stage.at(0).answer(after(400, chat()));
    const isLong = holds % 2 === 0;
    const response = await ask(tree(at(levels, (level) => ({ request_timeout: level % 2 === 0 ? 20_000 : 60 }))));
    expect(response.status).toBe(isLong ? 200 : 408);
  });

  it('custom_host', async () => {
    const hosts = at(levels, (level) => ({ custom_host: `${stage.at(0).origin}/level-${level}` }));
    const leaf = { provider: 'openai', api_key: 'k', ...hosts[2] };
    const [root = {}, branch = {}] = hosts;
    const single = { strategy: { mode: 'single' } };
    await ask({ ...single, ...root, targets: [{ ...single, ...branch, targets: [leaf] }] });
    expect(stage.at(0).calls.at(-1)?.path).toBe(`/level-${holds}/chat/completions`);
  });
});

describe('credentials and addressing', () => {
  it('are never inherited', async () => {
    const [{ origin }] = [stage.at(0)];
    const leaf = { provider: 'openai', custom_host: `${origin}/v1` };
    await ask({ api_key: 'from-above', provider: 'anthropic', strategy: { mode: 'single' }, targets: [leaf] });
    const sent = stage.at(0).calls.at(-1);
    expect(sent?.headers.authorization).toBeUndefined();
    expect(sent?.headers['x-api-key']).toBeUndefined();
    expect(sent?.path).toBe('/v1/chat/completions');
  });
});

describe('whether an answer is streamed', () => {
  it.each([true, false])('is the caller’s to say, whatever override_params has: %s', async (stream) => {
    const spec = target(stage.at(0), { override_params: { stream, model: 'mine' } });
    const whole = await ask(spec);
    expect(whole.status).toBe(200);
    expect(stage.at(0).json(-1)).toMatchObject({ model: 'mine' });
    stage.at(0).answer(chatStream());
    const streamed = await ask(spec, {}, { ...HI, stream: true });
    expect(streamed.headers.get('content-type')).toMatch(/^text\/event-stream/);
    expect(stage.at(0).json(-1)).toMatchObject({ model: 'mine', stream: true });
  });
});
