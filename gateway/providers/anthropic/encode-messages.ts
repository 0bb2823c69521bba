/** The chat's messages -> system blocks and strictly alternating turns. */

import { refuse, requireList, requireObject, requireText } from '../../dialects/json-shape.ts';
import { inShownOrder } from '../../dialects/messages/block-order.ts';
import type { Json } from '../provider.ts';
import { encodeContent, withCacheControl } from './encode-content.ts';
import { encodeToolCalls, toolId } from './encode-tool-calls.ts';

interface Turn {
  readonly role: 'user' | 'assistant';
  readonly content: Json[];
}

interface Conversation {
  readonly system: Json[];
  readonly turns: Turn[];
  /** Ids made for the deprecated `function_call`, by function name. */
  readonly functionIds: Map<string, string>;
}

type MessageEncoder = (message: Json, path: string, conversation: Conversation) => void;

const ROLES: Readonly<Record<string, MessageEncoder>> = {
  system: addSystem,
  developer: addSystem,
  user: (message, path, conversation) => add(conversation, 'user', encodeContent(message.content, `${path}.content`)),
  assistant: addAssistant,
  tool: addToolResult,
  function: addFunctionResult,
};

/**
 * System and developer messages are lifted to `system`, wherever they stand. Throws `invalid_value` naming the path of
 * what cannot be said to this provider.
 */
export function encodeMessages(value: unknown): { system: unknown; messages: Json[] } {
  const conversation: Conversation = { system: [], turns: [], functionIds: new Map() };
  for (const [index, item] of requireList(value, 'messages').entries()) {
    const path = `messages[${index}]`;
    const message = requireObject(item, path);
    const role = requireText(message.role, `${path}.role`);
    const encode = Object.hasOwn(ROLES, role) ? ROLES[role] : undefined;
    if (encode === undefined)
      return refuse(`${path}.role`, 'must be system, developer, user, assistant, tool or function');
    encode(message, path, conversation);
  }
  trimPrefill(conversation.turns);
  if (conversation.turns.length === 0) return refuse('messages', 'must have a user message with content');
  return {
    system: conversation.system.length === 0 ? undefined : plainest(conversation.system),
    messages: conversation.turns.map(({ role, content }) => ({ role, content: plainest(content) })),
  };
}

function add(conversation: Conversation, role: Turn['role'], blocks: readonly Json[]): void {
  if (blocks.length === 0) return;
  const last = conversation.turns.at(-1);
  if (last?.role === role) last.content.push(...blocks);
  else conversation.turns.push({ role, content: [...blocks] });
}

function addSystem(message: Json, path: string, { system }: Conversation): void {
  system.push(...encodeContent(message.content, `${path}.content`));
}

function addAssistant(message: Json, path: string, conversation: Conversation): void {
  const content = encodeContent(message.content, `${path}.content`);
  const refusal = content.length === 0 && typeof message.refusal === 'string' ? message.refusal : '';
  const texts = refusal === '' ? content : encodeContent(refusal, `${path}.refusal`);
  const calls = encodeToolCalls(message, path, conversation.functionIds);
  add(conversation, 'assistant', inShownOrder(message.content_blocks, texts, calls));
}

function addToolResult(message: Json, path: string, conversation: Conversation): void {
  const id = toolId(requireText(message.tool_call_id, `${path}.tool_call_id`));
  const result = toolResult(id, message.content, `${path}.content`);
  add(conversation, 'user', [
    withCacheControl(message.is_error === true ? { ...result, is_error: true } : result, message),
  ]);
}

function addFunctionResult(message: Json, path: string, conversation: Conversation): void {
  const id = conversation.functionIds.get(requireText(message.name, `${path}.name`));
  if (id === undefined) refuse(`${path}.name`, 'must name a function that an assistant message before it has called');
  add(conversation, 'user', [toolResult(id, message.content, `${path}.content`)]);
}

function toolResult(id: string | undefined, content: unknown, path: string): Json {
  const body = typeof content === 'string' ? content : encodeContent(content, path);
  return { type: 'tool_result', tool_use_id: id, content: body };
}

/** The provider refuses a prefilled answer that ends in white space. */
function trimPrefill(turns: Turn[]): void {
  const last = turns.at(-1);
  const block = last?.role === 'assistant' ? last.content.at(-1) : undefined;
  if (last === undefined || block?.type !== 'text' || typeof block.text !== 'string') return;
  const text = block.text.trimEnd();
  last.content.splice(-1, 1, ...(text === '' ? [] : [{ ...block, text }]));
  if (last.content.length === 0) turns.pop();
}

/** One bare text is said as a string. */
function plainest(blocks: readonly Json[]): unknown {
  const [first] = blocks;
  const isBare = blocks.length === 1 && first?.type === 'text' && first.cache_control === undefined;
  return isBare ? first.text : blocks;
}
