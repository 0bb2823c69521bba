/** OpenAI's chat: the hub itself, so requests and answers stay as they are. */
import { errorEnvelope, type GatewayError } from '../errors.ts';
import type { Json, Usage } from '../providers/provider.ts';
import type { ClientDialect, StreamEncoder } from './dialect.ts';
import { isJson } from './json-shape.ts';

const encoder: StreamEncoder = {
  encode: (chunk) => `data: ${JSON.stringify(chunk)}\n\n`,
  end: () => 'data: [DONE]\n\n',
};

export const chatDialect: ClientDialect = {
  name: 'openai',
  decodeRequest: (body) => body,
  encodeAnswer: (answer) => answer,
  encoder: () => encoder,
  errorBody: (error) => ({ ...errorEnvelope(error) }),
  errorEvent: (error: GatewayError) => `data: ${JSON.stringify(errorEnvelope(error))}\n\n`,
  readUsage,
};

/** Works for a whole answer and for the chunk of a stream that carries `usage`. */
function readUsage(answer: Json): Usage | undefined {
  const usage = answer.usage;
  if (!isJson(usage)) return undefined;
  const prompt = count(usage.prompt_tokens);
  const completion = count(usage.completion_tokens);
  const cached = nested(usage.prompt_tokens_details, 'cached_tokens');
  const created = nested(usage.prompt_tokens_details, 'cache_creation_tokens');
  const reasoning = nested(usage.completion_tokens_details, 'reasoning_tokens');
  return {
    prompt_tokens: prompt,
    completion_tokens: completion,
    total_tokens: typeof usage.total_tokens === 'number' ? usage.total_tokens : prompt + completion,
    ...((cached !== undefined || created !== undefined) && {
      prompt_tokens_details: {
        ...(cached !== undefined && { cached_tokens: cached }),
        ...(created !== undefined && { cache_creation_tokens: created }),
      },
    }),
    ...(reasoning !== undefined && { completion_tokens_details: { reasoning_tokens: reasoning } }),
  };
}

function count(value: unknown): number {
  return typeof value === 'number' ? value : 0;
}

function nested(details: unknown, field: string): number | undefined {
  const value = isJson(details) ? details[field] : undefined;
  return typeof value === 'number' ? value : undefined;
}
