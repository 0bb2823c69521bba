/** Guardrails and streams: held and judged as a whole, or watched while they run. */
import fc from 'fast-check';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { STEP_CHARS } from '#gateway/guardrails/watched-stream.ts';
import { HI_MESSAGE, type Stage } from '../conformance/stage.ts';
import { anthropicEvents } from '../fakes/anthropic-wire.ts';
import { openAiCompletionChunks, openAiEvent, openAiEvents } from '../fakes/openai-wire.ts';
import { chatStream, cutAt, messageStream, pieces, type Reply } from '../fakes/replies.ts';
import { startUpstream } from '../fakes/upstream.ts';
import {
  BAD,
  guardrail,
  HI,
  LOOSE,
  lineOf,
  type Manifests,
  NO_WORD,
  REDACT,
  startGuarded,
  type Told,
  tell,
} from './stage.ts';

const CHAT = '/v1/chat/completions';
const MESSAGES = '/v1/messages';
const STREAM = { ...HI, stream: true };
const DENY = { deny: true };
const BAD_TEXT = 'this is a forbidden word in the middle of it';
const END = [openAiEvent({ choices: [{ index: 0, delta: {}, finish_reason: 'stop' }] }), openAiEvent('[DONE]')];
const LONG = Array.from({ length: 600 }, (_, index) => `word${index}`).join(' ');

let stage: Stage | undefined;
afterEach(async () => {
  await stage?.close();
  stage = undefined;
});

async function start(spec: object, manifests: string | Manifests, reply?: Reply): Promise<Stage> {
  stage = await startGuarded(spec, manifests);
  if (reply !== undefined) stage.at(0).answer(reply);
  return stage;
}

async function ask(body: object = STREAM, headers: Record<string, string> = {}, path = CHAT): Promise<Told> {
  if (stage === undefined) throw new Error('nothing is staged');
  return tell(await stage.gateway.post(path, body, headers));
}

/** Objects of all events. */
function eventsOf({ text }: Told): Record<string, unknown>[] {
  return text
    .split('\n')
    .filter((line) => line.startsWith('data: {'))
    .map((line) => JSON.parse(line.slice('data: '.length)));
}

const resultsOf = (told: Told) => eventsOf(told).find((event) => event['hook_results'] !== undefined)?.['hook_results'];

describe('guardrails of the request', () => {
  it('deny before the stream: an ordinary 446', async () => {
    const on = await start({ input_guardrails: ['no-word'] }, guardrail('no-word', [NO_WORD], DENY));
    const told = await ask({ ...BAD, stream: true });
    expect([told.status, told.headers.get('content-type')]).toEqual([446, 'application/json']);
    expect(on.at(0).calls).toHaveLength(0);
  });

  it('failed without deny: a stream of status 246 that tells it in its last event', async () => {
    await start({ input_guardrails: ['no-word'] }, guardrail('no-word', [NO_WORD]), chatStream());
    const told = await ask({ ...BAD, stream: true });
    expect(told.status).toBe(246);
    expect(told.text.endsWith('data: [DONE]\n\n')).toBe(true);
    expect(eventsOf(told).at(-1)).toMatchObject({
      object: 'chat.completion.chunk',
      choices: [],
      hook_results: { before_request_hooks: [{ id: 'no-word', verdict: false }] },
    });
  });

  it('pass: the stream as it is, with hook_results where compliance is off', async () => {
    await start(
      { input_guardrails: ['no-word'] },
      guardrail('no-word', [NO_WORD]),
      chatStream({ includeUsage: false }),
    );
    const strict = await ask();
    expect([strict.status, strict.text]).toEqual([200, openAiEvents({ includeUsage: false }).join('')]);
    const loose = await ask(STREAM, LOOSE);
    expect(resultsOf(loose)).toMatchObject({ before_request_hooks: [{ id: 'no-word', verdict: true }] });
    expect(loose.text.endsWith('data: [DONE]\n\n')).toBe(true);
  });
});

