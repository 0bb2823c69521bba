import Anthropic from '@anthropic-ai/sdk';
import type { MessageCreateParams } from '@anthropic-ai/sdk/resources/messages/messages';
import type { ChatCompletionCreateParams } from 'openai/resources/chat/completions';
import { describe, expect, it } from 'vitest';
import { messagesDialect } from '#gateway/dialects/messages/dialect.ts';
import { GatewayError } from '#gateway/errors.ts';
import type { Json } from '#gateway/providers/provider.ts';

const HI: Json = { role: 'user', content: 'Hi' };
const CACHED = { cache_control: { type: 'ephemeral' } };

function decode(fields: Json): Json {
  return messagesDialect.decodeRequest({ model: 'm', max_tokens: 10, messages: [HI], ...fields });
}

function decodeMessages(...messages: Json[]): Json[] {
  return decode({ messages }).messages as Json[];
}

function text(value: string): Json {
  return { type: 'text', text: value };
}

function user(...blocks: Json[]): Json {
  return { role: 'user', content: blocks };
}

function assistant(...blocks: Json[]): Json {
  return { role: 'assistant', content: blocks };
}

function refusal(run: () => unknown): GatewayError {
  try {
    run();
  } catch (error) {
    if (error instanceof GatewayError) return error;
    throw error;
  }
  throw new Error('nothing was thrown');
}

describe('decodeRequest', () => {
  it('turns a whole request, typed by one SDK, into one of the other', () => {
    const message = {
      model: 'gpt-4o',
      max_tokens: 500,
      system: [{ type: 'text', text: 'Be brief.' }],
      messages: [
        { role: 'user', content: 'Weather in Oslo?' },
        { role: 'assistant', content: [{ type: 'tool_use', id: 'c1', name: 'weather', input: { city: 'Oslo' } }] },
        { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'c1', content: 'rain' }] },
      ],
      tools: [
        {
          name: 'weather',
          description: 'Weather',
          input_schema: { type: 'object', properties: { city: { type: 'string' } } },
        },
      ],
      tool_choice: { type: 'auto', disable_parallel_tool_use: true },
      stop_sequences: ['END'],
      metadata: { user_id: 'u-1' },
      stream: true,
    } satisfies MessageCreateParams;
    const chat = {
      model: 'gpt-4o',
      max_completion_tokens: 500,
      messages: [
        { role: 'system', content: 'Be brief.' },
        { role: 'user', content: 'Weather in Oslo?' },
        {
          role: 'assistant',
          content: null,
          tool_calls: [{ id: 'c1', type: 'function', function: { name: 'weather', arguments: '{"city":"Oslo"}' } }],
        },
        { role: 'tool', tool_call_id: 'c1', content: 'rain' },
      ],
      tools: [
        {
          type: 'function',
          function: {
            name: 'weather',
            description: 'Weather',
            parameters: { type: 'object', properties: { city: { type: 'string' } } },
          },
        },
      ],
      tool_choice: 'auto',
      parallel_tool_calls: false,
      stop: ['END'],
      user: 'u-1',
      stream: true,
      stream_options: { include_usage: true },
    } satisfies ChatCompletionCreateParams;
    const before = structuredClone(message);
    expect(messagesDialect.decodeRequest(message)).toEqual(chat);
    expect(message).toEqual(before);
  });

  it('says nothing that was not asked for', () => {
    expect(decode({})).toStrictEqual({ model: 'm', max_completion_tokens: 10, messages: [HI] });
  });

  const fields: readonly (readonly [what: string, said: Json, hub: Json])[] = [
    ['temperature', { temperature: 0.5 }, { temperature: 0.5 }],
    ['temperature 0', { temperature: 0 }, { temperature: 0 }],
    ['top_p', { top_p: 0.5 }, { top_p: 0.5 }],
    ['top_k', { top_k: 5 }, { top_k: 5 }],
    ['no stop sequences', { stop_sequences: [] }, {}],
    ['stop sequences', { stop_sequences: ['a', 'b'] }, { stop: ['a', 'b'] }],
    ['stream', { stream: true }, { stream: true, stream_options: { include_usage: true } }],
    ['no stream', { stream: false }, { stream: false }],
    [
      'thinking',
      { thinking: { type: 'enabled', budget_tokens: 2_000 } },
      { thinking: { type: 'enabled', budget_tokens: 2_000 } },
    ],
    ['effort', { output_config: { effort: 'high' } }, { reasoning_effort: 'high' }],
    [
      'a schema',
      { output_config: { format: { type: 'json_schema', schema: { type: 'object' } } } },
      {
        response_format: {
          type: 'json_schema',
          json_schema: { name: 'output', schema: { type: 'object' }, strict: true },
        },
      },
    ],
    ['no metadata', { metadata: {} }, {}],
    ['a null user', { metadata: { user_id: null } }, {}],
    ['service tier auto', { service_tier: 'auto' }, { service_tier: 'auto' }],
    ['service tier standard_only', { service_tier: 'standard_only' }, { service_tier: 'default' }],
    ['max_tokens 0', { max_tokens: 0 }, { max_completion_tokens: 0 }],
    [
      'nulls as not given',
      {
        temperature: null,
        top_p: null,
        top_k: null,
        thinking: null,
        tools: null,
        system: null,
        metadata: null,
        output_config: null,
        stream: null,
      },
      {},
    ],
    ['fields without a word in the chat', { container: 'c', context_management: {}, betas: ['x'], whatever: 1 }, {}],
  ];

  it.each(fields)('reads %s', (_what, said, hub) => {
    expect(decode(said)).toStrictEqual({ ...decode({}), ...hub });
  });

  it('does not need a model: a config may set it', () => {
    expect(decode({ model: undefined })).toStrictEqual({ max_completion_tokens: 10, messages: [HI] });
  });
});

