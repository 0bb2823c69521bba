/** What callers may speak. */
import type { Dialect } from '../providers/provider.ts';
import { chatDialect } from './chat.ts';
import type { ClientDialect } from './dialect.ts';
import { messagesDialect } from './messages/dialect.ts';

export const CLIENT_DIALECTS: Readonly<Record<Dialect, ClientDialect>> = {
  openai: chatDialect,
  anthropic: messagesDialect,
};
