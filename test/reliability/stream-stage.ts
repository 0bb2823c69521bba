/** Streams through a gateway for each pair of dialects: how they are asked for, and what is seen of them. */
import { expect } from 'vitest';
import { HI, HI_MESSAGE, type Stage } from '../conformance/stage.ts';
import { anthropicEvents } from '../fakes/anthropic-wire.ts';
import { openAiEvents } from '../fakes/openai-wire.ts';
import { chatStream, messageStream, type Reply } from '../fakes/replies.ts';

export const WIRES = ['openai', 'anthropic'] as const;
export type Wire = (typeof WIRES)[number];
/** [what the caller speaks, what the upstream speaks] */
export const PAIRS = WIRES.flatMap((client) => WIRES.map((upstream) => [client, upstream] as const));

export const WORDS = 'one two three four';

/** A finished stream on the wire, an item an event. */
export function eventsOf(wire: Wire): string[] {
  return wire === 'openai' ? openAiEvents({ text: WORDS }) : anthropicEvents({ text: WORDS });
}

/** Events up to the middle of the text. */
export function earlyEvents(wire: Wire): string[] {
  return eventsOf(wire).slice(0, wire === 'openai' ? 4 : 5);
}

export function goodStream(wire: Wire): Reply {
  return wire === 'openai' ? chatStream({ text: WORDS }) : messageStream({ text: WORDS });
}

/** An error event of that wire. */
export function errorEvent(wire: Wire, message: string): string {
  return wire === 'openai'
    ? `data: {"error":{"message":"${message}","type":"server_error","code":"their_code"}}\n\n`
    : `event: error\ndata: {"type":"error","error":{"type":"overloaded_error","message":"${message}"}}\n\n`;
}

export const PATHS: Readonly<Record<Wire, string>> = { openai: '/v1/chat/completions', anthropic: '/v1/messages' };

export function streamBody(client: Wire, more: object = {}): object {
  return { ...(client === 'openai' ? HI : HI_MESSAGE), stream: true, ...more };
}

export interface ReadAnswer {
  readonly status: number;
  readonly text: string;
  readonly headers: Headers;
}

/** Asks with the config of that name and reads to the end. */
export async function readStream(
  stage: Stage,
  client: Wire,
  config: string,
  body: object = {},
  headers: Readonly<Record<string, string>> = {},
): Promise<ReadAnswer> {
  const sent = { 'x-gateway-config': config, ...headers };
  const response = await stage.gateway.post(PATHS[client], streamBody(client, body), sent);
  const text = await response.text().catch((error: Error) => `broken: ${error.message}`);
  return { status: response.status, text, headers: response.headers };
}

export function isFinished(client: Wire, text: string): boolean {
  return client === 'openai' ? text.endsWith('data: [DONE]\n\n') : /event: message_stop\ndata: [^\n]+\n\n$/.test(text);
}

export function endsInError(client: Wire, text: string): boolean {
  const last = text.trimEnd().split('\n\n').at(-1) ?? '';
  return client === 'openai' ? /^data: \{"error":\{/.test(last) : /^event: error\ndata: \{"type":"error"/.test(last);
}

type Line = Readonly<Record<string, unknown>>;

/** What the log must say of requests, looked up once for all of them: lines wait a moment before they are written. */
export class ExpectedLines {
  private readonly expected = new Map<string, Line>();

  /** `undefined`: the field must be missing. */
  add(answer: { readonly headers: Headers }, line: Line): void {
    this.expected.set(answer.headers.get('x-request-id') ?? 'none', line);
  }

  /** Each request has one line, which says what was expected of it. */
  async check(stage: Stage): Promise<void> {
    const lines = (await stage.gateway.logs()).filter(({ msg }) => msg === 'request');
    expect(this.expected.size).toBeGreaterThan(0);
    for (const [id, fields] of this.expected) {
      const found = lines.filter((line) => line['request_id'] === id);
      expect(found, id).toHaveLength(1);
      const said = Object.fromEntries(Object.keys(fields).map((field) => [field, found[0]?.[field]]));
      expect(said, JSON.stringify(found[0])).toEqual(fields);
    }
  }
}