describe('system', () => {
  it.each([
    ['a string', 'A', 'A'],
    ['one block', [text('A')], 'A'],
    ['several blocks', [text('A'), text('B')], [text('A'), text('B')]],
    ['a cached block', [{ ...text('A'), ...CACHED }], [{ ...text('A'), ...CACHED }]],
  ])('is %s', (_what, system, content) => {
    expect(decode({ system }).messages).toEqual([{ role: 'system', content }, HI]);
  });

  it.each([
    ['an empty string', ''],
    ['an empty list', []],
  ])('is nothing when it is %s', (_what, system) => {
    expect(decode({ system }).messages).toEqual([HI]);
  });

  it('may also stand among the messages', () => {
    expect(decodeMessages(HI, { role: 'system', content: 'S' }, HI)).toEqual([
      HI,
      { role: 'system', content: 'S' },
      HI,
    ]);
  });
});

describe('user content', () => {
  const image = { type: 'image', source: { type: 'base64', media_type: 'image/png', data: 'AA==' } };
  const imagePart = { type: 'image_url', image_url: { url: 'data:image/png;base64,AA==' } };
  const cases: readonly (readonly [what: string, blocks: Json[], content: unknown])[] = [
    ['one text', [text('a')], 'a'],
    ['several texts', [text('a'), text('b')], [text('a'), text('b')]],
    ['a cached text', [{ ...text('a'), ...CACHED }], [{ ...text('a'), ...CACHED }]],
    ['an image', [text('see'), image], [text('see'), imagePart]],
    ['a cached image', [{ ...image, ...CACHED }], [{ ...imagePart, ...CACHED }]],
    [
      'an image by URL',
      [{ type: 'image', source: { type: 'url', url: 'https://a/b' } }],
      [{ type: 'image_url', image_url: { url: 'https://a/b' } }],
    ],
    [
      'a PDF',
      [
        {
          type: 'document',
          source: { type: 'base64', media_type: 'application/pdf', data: 'JVBERi0=' },
          title: 'a.pdf',
        },
      ],
      [{ type: 'file', file: { file_data: 'data:application/pdf;base64,JVBERi0=', filename: 'a.pdf' } }],
    ],
    [
      'a PDF without title, which OpenAI wants named',
      [{ type: 'document', source: { type: 'base64', media_type: 'application/pdf', data: 'JVBERi0=' } }],
      [{ type: 'file', file: { file_data: 'data:application/pdf;base64,JVBERi0=', filename: 'document.pdf' } }],
    ],
    [
      'a document by URL',
      [{ type: 'document', source: { type: 'url', url: 'https://a/b.pdf' } }],
      [{ type: 'file', file: { file_url: 'https://a/b.pdf' } }],
    ],
    [
      'an uploaded document',
      [{ type: 'document', source: { type: 'file', file_id: 'f' } }],
      [{ type: 'file', file: { file_id: 'f' } }],
    ],
    ['a text document', [{ type: 'document', source: { type: 'text', media_type: 'text/plain', data: 'x' } }], 'x'],
    [
      'a text document with title',
      [{ type: 'document', title: 'T', source: { type: 'text', media_type: 'text/plain', data: 'x' } }],
      'T\n\nx',
    ],
    [
      'a document of blocks',
      [{ type: 'document', source: { type: 'content', content: [text('x'), image] } }],
      [text('x'), imagePart],
    ],
    ['a document of a string', [{ type: 'document', source: { type: 'content', content: 'x' } }], 'x'],
    [
      'a search result',
      [{ type: 'search_result', source: 's', title: 't', content: [text('x'), text('y')] }],
      [text('x'), text('y')],
    ],
  ];

  it.each(cases)('%s', (_what, blocks, content) => {
    expect(decodeMessages(user(...blocks))).toEqual([{ role: 'user', content }]);
  });

  it('of tool results becomes messages of their own, before the text', () => {
    const blocks = [
      { type: 'tool_result', tool_use_id: 'a', content: 'one' },
      text('And?'),
      { type: 'tool_result', tool_use_id: 'b', content: [text('two')], is_error: true },
      { type: 'tool_result', tool_use_id: 'c', content: [text('x'), image], ...CACHED },
      { type: 'tool_result', tool_use_id: 'd' },
      { type: 'tool_result', tool_use_id: 'e', content: [], is_error: false },
    ];
    expect(decodeMessages(user(...blocks))).toEqual([
      { role: 'tool', tool_call_id: 'a', content: 'one' },
      { role: 'tool', tool_call_id: 'b', content: 'two', is_error: true },
      { role: 'tool', tool_call_id: 'c', content: [text('x'), imagePart], ...CACHED },
      { role: 'tool', tool_call_id: 'd', content: '' },
      { role: 'tool', tool_call_id: 'e', content: '' },
      { role: 'user', content: 'And?' },
    ]);
  });
});

