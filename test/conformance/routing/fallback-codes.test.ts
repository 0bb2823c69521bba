/** Which statuses move a fallback on: every one, in every dialect, and the 400 that is no fault of the request. */
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { anthropicError } from '../../fakes/anthropic-wire.ts';
import { config } from '../../fakes/objects.ts';
import { openAiChat, openAiError } from '../../fakes/openai-wire.ts';
import { chat, json, type Reply, text } from '../../fakes/replies.ts';
import { type Stage, startStage } from '../stage.ts';
import { askBy, CHAT, errorOf, good, targetOf, WAYS, type Way, type Wire } from './ways.ts';

const WIRES: readonly Wire[] = ['openai', 'anthropic'];

let stage: Stage;
beforeAll(async () => {
  stage = await startStage(2, (upstreams) =>
    WIRES.flatMap((wire) => {
      const targets = upstreams.map((upstream) => targetOf(wire, upstream));
      const fall = (strategy: object) => ({ strategy: { mode: 'fallback', ...strategy }, targets });
      return [
        config(wire, fall({})),
        config(`${wire}-listed`, fall({ on_status_codes: [400] })),
        config(`${wire}-unlisted`, fall({ on_status_codes: [500] })),
      ];
    }).join(''),
  );
});
afterAll(() => stage.close());
beforeEach(() => {
  for (const upstream of stage.upstreams) upstream.answer(chat());
});

function refusal(wire: Wire, message: string, code: string | null = null): object {
  return wire === 'openai'
    ? openAiError(message, 'invalid_request_error', code)
    : anthropicError('invalid_request_error', message);
}

/** Asks in each way while the first upstream fails; the paths of the targets that answered. */
async function answeredBy(reply: (way: Way) => Reply, name: (wire: Wire) => string = (wire) => wire) {
  const paths: (string | null)[] = [];
  for (const [, way] of WAYS) {
    stage.at(0).answer(reply(way));
    stage.at(1).answer(good(way));
    paths.push((await askBy(stage, way, name(way.wire))).path);
  }
  return paths;
}

const FIRST = WAYS.map(() => 'config.targets[0]');
const SECOND = WAYS.map(() => 'config.targets[1]');
const LISTED_4XX = [401, 403, 404, 408, 409, 425, 429];
/** But 407, which no fetch hands to its caller. */
const STATUSES = Array.from({ length: 200 }, (_, index) => 400 + index).filter((status) => status !== 407);

describe('a fallback without a list', () => {
  it.each(STATUSES)('after %i', async (status) => {
    const moves = status >= 500 || LISTED_4XX.includes(status);
    expect(await answeredBy(({ wire }) => json(status, refusal(wire, 'no')))).toEqual(moves ? SECOND : FIRST);
  });

  it.each([200, 201, 203])('stays with a success: %i', async (status) => {
    stage.at(0).answer(json(status, openAiChat()));
    const asked = await askBy(stage, CHAT, 'openai');
    expect(asked).toMatchObject({ status, calls: [1, 0] });
  });

  it.each([300, 301, 302, 303, 304, 307, 308])('follows no redirect: %i moves on', async (status) => {
    const reply = text(status, '', { location: `${stage.at(1).origin}/elsewhere` });
    expect(await answeredBy(() => reply)).toEqual(SECOND);
    expect(stage.at(1).calls.some(({ path }) => path === '/elsewhere')).toBe(false);
  });
});

const TOO_LONG: readonly (readonly [wire: Wire, message: string, code: string | null])[] = [
  ['openai', 'Too long.', 'context_length_exceeded'],
  ['openai', "This model's maximum context length is 8192 tokens. However, your messages resulted in 9000.", null],
  ['openai', "Input length 9000 exceeds this model's CONTEXT WINDOW of 8192.", null],
  ['openai', 'the request exceeds the available context size, try increasing it', 'exceed_context_size_error'],
  ['openai', 'Please reduce the length of the messages or completion.', 'invalid_request'],
  ['anthropic', 'prompt is too long: 210000 tokens > 200000 maximum', null],
  ['anthropic', 'input length and `max_tokens` exceed context limit: 190000 + 20000 > 200000', null],
];

