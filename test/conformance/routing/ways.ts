/** The ways in which one question can be asked: each dialect, whole and streamed; and what routing made of it. */
import { type AnthropicAnswer, anthropicEvents } from '../../fakes/anthropic-wire.ts';
import { openAiEvents } from '../../fakes/openai-wire.ts';
import { chat, chatStream, message, messageStream, type Pace, pieces, type Reply } from '../../fakes/replies.ts';
import type { Upstream } from '../../fakes/upstream.ts';
import { HI, HI_MESSAGE, type Stage, target } from '../stage.ts';

/** A dialect: of the caller, and here of the upstream too, unless a test says otherwise. */
export type Wire = 'openai' | 'anthropic';

export interface Way {
  readonly wire: Wire;
  readonly stream: boolean;
}

export const WAYS: readonly (readonly [name: string, way: Way])[] = [
  ['/v1/chat/completions', { wire: 'openai', stream: false }],
  ['/v1/chat/completions, streamed', { wire: 'openai', stream: true }],
  ['/v1/messages', { wire: 'anthropic', stream: false }],
  ['/v1/messages, streamed', { wire: 'anthropic', stream: true }],
];
export const CHAT: Way = { wire: 'openai', stream: false };
export const CHAT_STREAM: Way = { wire: 'openai', stream: true };

type Said = Pick<AnthropicAnswer, 'text' | 'model'>;

/** A right answer in that way. */
export function good({ wire, stream }: Way, said: Said = {}): Reply {
  if (wire === 'openai') return stream ? chatStream(said) : chat(said);
  return stream ? messageStream(said) : message(said);
}

/** A stream of that wire that says `text`, an item an event. */
export function eventsOf(wire: Wire, text: string): string[] {
  return wire === 'openai' ? openAiEvents({ text }) : anthropicEvents({ text });
}

/** One that stops after two words of its text. */
export function broken(wire: Wire, pace: Pace = {}): Reply {
  return pieces(eventsOf(wire, 'one two three four').slice(0, wire === 'openai' ? 3 : 5), { gapMs: 2, ...pace });
}

export function pathOf(wire: Wire): string {
  return wire === 'openai' ? '/v1/chat/completions' : '/v1/messages';
}

export function bodyOf({ wire, stream }: Way, more: object = {}): object {
  return { ...(wire === 'openai' ? HI : HI_MESSAGE), ...(stream ? { stream } : {}), ...more };
}

/** A target that speaks this wire. */
export function targetOf(wire: Wire, upstream: Upstream, more: object = {}): object {
  return target(upstream, { provider: wire, ...more });
}

export interface Asked {
  readonly status: number;
  readonly text: string;
  /** Calls that each upstream got meanwhile. */
  readonly calls: readonly number[];
  /** `x-gateway-last-used-option-index`. */
  readonly path: string | null;
  /** `x-gateway-retry-attempt-count`. */
  readonly retries: string | null;
  readonly headers: Headers;
}

export interface AskOptions {
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: object;
  readonly signal?: AbortSignal;
}

/** Asks through the config `name` (or an inline one) and reads the answer to its end. */
export async function askBy(stage: Stage, way: Way, name: string | object, options: AskOptions = {}): Promise<Asked> {
  const before = stage.upstreams.map((upstream) => upstream.calls.length);
  const chosen = typeof name === 'string' ? name : JSON.stringify(name);
  const headers = { 'x-gateway-config': chosen, ...options.headers };
  const response = await stage.gateway.post(pathOf(way.wire), bodyOf(way, options.body), headers, options.signal);
  const text = await response.text().catch((error: Error) => `broken: ${error.message}`);
  return {
    status: response.status,
    text,
    calls: stage.upstreams.map((upstream, index) => upstream.calls.length - (before[index] ?? 0)),
    path: response.headers.get('x-gateway-last-used-option-index'),
    retries: response.headers.get('x-gateway-retry-attempt-count'),
    headers: response.headers,
  };
}

/** Whether the text is a whole answer in that way. */
export function isWhole({ wire, stream }: Way, text: string): boolean {
  if (!stream) return Array.isArray(JSON.parse(text)[wire === 'openai' ? 'choices' : 'content']);
  return wire === 'openai' ? text.endsWith('data: [DONE]\n\n') : text.includes('event: message_stop');
}

/** `error` of a body in either envelope. */
export function errorOf(text: string): Readonly<Record<string, unknown>> {
  return JSON.parse(text).error ?? {};
}

/** Why an inline config is refused: the message; undefined where it is taken. */
export async function refusalOf(stage: Stage, spec: object): Promise<string | undefined> {
  const { status, text } = await askBy(stage, CHAT, spec);
  const { code, message: said } = errorOf(text);
  return status === 400 && code === 'invalid_config' ? String(said) : undefined;
}