describe('assistant content', () => {
  const thought = { type: 'thinking', thinking: 'Hm', signature: 's' };
  const hidden = { type: 'redacted_thinking', data: 'xyz' };
  const use = { type: 'tool_use', id: 'c', name: 'f', input: { a: 1 } };
  const call = { id: 'c', type: 'function', function: { name: 'f', arguments: '{"a":1}' } };
  const cases: readonly (readonly [what: string, blocks: Json[], message: Json])[] = [
    ['text', [text('a'), text('b')], { content: 'ab' }],
    ['nothing', [], { content: '' }],
    ['a call', [use], { content: null, tool_calls: [call] }],
    ['text and a call', [text('a'), use], { content: 'a', tool_calls: [call] }],
    [
      'a call without input',
      [{ type: 'tool_use', id: 'c', name: 'f' }],
      { content: null, tool_calls: [{ ...call, function: { name: 'f', arguments: '{}' } }] },
    ],
    [
      'signed thinking',
      [thought, text('a'), use],
      { content: 'a', tool_calls: [call], content_blocks: [thought, text('a'), use] },
    ],
    ['redacted thinking', [hidden, text('a')], { content: 'a', content_blocks: [hidden, text('a')] }],
    ["another maker's thinking, as nothing", [{ ...thought, signature: '' }, text('a')], { content: 'a' }],
    ['thinking without signature, as nothing', [{ type: 'thinking', thinking: 'Hm' }, text('a')], { content: 'a' }],
    [
      'what newer answers say besides',
      [
        { ...use, caller: { type: 'direct' } },
        { ...text('a'), citations: null },
      ],
      { content: 'a', tool_calls: [call] },
    ],
  ];

  it.each(cases)('%s', (_what, blocks, message) => {
    expect(decodeMessages(HI, assistant(...blocks))).toEqual([HI, { role: 'assistant', ...message }]);
  });

  it('as a string stays one', () => {
    expect(decodeMessages(HI, { role: 'assistant', content: 'The answer is (' })[1]).toEqual({
      role: 'assistant',
      content: 'The answer is (',
    });
  });
});