describe('a 400 that says that the context window is too small', () => {
  it.each(TOO_LONG)('in the words of %s moves on: %s', async (wire, message, code) => {
    for (const [, way] of WAYS.filter(([, { wire: own }]) => own === wire)) {
      stage.at(0).answer(json(400, refusal(wire, message, code)));
      stage.at(1).answer(good(way));
      expect(await askBy(stage, way, wire)).toMatchObject({ status: 200, path: 'config.targets[1]', calls: [1, 1] });
    }
  });

  it.each(TOO_LONG)(
    'in the words of %s moves on for a caller of the other dialect: %s',
    async (wire, message, code) => {
      const other: Wire = wire === 'openai' ? 'anthropic' : 'openai';
      stage.at(0).answer(json(400, refusal(wire, message, code)));
      stage.at(1).answer(good({ wire, stream: false }));
      expect(await askBy(stage, { wire: other, stream: false }, wire)).toMatchObject({ status: 200, calls: [1, 1] });
    },
  );

  it.each(TOO_LONG)('stays where a list does not have 400: %s, %s', async (wire, message, code) => {
    stage.at(0).answer(json(400, refusal(wire, message, code)));
    expect(await askBy(stage, { wire, stream: false }, `${wire}-unlisted`)).toMatchObject({
      status: 400,
      calls: [1, 0],
    });
  });

  it.each([413, 415, 422])('is a 400, not a %i', async (status) => {
    expect(
      await answeredBy(({ wire }) =>
        json(status, refusal(wire, 'prompt is too long: maximum context length', 'context_length_exceeded')),
      ),
    ).toEqual(FIRST);
  });

  it('is what comes back where it is the last answer', async () => {
    for (const upstream of stage.upstreams)
      upstream.answer(json(400, refusal('openai', 'Far too long.', 'context_length_exceeded')));
    const { status, text: body, path } = await askBy(stage, CHAT, 'openai');
    expect({ status, path }).toEqual({ status: 400, path: 'config.targets[1]' });
    expect(errorOf(body)).toMatchObject({ message: 'Far too long.', code: 'context_length_exceeded' });
  });
});

describe('any other 400', () => {
  it.each([
    ['openai', 'Your request was rejected by our safety system.', 'content_policy_violation'],
    ['openai', 'The response was filtered due to the prompt triggering a content policy.', 'content_filter'],
    ['openai', "Unknown parameter: 'foo'.", 'unknown_parameter'],
    ['openai', 'max_tokens is too large: 100000.', 'invalid_value'],
    ['openai', 'The string is too long: at most 64 characters.', 'string_above_max_length'],
    ['anthropic', 'Output blocked by content filtering policy', null],
    ['anthropic', 'messages: at least one message is required', null],
    ['anthropic', 'max_tokens: 9000 > 8192, which is the maximum allowed number of output tokens', null],
  ] as const)('of %s stays: %s', async (wire, message, code) => {
    for (const [, way] of WAYS.filter(([, { wire: own }]) => own === wire)) {
      stage.at(0).answer(json(400, refusal(wire, message, code)));
      const asked = await askBy(stage, way, wire);
      expect(asked).toMatchObject({ status: 400, path: 'config.targets[0]', calls: [1, 0] });
      expect(errorOf(asked.text)).toMatchObject({ message });
    }
  });

  it('moves on where the list has 400', async () => {
    const reply = ({ wire }: Way) => json(400, refusal(wire, 'refused', 'content_policy_violation'));
    expect(await answeredBy(reply, (wire) => `${wire}-listed`)).toEqual(SECOND);
  });

  it.each([
    ['empty', text(400, '')],
    ['no JSON', text(400, 'maximum context length exceeded')],
    ['JSON of another shape', json(400, { detail: [{ loc: ['body'], msg: 'field required' }] })],
    ['JSON that is null', json(400, null)],
  ])('stays where its body is %s', async (_what, reply) => {
    expect(await answeredBy(() => reply)).toEqual(FIRST);
  });
});
