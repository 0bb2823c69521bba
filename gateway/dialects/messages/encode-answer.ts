/** Chat completion -> message. */
import { GatewayError } from '../../errors.ts';
import type { Json } from '../../providers/provider.ts';
import { isJson } from '../json-shape.ts';
import { inShownOrder } from './block-order.ts';
import { messageUsage } from './usage.ts';

const STOP_REASONS: Readonly<Record<string, string>> = {
  stop: 'end_turn',
  length: 'max_tokens',
  tool_calls: 'tool_use',
  function_call: 'tool_use',
  content_filter: 'refusal',
};

/** Some servers finish with `stop` though they call tools; a caller who loops over tools has to know. */
export function stopReason(finishReason: unknown, hasCalls: boolean): string {
  const known = typeof finishReason === 'string' && Object.hasOwn(STOP_REASONS, finishReason);
  const reason = known ? (STOP_REASONS[finishReason] ?? 'end_turn') : 'end_turn';
  return reason === 'end_turn' && hasCalls ? 'tool_use' : reason;
}

/** Throws `upstream_invalid` for a completion without a message, or a call whose arguments are no JSON object. */
export function encodeAnswer(answer: Json): Json {
  const choice = Array.isArray(answer.choices) ? answer.choices[0] : undefined;
  if (!isJson(choice) || !isJson(choice.message)) throw invalid('answered without a message');
  const calls = toolUses(choice.message);
  return {
    ...messageHead(answer),
    content: contentOf(choice.message, calls),
    stop_reason: stopReason(choice.finish_reason, calls.length > 0),
    usage: messageUsage(answer.usage),
  };
}

/** What a whole message and `message_start` have in common. */
export function messageHead({ id, model }: Json): Json {
  return {
    id: typeof id === 'string' ? id : '',
    type: 'message',
    role: 'assistant',
    model: typeof model === 'string' ? model : '',
    content: [],
    stop_reason: null,
    stop_sequence: null,
    stop_details: null,
    container: null,
    diagnostics: null,
  };
}

/** Other makers' word for thinking, which has no signature. */
export function reasoningOf(message: Json): string {
  const reasoning = message.reasoning_content ?? message.reasoning;
  return typeof reasoning === 'string' ? reasoning : '';
}

export function toolUseBlock(id: string, name: string, input: Json): Json {
  return { type: 'tool_use', id, name, input, caller: { type: 'direct' } };
}

function contentOf(message: Json, calls: readonly Json[]): Json[] {
  const text = typeof message.content === 'string' && message.content !== '' ? message.content : message.refusal;
  const texts = typeof text === 'string' && text !== '' ? [{ type: 'text', text }] : [];
  const reasoning = reasoningOf(message);
  const isOthers = reasoning !== '' && !Array.isArray(message.content_blocks);
  const shown = isOthers ? [{ type: 'thinking', thinking: reasoning, signature: '' }] : message.content_blocks;
  return inShownOrder(shown, texts, calls).map((block) =>
    block.type === 'text' ? { ...block, citations: null } : block,
  );
}

function toolUses(message: Json): Json[] {
  return Array.isArray(message.tool_calls) ? message.tool_calls.map(toolUse) : [];
}

function toolUse(call: unknown): Json {
  const called = isJson(call) ? call.function : undefined;
  if (!isJson(call) || !isJson(called) || typeof call.id !== 'string' || typeof called.name !== 'string') {
    throw invalid('answered with a tool call that has no id or name');
  }
  return toolUseBlock(call.id, called.name, parseInput(called.arguments));
}

function parseInput(text: unknown): Json {
  if (typeof text !== 'string' || text.trim() === '') return {};
  try {
    const input: unknown = JSON.parse(text);
    if (isJson(input)) return input;
  } catch {
    // The error below says the same for both.
  }
  throw invalid('answered with a tool call whose arguments are not a JSON object');
}

/** `what` continues "The provider ...". */
export function invalid(what: string): GatewayError {
  return new GatewayError('upstream_invalid', `The provider ${what}.`);
}
