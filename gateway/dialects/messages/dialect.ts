import type { ClientDialect } from '../dialect.ts';
import { isJson } from '../json-shape.ts';
import { decodeRequest } from './decode-request.ts';
import { encodeAnswer } from './encode-answer.ts';
import { errorBody } from './error-body.ts';
import { MessageStreamEncoder } from './stream-encoder.ts';
import { hubUsage } from './usage.ts';

/** Anthropic's messages, for callers who speak them to any provider. */
export const messagesDialect: ClientDialect = {
  name: 'anthropic',
  decodeRequest,
  encodeAnswer,
  encoder: () => new MessageStreamEncoder(),
  errorBody,
  errorEvent: (error) => `event: error\ndata: ${JSON.stringify(errorBody(error))}\n\n`,
  /** Works for a whole message, for `message_start` and for `message_delta`. */
  readUsage: (answer) => {
    const usage = isJson(answer.message) ? answer.message.usage : answer.usage;
    return isJson(usage) ? hubUsage(usage) : undefined;
  },
};