describe('a stream that is held', () => {
  it('is denied as if there were no stream', async () => {
    const on = await start(
      { output_guardrails: ['no-word'] },
      guardrail('no-word', [NO_WORD], DENY),
      chatStream({ text: BAD_TEXT }),
    );
    const told = await ask();
    expect([told.status, told.headers.get('content-type')]).toEqual([446, 'application/json']);
    expect(told.body).toMatchObject({
      error: { code: 'guardrail_denied' },
      hook_results: { after_request_hooks: [{ verdict: false }] },
    });
    expect(told.text).not.toContain('in the middle');
    expect(await lineOf(on)).toMatchObject({ status: 446, output_tokens: 12, denied_by: 'no-word/default.contains' });
  });

  it('goes on as it came where it passes', async () => {
    await start(
      { output_guardrails: ['no-word'] },
      guardrail('no-word', [NO_WORD], DENY),
      chatStream({ includeUsage: false }),
    );
    const told = await ask();
    expect([told.status, told.headers.get('content-type')]).toEqual([200, 'text/event-stream']);
    expect(told.text).toBe(openAiEvents({ includeUsage: false }).join(''));
  });

  it('has status 246 where it fails without deny', async () => {
    const actions = { stream: 'buffer' };
    await start(
      { output_guardrails: ['no-word'] },
      guardrail('no-word', [NO_WORD], actions),
      chatStream({ text: BAD_TEXT }),
    );
    const told = await ask();
    expect([told.status, told.text.includes('forbidden')]).toEqual([246, true]);
    expect(resultsOf(told)).toMatchObject({ after_request_hooks: [{ id: 'no-word', verdict: false }] });
    expect(told.text.endsWith('data: [DONE]\n\n')).toBe(true);
  });

  it('can be rewritten, and is a stream still', async () => {
    await start(
      { output_guardrails: ['redact'] },
      guardrail('redact', [REDACT]),
      chatStream({ text: 'my sec' + 'ret plan' }),
    );
    const told = await ask({ ...STREAM, stream_options: { include_usage: true } });
    const text = eventsOf(told)
      .flatMap(({ choices }) => choices as { delta: { content?: string } }[])
      .map(({ delta }) => delta.content ?? '')
      .join('');
    expect([told.status, text]).toEqual([200, 'my *** plan']);
    expect(eventsOf(told).at(-1)).toMatchObject({ choices: [], usage: { total_tokens: 21 } });
  });

  it('is inspected though nobody could put it together faithfully', async () => {
    const chunk = (delta: object, finish: string | null = null) =>
      openAiEvent({ object: 'chat.completion.chunk', choices: [{ index: 0, delta, finish_reason: finish }] });
    const odd = { details: [{ type: 'x', text: '' }], marks: 1 };
    const events = [
      chunk({ content: 'a forb', ...odd }),
      chunk({ content: 'idden', ...odd }),
      chunk({}, 'stop'),
      openAiEvent('[DONE]'),
    ];
    await start({ output_guardrails: ['no-word'] }, guardrail('no-word', [NO_WORD], DENY), pieces(events));
    expect((await ask()).status).toBe(446);
  });

  it.each([
    ['tool calls', chatStream({ toolCalls: [{ id: 'c', name: 'f', arguments: '{"q":"forbidden"}' }] }), CHAT, STREAM],
    [
      'completions',
      pieces([...openAiCompletionChunks({ text: BAD_TEXT }), '[DONE]'].map(openAiEvent)),
      '/v1/completions',
      { model: 'm', prompt: 'x', stream: true },
    ],
  ])('%s', async (_what, reply, path, body) => {
    await start({ output_guardrails: ['no-word'] }, guardrail('no-word', [NO_WORD], DENY), reply);
    expect((await ask(body, {}, path)).status).toBe(446);
  });

  it.each([
    ['its text', { text: BAD_TEXT }],
    ['its thinking', { thinking: 'forbidden', text: 'fine' }],
    ['its tool input', { toolUses: [{ id: 't', name: 'f', input: { q: 'forbidden' } }] }],
  ])('in the dialect of messages: %s', async (_what, answer) => {
    const spec = { provider: 'anthropic', output_guardrails: ['no-word'] };
    await start(spec, guardrail('no-word', [NO_WORD], DENY), messageStream(answer));
    const denied = await ask({ ...HI_MESSAGE, stream: true }, {}, MESSAGES);
    expect(denied.body).toMatchObject({ type: 'error', error: { type: 'hooks_failed', code: 'guardrail_denied' } });
    // Translated for a caller of the other dialect, who may see all of it.
    expect((await ask(STREAM, LOOSE)).status).toBe(446);
  });

  it('a stream of messages goes on as it came', async () => {
    const spec = { provider: 'anthropic', output_guardrails: ['no-word'] };
    await start(spec, guardrail('no-word', [NO_WORD], DENY), messageStream());
    const body = { ...HI_MESSAGE, stream: true };
    expect((await ask(body, {}, MESSAGES)).text).toBe(anthropicEvents().join(''));
    const loose = await ask(body, LOOSE, MESSAGES);
    expect(resultsOf(loose)).toMatchObject({ after_request_hooks: [{ verdict: true }] });
    expect(loose.text).toMatch(/event: hook_results\n.*\n\nevent: message_stop\n.*\n\n$/);
  });

  it('breaks off as any stream does, and no verdict hides that', async () => {
    await start(
      { output_guardrails: ['no-word'] },
      guardrail('no-word', [NO_WORD], DENY),
      pieces(openAiEvents({ text: BAD_TEXT }).slice(0, 3), { ending: 'reset' }),
    );
    expect((await ask()).body).toMatchObject({ error: { code: 'upstream_cut' } });
  });
});

