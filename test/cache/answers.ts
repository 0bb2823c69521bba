/** Whole answers of each form, as properties draw them. */
import fc from 'fast-check';

const text = fc.string({ unit: 'grapheme', maxLength: 20 });
const name = fc.stringMatching(/^[a-z_]{1,12}$/);
const json = fc.dictionary(name, fc.oneof(text, fc.nat(), fc.boolean(), fc.constant(null)), { maxKeys: 3 });
const id = fc.uuid();
const count = fc.nat(100_000);
const seconds = fc.integer({ min: 1_600_000_000, max: 2_000_000_000 });
const usage = fc
  .record({ prompt_tokens: count, completion_tokens: count })
  .map((counts) => ({ ...counts, total_tokens: counts.prompt_tokens + counts.completion_tokens }));

const token = fc.record({
  token: text,
  logprob: fc.double({ max: -0.001, min: -20, noNaN: true }),
  bytes: fc.constant(null),
});
const logprobs = fc.option(
  fc.record({
    content: fc.array(token, { minLength: 1, maxLength: 3 }),
    refusal: fc.constant(null),
  }),
);

interface Call {
  readonly id: string;
  readonly type: 'function';
  readonly function: { readonly name: string; readonly arguments: string };
}

const call: fc.Arbitrary<Call> = fc.record({
  id,
  type: fc.constant('function'),
  function: fc.record({ name, arguments: json.map((input) => JSON.stringify(input)) }),
});
const calls = fc.uniqueArray(call, { maxLength: 3, selector: (drawn) => drawn.id });

/** Thinking, before the text and between it and the calls, as providers show it. */
const thinking = fc.oneof(
  fc.record({ type: fc.constant('thinking' as const), thinking: text, signature: fc.base64String({ maxLength: 8 }) }),
  fc.record({ type: fc.constant('redacted_thinking' as const), data: fc.base64String({ maxLength: 8 }) }),
);

function shownBlocks(before: readonly object[], said: string, between: readonly object[], called: readonly Call[]) {
  const texts = said === '' ? [] : [{ type: 'text', text: said }];
  const uses = called.map(({ id: use, function: { name: tool, arguments: input } }) => ({
    type: 'tool_use',
    id: use,
    name: tool,
    input: JSON.parse(input) as unknown,
  }));
  return [...before, ...texts, ...between, ...uses];
}

const plainMessage = fc.record({ content: text, tool_calls: calls }).map(({ content, tool_calls }) => ({
  role: 'assistant',
  content: content === '' && tool_calls.length > 0 ? null : content,
  refusal: null,
  ...(tool_calls.length > 0 && { tool_calls }),
}));

const thinkingMessage = fc
  .tuple(fc.array(thinking, { minLength: 1, maxLength: 3 }), text, fc.array(thinking, { maxLength: 2 }), calls)
  .map(([before, content, between, tool_calls]) => ({
    role: 'assistant',
    content,
    refusal: null,
    ...(tool_calls.length > 0 && { tool_calls }),
    content_blocks: shownBlocks(before, content, between, tool_calls),
  }));

const otherMessage = fc.oneof(
  text.map((refusal) => ({ role: 'assistant', content: null, refusal })),
  fc.record({ reasoning_content: text, content: text }).map((said) => ({ role: 'assistant', refusal: null, ...said })),
  fc
    .record({ name, arguments: json.map((input) => JSON.stringify(input)) })
    .map((function_call) => ({ role: 'assistant', content: null, refusal: null, function_call })),
  fc.record({ content: text, annotations: fc.array(json, { maxLength: 2 }) }).map((said) => ({
    role: 'assistant',
    refusal: null,
    ...said,
  })),
);

const finish = fc.constantFrom('stop', 'length', 'tool_calls', 'content_filter');

export const chatAnswer = fc
  .record({
    id,
    created: seconds,
    model: name,
    usage: fc.option(usage, { nil: undefined }),
    system_fingerprint: fc.option(name, { nil: undefined }),
    choices: fc.array(
      fc.record({ message: fc.oneof(plainMessage, thinkingMessage, otherMessage), logprobs, finish_reason: finish }),
      { minLength: 1, maxLength: 3 },
    ),
  })
  .map(({ choices, usage: counted, system_fingerprint, ...head }) => ({
    ...head,
    object: 'chat.completion',
    choices: choices.map((choice, index) => ({ index, ...choice })),
    ...(counted !== undefined && { usage: counted }),
    ...(system_fingerprint !== undefined && { system_fingerprint }),
  }));

export const completionAnswer = fc
  .record({
    id,
    created: seconds,
    model: name,
    usage,
    choices: fc.array(
      fc.record({
        text,
        logprobs: fc.option(
          fc.record({
            tokens: fc.array(text, { maxLength: 3 }),
            token_logprobs: fc.array(fc.integer(), { maxLength: 3 }),
            top_logprobs: fc.constant(null),
            text_offset: fc.array(fc.nat(), { maxLength: 3 }),
          }),
        ),
        finish_reason: fc.constantFrom('stop', 'length'),
      }),
      { minLength: 1, maxLength: 3 },
    ),
  })
  .map(({ choices, ...head }) => ({
    ...head,
    object: 'text_completion',
    choices: choices.map((choice, index) => ({ index, ...choice })),
  }));

const citation = fc.record({ type: fc.constant('char_location'), cited_text: text, document_index: fc.nat(9) });
const block = fc.oneof(
  thinking,
  fc.record({
    type: fc.constant('text' as const),
    text,
    citations: fc.option(fc.array(citation, { maxLength: 2 })),
  }),
  fc.record({
    type: fc.constantFrom('tool_use', 'server_tool_use', 'mcp_tool_use'),
    id,
    name,
    input: json,
  }),
  fc.record({
    type: fc.constant('web_search_tool_result'),
    tool_use_id: id,
    content: fc.array(json, { maxLength: 2 }),
  }),
);

export const messageAnswer = fc.record({
  id,
  type: fc.constant('message'),
  role: fc.constant('assistant'),
  model: name,
  content: fc.array(block, { maxLength: 5 }),
  stop_reason: fc.constantFrom('end_turn', 'max_tokens', 'tool_use', 'stop_sequence', 'refusal'),
  stop_sequence: fc.option(text),
  usage: fc.record({
    input_tokens: count,
    output_tokens: count,
    cache_read_input_tokens: count,
    cache_creation: fc.record({ ephemeral_1h_input_tokens: count }),
    service_tier: fc.constant('standard'),
  }),
});
