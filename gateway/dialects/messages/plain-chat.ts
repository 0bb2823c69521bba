import type { Json } from '../../providers/provider.ts';
import { isJson } from '../json-shape.ts';

/** What the hub carries for providers of the messages dialect, and servers of the plain chat refuse as unknown. */
const EXTRA_FIELDS = ['thinking', 'top_k'] as const;
const EXTRA_MESSAGE_FIELDS = ['content_blocks', 'is_error', 'cache_control'] as const;

/**
 * A decoded messages request without the hub's extras, for a provider whose dialect is the chat. Images in tool results,
 * which the chat does not know, follow as a user message.
 */
export function plainChat(request: Json): Json {
  const plain = without(request, EXTRA_FIELDS);
  if (Array.isArray(request.messages)) plain.messages = plainMessages(request.messages);
  if (Array.isArray(request.tools))
    plain.tools = request.tools.map((tool) => (isJson(tool) ? without(tool, ['cache_control']) : tool));
  return plain;
}

function plainMessages(messages: readonly unknown[]): unknown[] {
  const plain: unknown[] = [];
  let images: Json[] = [];
  for (const message of messages) {
    if (!isJson(message)) continue;
    if (message.role !== 'tool' && images.length > 0) {
      plain.push({ role: 'user', content: images });
      images = [];
    }
    plain.push(plainMessage(message, images));
  }
  return images.length === 0 ? plain : [...plain, { role: 'user', content: images }];
}

function plainMessage(message: Json, images: Json[]): Json {
  const plain = without(message, EXTRA_MESSAGE_FIELDS);
  if (!Array.isArray(message.content)) return plain;
  const parts = message.content.filter(isJson).map((part) => without(part, ['cache_control']));
  if (message.role !== 'tool') return { ...plain, content: parts };
  const others = parts.filter((part) => part.type !== 'text');
  if (others.length === 0) return { ...plain, content: parts };
  images.push({ type: 'text', text: `Result of the tool call ${message.tool_call_id}:` }, ...others);
  const texts = parts.filter((part) => part.type === 'text');
  return { ...plain, content: texts.length === 0 ? 'The result follows in the next message.' : texts };
}

function without(from: Json, fields: readonly string[]): Json {
  const rest = { ...from };
  for (const field of fields) delete rest[field];
  return rest;
}