describe('any split of a stream', () => {
  let split: Stage;
  beforeAll(async () => {
    const manifests = guardrail('held', [NO_WORD], DENY) + guardrail('redact', [REDACT]);
    split = await startGuarded({ output_guardrails: ['held', 'redact'] }, manifests);
  });
  afterAll(() => split.close());

  it.each([
    ['denied', { text: 'a forbidden wörd' }, 446],
    ['rewritten', { text: 'a secret wörd' }, 200],
    ['passed', { text: 'a wörd', toolCalls: [{ id: 'c', name: 'f', arguments: '{"a":1}' }] }, 200],
  ])('gives the same verdict and the same bytes: %s', async (_what, answer, status) => {
    const bytes = Buffer.from(openAiEvents(answer).join(''));
    const told = async (offsets: readonly number[]) => {
      split.at(0).answer(pieces(cutAt(bytes, offsets)));
      const { status: answered, text } = await tell(await split.gateway.chat(STREAM));
      return { status: answered, text: answered === 200 ? text : '' };
    };
    const whole = await told([]);
    expect(whole.status).toBe(status);
    const cuts = fc.array(fc.nat(bytes.length), { maxLength: 12 });
    const holds = fc.asyncProperty(cuts, async (offsets) => {
      expect(await told(offsets)).toEqual(whole);
    });
    await fc.assert(holds, { numRuns: 25 });
  });
});