describe('tools', () => {
  const TOOL = { name: 'f', input_schema: { type: 'object' } };
  const F = { type: 'function', function: { name: 'f', parameters: { type: 'object' } } };
  const tools: readonly (readonly [what: string, tool: Json, hub: Json])[] = [
    ['plain', TOOL, F],
    ['custom by name', { ...TOOL, type: 'custom' }, F],
    ['custom by null', { ...TOOL, type: null }, F],
    ['with description', { ...TOOL, description: 'd' }, { ...F, function: { ...F.function, description: 'd' } }],
    ['strict', { ...TOOL, strict: true }, { ...F, function: { ...F.function, strict: true } }],
    ['cached', { ...TOOL, ...CACHED }, { ...F, ...CACHED }],
    ['with what the chat has no word for', { ...TOOL, input_examples: [{}], eager_input_streaming: true }, F],
  ];

  it.each(tools)('%s', (_what, tool, hub) => {
    expect(decode({ tools: [tool] }).tools).toEqual([hub]);
  });

  const choices: readonly (readonly [choice: Json, hub: Json])[] = [
    [{ type: 'auto' }, { tool_choice: 'auto' }],
    [{ type: 'any' }, { tool_choice: 'required' }],
    [{ type: 'none' }, { tool_choice: 'none' }],
    [{ type: 'tool', name: 'f' }, { tool_choice: { type: 'function', function: { name: 'f' } } }],
    [
      { type: 'auto', disable_parallel_tool_use: true },
      { tool_choice: 'auto', parallel_tool_calls: false },
    ],
    [{ type: 'any', disable_parallel_tool_use: false }, { tool_choice: 'required' }],
    [
      { type: 'tool', name: 'f', disable_parallel_tool_use: true },
      { tool_choice: { type: 'function', function: { name: 'f' } }, parallel_tool_calls: false },
    ],
  ];

  it.each(choices)('tool_choice %j', (choice, hub) => {
    expect(decode({ tools: [TOOL], tool_choice: choice })).toStrictEqual({ ...decode({ tools: [TOOL] }), ...hub });
  });

  it('none of them: no list, no choice', () => {
    expect(decode({ tools: [], tool_choice: { type: 'auto' } })).toStrictEqual(decode({}));
  });
});

