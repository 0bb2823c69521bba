/** Messages of a request -> chat messages. */
import type { Json } from '../../providers/provider.ts';
import { given, isJson, refuse, requireList, requireObject, requireText } from '../json-shape.ts';
import { decodeBlock, decodeContent, plainestContent } from './decode-content.ts';

const ROLES: Readonly<Record<string, (content: unknown, path: string) => Json[]>> = {
  user: decodeUser,
  assistant: decodeAssistant,
  system: decodeSystem,
};

/** `system` first, then the messages in their order. Throws naming the path of what is wrong. */
export function decodeMessages(body: Json): Json[] {
  const items = requireList(body.messages, 'messages');
  if (items.length === 0) return refuse('messages', 'must have at least one message');
  const system = given(body.system);
  const decoded = system === undefined ? [] : decodeSystem(system, 'system');
  for (const [index, item] of items.entries()) {
    const path = `messages[${index}]`;
    const message = requireObject(item, path);
    const role = requireText(message.role, `${path}.role`);
    const decode = Object.hasOwn(ROLES, role) ? ROLES[role] : undefined;
    if (decode === undefined) return refuse(`${path}.role`, 'must be user or assistant');
    decoded.push(...decode(message.content, `${path}.content`));
  }
  return decoded;
}

function decodeSystem(content: unknown, path: string): Json[] {
  const parts = decodeContent(content, path);
  const other = parts.findIndex((part) => part.type !== 'text');
  if (other >= 0) return refuse(`${path}[${other}].type`, 'must be text');
  return parts.length === 0 ? [] : [{ role: 'system', content: plainestContent(parts) }];
}

/** Tool results become messages of their own, before what the user says: that is the order of the chat. */
function decodeUser(content: unknown, path: string): Json[] {
  if (typeof content === 'string') return [{ role: 'user', content }];
  const results: Json[] = [];
  const parts: Json[] = [];
  for (const [index, item] of requireList(content, path).entries()) {
    const at = `${path}[${index}]`;
    const block = requireObject(item, at);
    if (block.type === 'tool_result') results.push(toolMessage(block, at));
    else parts.push(...decodeBlock(block, at, ' or tool_result'));
  }
  return parts.length === 0 ? results : [...results, { role: 'user', content: plainestContent(parts) }];
}

function toolMessage(block: Json, path: string): Json {
  const content = given(block.content);
  return {
    role: 'tool',
    tool_call_id: requireText(block.tool_use_id, `${path}.tool_use_id`),
    content: content === undefined ? '' : plainestContent(decodeContent(content, `${path}.content`)),
    ...(block.is_error === true && { is_error: true }),
    ...(isJson(block.cache_control) && { cache_control: block.cache_control }),
  };
}

interface Said {
  text: string;
  readonly calls: Json[];
  /** All blocks in their order, kept where thinking has to go back in its place. */
  readonly shown: Json[];
  hasThinking: boolean;
}

type SaidDecoder = (block: Json, path: string, said: Said) => void;

const ASSISTANT_BLOCKS: Readonly<Record<string, SaidDecoder>> = {
  text: (block, path, said) => {
    const text = requireText(block.text, `${path}.text`);
    said.text += text;
    said.shown.push({ type: 'text', text });
  },
  tool_use: (block, path, said) => {
    const id = requireText(block.id, `${path}.id`);
    const name = requireText(block.name, `${path}.name`);
    const input = requireObject(given(block.input) ?? {}, `${path}.input`);
    said.calls.push({ id, type: 'function', function: { name, arguments: JSON.stringify(input) } });
    said.shown.push({ type: 'tool_use', id, name, input });
  },
  thinking: (block, path, said) => {
    const thinking = requireText(block.thinking, `${path}.thinking`);
    // Without a signature it is another maker's thinking, which nobody takes back.
    if (typeof block.signature !== 'string' || block.signature === '') return;
    said.hasThinking = true;
    said.shown.push({ type: 'thinking', thinking, signature: block.signature });
  },
  redacted_thinking: (block, path, said) => {
    said.hasThinking = true;
    said.shown.push({ type: 'redacted_thinking', data: requireText(block.data, `${path}.data`) });
  },
};

function decodeAssistant(content: unknown, path: string): Json[] {
  if (typeof content === 'string') return [{ role: 'assistant', content }];
  const said: Said = { text: '', calls: [], shown: [], hasThinking: false };
  for (const [index, item] of requireList(content, path).entries()) {
    const at = `${path}[${index}]`;
    const block = requireObject(item, at);
    const type = requireText(block.type, `${at}.type`);
    const decode = Object.hasOwn(ASSISTANT_BLOCKS, type) ? ASSISTANT_BLOCKS[type] : undefined;
    if (decode === undefined) refuse(`${at}.type`, `must be ${Object.keys(ASSISTANT_BLOCKS).join(', ')}`);
    decode?.(block, at, said);
  }
  return [assistantMessage(said)];
}

function assistantMessage({ text, calls, shown, hasThinking }: Said): Json {
  return {
    role: 'assistant',
    content: text === '' && calls.length > 0 ? null : text,
    ...(calls.length > 0 && { tool_calls: calls }),
    ...(hasThinking && { content_blocks: shown }),
  };
}
