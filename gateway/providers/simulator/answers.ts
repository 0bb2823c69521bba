/** The simulator's right answers: a function of the request alone, so that a test can know them. */
import { createHash } from 'node:crypto';
import type { Json, Usage } from '../provider.ts';
import type { Behaviour } from './models.ts';
import { callTools, type ToolCall } from './tools.ts';

export interface Answer {
  readonly id: string;
  /** Unix seconds, from the request's hash. */
  readonly created: number;
  readonly model: string;
  readonly text: string;
  readonly toolCalls: readonly ToolCall[];
  readonly finishReason: string;
  readonly choices: number;
  readonly usage: Usage;
}

const FIRST_CREATED = 1_700_000_000;
const CREATED_SPAN = 100_000_000;
const CHARACTERS_PER_TOKEN = 4;
/** Most tokens of an echo whose request names no maximum. */
export const MAX_OUTPUT_TOKENS = 256;
const WORDS = ['the', 'quick', 'brown', 'fox', 'jumps', 'over', 'a', 'lazy', 'dog'] as const;
/** With the blank before it. */
const LONGEST_WORD_CHARACTERS = 1 + Math.max(...WORDS.map((word) => word.length));

export function digestOf(text: string): Buffer {
  return createHash('sha256').update(text).digest();
}

export function isObject(value: unknown): value is Json {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

export function countTokens(text: string): number {
  return Math.ceil(text.length / CHARACTERS_PER_TOKEN);
}

/** Text of a message's content, be it a string or parts. */
function textOf(content: unknown): string {
  if (typeof content === 'string') return content;
  if (!Array.isArray(content)) return '';
  return content.map((part: unknown) => (isObject(part) && typeof part.text === 'string' ? part.text : '')).join('');
}

function promptOf(body: Json): string {
  if (typeof body.prompt === 'string') return body.prompt;
  return Array.isArray(body.prompt) ? body.prompt.map(String).join(' ') : '';
}

/** Most tokens of an answer whose request names no maximum: what `long-<n>` asks for, it gets. */
export function longestAnswerTokens({ words }: Behaviour): number {
  return words === undefined ? MAX_OUTPUT_TOKENS : Math.ceil((words * LONGEST_WORD_CHARACTERS) / CHARACTERS_PER_TOKEN);
}

function longText(words: number): string {
  return Array.from({ length: words }, (_, index) => WORDS[index % WORDS.length]).join(' ');
}

/** The text that fits `max_completion_tokens` or `max_tokens`, else the simulator's own maximum. */
function bounded(text: string, body: Json, behaviour: Behaviour): { text: string; cut: boolean } {
  const asked = body.max_completion_tokens ?? body.max_tokens;
  const limit = typeof asked === 'number' ? asked : longestAnswerTokens(behaviour);
  if (countTokens(text) <= limit) return { text, cut: false };
  return { text: text.slice(0, Math.max(0, limit) * CHARACTERS_PER_TOKEN), cut: true };
}

function usageOf(prompt: string, completion: string, choices: number): Usage {
  const prompt_tokens = countTokens(prompt);
  const completion_tokens = countTokens(completion) * choices;
  return { prompt_tokens, completion_tokens, total_tokens: prompt_tokens + completion_tokens };
}

/** Answers a chat (`messages`) or a text completion (`prompt`). */
export function answerOf(raw: string, body: Json, behaviour: Behaviour): Answer {
  const messages = Array.isArray(body.messages) ? body.messages.filter(isObject) : [];
  const heard = messages.findLast(({ role }) => role === 'user' || role === 'tool');
  const said = heard === undefined ? promptOf(body) : textOf(heard.content);
  const toolCalls = callTools(body, heard?.role === 'user' ? said : '', behaviour.callsTool === true);
  const wanted = behaviour.words === undefined ? said : longText(behaviour.words);
  const { text, cut } = toolCalls.length > 0 ? { text: '', cut: false } : bounded(wanted, body, behaviour);
  const digest = digestOf(raw);
  const choices = typeof body.n === 'number' && body.n >= 1 ? Math.min(Math.floor(body.n), 128) : 1;
  const prompt = messages.map((message) => textOf(message.content)).join('\n') || promptOf(body);
  const completion = text + toolCalls.map((call) => call.function.name + call.function.arguments).join('');
  return {
    id: digest.toString('hex', 0, 12),
    created: FIRST_CREATED + (digest.readUInt32BE(12) % CREATED_SPAN),
    model: String(body.model),
    text,
    toolCalls,
    finishReason: behaviour.finishReason ?? (toolCalls.length > 0 ? 'tool_calls' : cut ? 'length' : 'stop'),
    choices,
    usage: usageOf(prompt, completion, choices),
  };
}
