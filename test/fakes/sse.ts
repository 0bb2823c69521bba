/** Reads server-sent events as a client would, and keeps what a check needs to know of them. */
export interface ReadEvent {
  readonly event: string | undefined;
  /** Joined data lines. */
  readonly data: string;
  /** `performance.now()` of the bytes that completed it. */
  readonly atMs: number;
}

export interface ReadStream {
  readonly events: readonly ReadEvent[];
  /** False where the connection broke before the body's end. */
  readonly complete: boolean;
  /** Text after the last complete event. */
  readonly rest: string;
}

function readEvent(block: string, atMs: number): ReadEvent | undefined {
  const fields = block.split(/\r\n|\n|\r/).filter((line) => line !== '' && !line.startsWith(':'));
  const fieldOf = (name: string) =>
    fields.filter((line) => line.startsWith(`${name}:`)).map((line) => line.slice(name.length + 1).replace(/^ /, ''));
  const data = fieldOf('data');
  return data.length === 0 ? undefined : { event: fieldOf('event').at(-1), data: data.join('\n'), atMs };
}

/** Splits complete events off: those, and what is left. */
function takeEvents(buffered: string, atMs: number): { events: ReadEvent[]; rest: string } {
  const blocks = buffered.split(/\r\n\r\n|\n\n|\r\r/);
  const rest = blocks.pop() ?? '';
  return { events: blocks.map((block) => readEvent(block, atMs)).filter((event) => event !== undefined), rest };
}

/** The events of a whole text. */
export function parseSse(text: string): ReadEvent[] {
  return takeEvents(text.replace(/^\uFEFF/, ''), 0).events;
}

/** Events one by one as they arrive; throws where the connection breaks. */
export async function* eventsOf(response: Response): AsyncGenerator<ReadEvent> {
  const decoder = new TextDecoder();
  let rest = '';
  for await (const bytes of response.body ?? []) {
    const taken = takeEvents(rest + decoder.decode(bytes, { stream: true }), performance.now());
    rest = taken.rest;
    yield* taken.events;
  }
}

/** Reads a stream to its end, be it the right one or a break. */
export async function readSse(response: Response): Promise<ReadStream> {
  const decoder = new TextDecoder();
  const events: ReadEvent[] = [];
  let rest = '';
  try {
    for await (const bytes of response.body ?? []) {
      const taken = takeEvents(rest + decoder.decode(bytes, { stream: true }), performance.now());
      rest = taken.rest;
      events.push(...taken.events);
    }
    return { events, complete: true, rest };
  } catch {
    return { events, complete: false, rest };
  }
}

/** Text of the chat completion chunks, joined. */
export function chatTextOf(events: readonly ReadEvent[]): string {
  return events
    .filter(({ data }) => data !== '[DONE]')
    .map(({ data }) => JSON.parse(data).choices?.[0]?.delta?.content ?? '')
    .join('');
}