describe('decodeRequest refuses, naming the field,', () => {
  const TOOL = { name: 'f', input_schema: {} };
  const missing: readonly (readonly [param: string, fields: Json])[] = [
    ['max_tokens', { max_tokens: undefined }],
    ['max_tokens', { max_tokens: null }],
    ['messages', { messages: undefined }],
    ['messages[0].role', { messages: [{ content: 'a' }] }],
    ['messages[0].content', { messages: [{ role: 'user' }] }],
    ['messages[0].content[0].type', { messages: [user({ text: 'a' })] }],
    ['messages[0].content[0].text', { messages: [user({ type: 'text' })] }],
    ['messages[0].content[0].source', { messages: [user({ type: 'image' })] }],
    [
      'messages[0].content[0].source.data',
      { messages: [user({ type: 'image', source: { type: 'base64', media_type: 'image/png' } })] },
    ],
    ['messages[0].content[0].source.url', { messages: [user({ type: 'document', source: { type: 'url' } })] }],
    ['messages[0].content[0].tool_use_id', { messages: [user({ type: 'tool_result' })] }],
    ['messages[0].content[0].id', { messages: [assistant({ type: 'tool_use', name: 'f' })] }],
    ['messages[0].content[0].name', { messages: [assistant({ type: 'tool_use', id: 'c' })] }],
    ['messages[0].content[0].thinking', { messages: [assistant({ type: 'thinking', signature: 's' })] }],
    ['messages[0].content[0].data', { messages: [assistant({ type: 'redacted_thinking' })] }],
    ['tools[0].name', { tools: [{ input_schema: {} }] }],
    ['tools[0].input_schema', { tools: [{ name: 'f' }] }],
    ['tool_choice.type', { tools: [TOOL], tool_choice: {} }],
    ['tool_choice.name', { tools: [TOOL], tool_choice: { type: 'tool' } }],
    ['output_config.format.schema', { output_config: { format: { type: 'json_schema' } } }],
  ];

  it.each(missing)('%s as missing in %j', (param, fields) => {
    const error = refusal(() => decode(fields));
    expect(error).toMatchObject({ code: 'missing_field', status: 400, details: { param } });
    expect(error.message).toContain(param);
  });

  const wrong: readonly (readonly [param: string, fields: Json])[] = [
    ['model', { model: 7 }],
    ['max_tokens', { max_tokens: '10' }],
    ['max_tokens', { max_tokens: -1 }],
    ['max_tokens', { max_tokens: 1.5 }],
    ['temperature', { temperature: '1' }],
    ['top_p', { top_p: {} }],
    ['top_k', { top_k: true }],
    ['stop_sequences', { stop_sequences: 'END' }],
    ['stop_sequences', { stop_sequences: ['a', 7] }],
    ['stream', { stream: 'yes' }],
    ['thinking', { thinking: 'yes' }],
    ['system', { system: 7 }],
    ['system[1].type', { system: [text('a'), { type: 'image', source: { type: 'url', url: 'https://a' } }] }],
    ['system[0]', { system: ['a'] }],
    ['metadata', { metadata: 'u' }],
    ['metadata.user_id', { metadata: { user_id: 7 } }],
    ['messages', { messages: {} }],
    ['messages', { messages: [] }],
    ['messages[1]', { messages: [HI, 'Hi'] }],
    ['messages[0].role', { messages: [{ role: 'tool', content: 'a' }] }],
    ['messages[0].role', { messages: [{ role: 'valueOf', content: 'a' }] }],
    ['messages[0].content', { messages: [{ role: 'user', content: 7 }] }],
    ['messages[0].content[1]', { messages: [user(text('a'), 'b' as unknown as Json)] }],
    ['messages[0].content[0].type', { messages: [user({ type: 'tool_use', id: 'c', name: 'f', input: {} })] }],
    ['messages[0].content[0].type', { messages: [user({ type: 'container_upload', file_id: 'f' })] }],
    [
      'messages[0].content[0].type',
      { messages: [assistant({ type: 'server_tool_use', id: 's', name: 'web_search', input: {} })] },
    ],
    ['messages[0].content[0].type', { messages: [assistant({ type: 'image', source: {} })] }],
    ['messages[0].content[0].text', { messages: [user({ type: 'text', text: 7 })] }],
    [
      'messages[0].content[0].source.type',
      { messages: [user({ type: 'image', source: { type: 'file', file_id: 'f' } })] },
    ],
    ['messages[0].content[0].source.type', { messages: [user({ type: 'document', source: { type: 'ftp' } })] }],
    ['messages[0].content[0].content', { messages: [user({ type: 'tool_result', tool_use_id: 'c', content: 7 })] }],
    [
      'messages[0].content[0].content[0].type',
      { messages: [user({ type: 'tool_result', tool_use_id: 'c', content: [{ type: 'tool_reference' }] })] },
    ],
    ['messages[0].content[0].input', { messages: [assistant({ type: 'tool_use', id: 'c', name: 'f', input: 'x' })] }],
    ['tools', { tools: {} }],
    ['tools[1]', { tools: [TOOL, 'f'] }],
    ['tools[0].type', { tools: [{ type: 'web_search_20250305', name: 'web_search' }] }],
    ['tools[0].input_schema', { tools: [{ name: 'f', input_schema: 'x' }] }],
    ['tool_choice', { tools: [TOOL], tool_choice: 'auto' }],
    ['tool_choice.type', { tools: [TOOL], tool_choice: { type: 'maybe' } }],
    ['output_config', { output_config: 'high' }],
    ['output_config.effort', { output_config: { effort: 7 } }],
    ['output_config.format.type', { output_config: { format: { type: 'xml' } } }],
  ];

  it.each(wrong)('%s as wrong in %j', (param, fields) => {
    const error = refusal(() => decode(fields));
    expect(error).toMatchObject({ code: 'invalid_value', status: 400, details: { param } });
    expect(error.message).toContain(param);
  });
});

