import type { Credentials, Provider } from '../provider.ts';
import { decodeAnswer } from './decode-answer.ts';
import { encodeRequest } from './encode-request.ts';
import { modelTraits } from './models.ts';
import { ANTHROPIC_MODELS } from './price-page.ts';
import { CONTEXT_LENGTH_WORDS, readProblem } from './problem.ts';
import { MessageStreamDecoder } from './stream-decoder.ts';

/**
 * Of the messages API; the provider refuses requests without it. The translation is written for this one: 2026-10-21
 * refuses sampling parameters. Who speaks the dialect names a version of their own.
 */
const API_VERSION = '2023-06-01';

export const anthropic: Provider = {
  name: 'anthropic',
  dialect: 'anthropic',
  baseUrl: 'https://api.anthropic.com/v1',
  needsCredential: true,
  authorize,
  operations: { chat: { path: '/messages' }, countTokens: { path: '/messages/count_tokens' } },
  chat: {
    encode: encodeRequest,
    decode: decodeAnswer,
    decoder: (options) => new MessageStreamDecoder(options),
  },
  readProblem,
  contextLengthWords: CONTEXT_LENGTH_WORDS,
  streamUsageOnRequest: false,
  models: ANTHROPIC_MODELS,
  maxOutputTokens: (model) => modelTraits(model).maxOutputTokens,
};

function authorize(credentials: Credentials): readonly string[] {
  const version = ['anthropic-version', API_VERSION];
  const key = credentials.api_key;
  return typeof key === 'string' ? ['x-api-key', key, ...version] : version;
}