describe('a stream that is watched', () => {
  const WATCH = { deny: true, stream: 'watch' };

  it('is cut by the window that fails: an error event, no end marker, and the line says what was sent', async () => {
    const text = `${LONG} ${BAD_TEXT} ${LONG}`;
    const on = await start(
      { output_guardrails: ['no-word'] },
      guardrail('no-word', [NO_WORD], WATCH),
      chatStream({ text }, { gapMs: 0 }),
    );
    const told = await ask();
    expect(told.status).toBe(200);
    expect(told.text).toContain('word10 ');
    expect(told.text).not.toContain('[DONE]');
    expect(eventsOf(told).at(-1)).toMatchObject({
      error: { type: 'hooks_failed', code: 'guardrail_denied' },
      hook_results: { after_request_hooks: [{ id: 'no-word', verdict: false }] },
    });
    const line = await lineOf(on);
    expect(line).toMatchObject({
      status: 200,
      stream_failed: true,
      error: 'guardrail_denied',
      denied_by: 'no-word/default.contains',
    });
    expect(Number(line?.['sent_characters'])).toBeGreaterThan(1_000);
    expect(Number(line?.['sent_characters'])).toBeLessThan(text.length);
  });

  it('speaks the dialect of the caller when it is cut', async () => {
    const spec = { provider: 'anthropic', output_guardrails: ['no-word'] };
    await start(
      spec,
      guardrail('no-word', [NO_WORD], WATCH),
      messageStream({ text: `${LONG} ${BAD_TEXT} ${LONG}` }, { gapMs: 0 }),
    );
    const told = await ask({ ...HI_MESSAGE, stream: true }, {}, MESSAGES);
    expect(told.text).toContain('event: error\n');
    expect(told.text).not.toContain('message_stop');
  });

  it('ends as it came where every window passes', async () => {
    await start(
      { output_guardrails: ['no-word'] },
      guardrail('no-word', [NO_WORD], WATCH),
      chatStream({ text: LONG, includeUsage: false }),
    );
    expect((await ask()).text).toBe(openAiEvents({ text: LONG, includeUsage: false }).join(''));
  });

  it('what is demanded of the whole is asked at the end, before its marker', async () => {
    const ends = { id: 'endsWith', parameters: { suffix: 'over' } };
    const on = await start(
      { output_guardrails: ['ends'] },
      guardrail('ends', [ends], WATCH),
      chatStream({ text: `${LONG} over` }, { gapMs: 0 }),
    );
    expect((await ask()).text).toContain('[DONE]');
    on.at(0).answer(chatStream({ text: LONG }, { gapMs: 0 }));
    const told = await ask();
    expect(told.text).not.toContain('[DONE]');
    expect(eventsOf(told).at(-1)).toMatchObject({ error: { code: 'guardrail_denied' } });
  });

  it('without deny it runs to its end, and the verdict is told there', async () => {
    const reply = chatStream({ text: BAD_TEXT }, { gapMs: 5 });
    const on = await start({ output_guardrails: ['no-word'] }, guardrail('no-word', [NO_WORD]), reply);
    const strict = await ask();
    expect([strict.status, strict.text.endsWith('data: [DONE]\n\n')]).toEqual([200, true]);
    expect(resultsOf(strict)).toMatchObject({ after_request_hooks: [{ id: 'no-word', verdict: false }] });
    expect(await lineOf(on)).toMatchObject({ status: 200, failed_checks: 'no-word/default.contains' });
  });

  it('a service that takes its time cuts the stream later, and is waited for at the end', async () => {
    const judge = await startUpstream((call) => ({
      send(response) {
        const { text } = JSON.parse(call.body) as { text?: string };
        const verdict = !(text ?? call.body).includes('forbidden');
        setTimeout(() => response.end(JSON.stringify({ verdict })), 50);
      },
    }));
    const classify = { id: 'acme.classify', parameters: { apiEndpoint: judge.origin, failOnError: true } };
    try {
      await start(
        { output_guardrails: ['asked'] },
        guardrail('asked', [classify], WATCH),
        chatStream({ text: `fine ${BAD_TEXT}` }),
      );
      const told = await ask();
      expect(told.text).not.toContain('[DONE]');
      expect(told.status === 446 || told.text.includes('"code":"guardrail_')).toBe(true);
    } finally {
      await judge.close();
    }
  });

  it('a word that lies across two windows is found', async () => {
    const halves = [`${'x'.repeat(STEP_CHARS)} forb`, 'idden', ' and so on'];
    const events = halves.map((content) => openAiEvent({ choices: [{ index: 0, delta: { content } }] }));
    const rest = Array.from({ length: 40 }, () => openAiEvent({ choices: [{ index: 0, delta: { content: LONG } }] }));
    const reply = pieces([...events, ...rest, ...END], { gapMs: 1 });
    await start({ output_guardrails: ['no-word'] }, guardrail('no-word', [NO_WORD], WATCH), reply);
    const told = await ask();
    expect(told.text).not.toContain('[DONE]');
    expect(told.text.length).toBeLessThan(20 * LONG.length);
  });

  it('of a very long answer only windows are judged: what is demanded of the whole has no verdict', async () => {
    const piece = 'word '.repeat(12_000);
    const events = Array.from({ length: 20 }, () =>
      openAiEvent({ choices: [{ index: 0, delta: { content: piece } }] }),
    );
    const count = { id: 'wordCount', parameters: { maxWords: 9_999_999 } };
    const guards = guardrail('no-word', [NO_WORD], WATCH) + guardrail('counted', [NO_WORD, count], WATCH);
    await start({ output_guardrails: ['no-word'] }, guards, pieces([...events, ...END]));
    expect((await ask()).text.endsWith('data: [DONE]\n\n')).toBe(true);
    stage?.gateway.apply(stage.manifests.replace('"output_guardrails":["no-word"]', '"output_guardrails":["counted"]'));
    const told = await ask();
    expect(told.text).not.toContain('[DONE]');
    expect(eventsOf(told).at(-1)).toMatchObject({ error: { code: 'guardrail_failed' } });
  });
});