describe('what the official SDK sends', () => {
  /** The body that the SDK puts on the wire for these parameters. */
  async function sentBy(run: (client: Anthropic) => PromiseLike<unknown>): Promise<Json> {
    let sent: Json = {};
    const fetch = async (_url: unknown, init?: RequestInit): Promise<Response> => {
      sent = JSON.parse(String(init?.body));
      return new Response('{"type":"error","error":{"type":"invalid_request_error","message":"stop here"}}', {
        status: 400,
      });
    };
    const client = new Anthropic({ apiKey: 'x', baseURL: 'http://gateway.test', fetch, maxRetries: 0 });
    await Promise.resolve(run(client)).catch(() => undefined);
    return sent;
  }

  const params: MessageCreateParams = {
    model: 'gpt-4o',
    max_tokens: 64,
    system: [{ type: 'text', text: 'Be brief.', cache_control: { type: 'ephemeral' } }],
    messages: [
      {
        role: 'user',
        content: [
          { type: 'image', source: { type: 'url', url: 'https://a/b.png' } },
          { type: 'text', text: 'What?' },
        ],
      },
      {
        role: 'assistant',
        content: [
          { type: 'thinking', thinking: 'Hm', signature: 's' },
          { type: 'tool_use', id: 'c', name: 'f', input: {} },
        ],
      },
      {
        role: 'user',
        content: [{ type: 'tool_result', tool_use_id: 'c', content: [{ type: 'text', text: 'x' }], is_error: true }],
      },
    ],
    tools: [{ name: 'f', input_schema: { type: 'object' } }],
    tool_choice: { type: 'any' },
    thinking: { type: 'enabled', budget_tokens: 1_024 },
  };

  it('is taken: create', async () => {
    const hub = messagesDialect.decodeRequest(
      await sentBy((client) => client.messages.create({ ...params, stream: false })),
    );
    expect(hub).toMatchObject({ model: 'gpt-4o', max_completion_tokens: 64, tool_choice: 'required' });
    expect((hub.messages as Json[]).map(({ role }) => role)).toEqual(['system', 'user', 'assistant', 'tool']);
  });

  it('is taken: stream', async () => {
    const hub = messagesDialect.decodeRequest(await sentBy((client) => client.messages.stream(params).finalMessage()));
    expect(hub).toMatchObject({ stream: true, stream_options: { include_usage: true } });
  });
});
