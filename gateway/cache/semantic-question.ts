/** What two requests must have in common to mean the same, and the text whose meaning is compared. */
import { isJson } from '../dialects/json-shape.ts';
import type { Json } from '../providers/provider.ts';
import { CacheKey, type CacheRequest, cacheKeyOf, contentOf, partsOf } from './cache-key.ts';
import { canonicalJson } from './canonical-json.ts';

export interface SemanticQuestion {
  /** Of the answer to this very request. */
  readonly key: CacheKey;
  /** Where vectors of comparable requests lie: all but the users' words, and what the system says, is equal. */
  readonly shelf: CacheKey;
  /** The users' words, to be embedded. */
  readonly text: string;
}

/** A request's prompt apart from the rest of it. */
interface Parted {
  readonly text: string;
  readonly rest: Json;
}

const MAX_TOKENS = 8192;
const MAX_MESSAGES = 4;
const SYSTEM_ROLES: ReadonlySet<unknown> = new Set(['system', 'developer']);

/** Endpoints whose meaning can be compared, by their word. */
const PARTERS: ReadonlyMap<string, (body: Json) => Parted | undefined> = new Map([
  ['chatComplete', partChat],
  ['complete', partCompletion],
]);

/**
 * undefined: only an equal request can be answered from the cache. `promptTokens`: rather too many than too few.
 * `embeddingModel`: with its provider, as vectors of two models cannot be compared.
 */
export function semanticQuestion(
  request: CacheRequest,
  promptTokens: number,
  embeddingModel: string,
): SemanticQuestion | undefined {
  if (promptTokens >= MAX_TOKENS) return undefined;
  const parted = PARTERS.get(request.endpoint.type)?.(contentOf(request.body));
  if (parted === undefined || parted.text.trim() === '') return undefined;
  const rest = canonicalJson(parted.rest);
  const key = cacheKeyOf(request);
  if (rest === undefined || key === undefined) return undefined;
  const shelf = CacheKey.of(request.scope, ['meaning', embeddingModel, ...partsOf(request), rest]);
  return { key, shelf, text: parted.text };
}

function partCompletion({ prompt, ...rest }: Json): Parted | undefined {
  const only = Array.isArray(prompt) && prompt.length === 1 ? prompt[0] : prompt;
  return typeof only === 'string' ? { text: only, rest } : undefined;
}

/** What the system says is left out; the words of others (tools, the model itself) must be equal, and so must pictures. */
function partChat({ messages, ...rest }: Json): Parted | undefined {
  if (!Array.isArray(messages) || messages.length > MAX_MESSAGES) return undefined;
  const texts: string[] = [];
  const frames: unknown[] = [];
  for (const message of messages) {
    if (!isJson(message)) return undefined;
    if (message['role'] === 'user') frames.push(userFrame(message, texts));
    else if (!SYSTEM_ROLES.has(message['role'])) frames.push(message);
  }
  return { text: texts.join('\n\n'), rest: { ...rest, messages: frames } };
}

/** The message without its texts, which are added to `texts`. */
function userFrame({ content, ...frame }: Json, texts: string[]): Json {
  if (typeof content === 'string') {
    texts.push(content);
    return frame;
  }
  if (!Array.isArray(content)) return { ...frame, content };
  const others: unknown[] = [];
  for (const part of content) {
    if (isJson(part) && part['type'] === 'text' && typeof part['text'] === 'string') texts.push(part['text']);
    else others.push(part);
  }
  return others.length === 0 ? frame : { ...frame, content: others };
}
