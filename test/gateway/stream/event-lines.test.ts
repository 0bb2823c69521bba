import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { canonicalBytes, EventLines, endOfEvent, type RawEvent } from '#gateway/stream/event-lines.ts';
import { cutAt } from '../../fakes/replies.ts';
import { parseSse } from '../../fakes/sse.ts';

interface Seen {
  readonly data: string | undefined;
  readonly event: string | undefined;
  readonly canonical: boolean;
  /** As it would go on. */
  readonly written: string;
}

function seen(event: RawEvent): Seen {
  const { data, event: name, canonical } = event;
  return { data: data?.toString(), event: name, canonical, written: canonicalBytes(event).toString() };
}

/** Events of the pieces, the last one too where its blank line is missing. */
function read(pieces: readonly (string | Uint8Array)[], maxBytes = 1_000): Seen[] {
  const events: Seen[] = [];
  const lines = new EventLines(maxBytes);
  const onEvent = (event: RawEvent) => void events.push(seen(event));
  for (const piece of pieces) lines.push(Buffer.from(piece as string), onEvent);
  lines.end(onEvent);
  return events;
}

const plain = (data: string) => `data: ${data}\n\n`;

describe('one event', () => {
  it.each([
    ['as nearly all are', 'data: {"a":1}\n\n', '{"a":1}', undefined, true],
    ['with its name', 'event: ping\ndata: {}\n\n', '{}', 'ping', true],
    ['the end marker', 'data: [DONE]\n\n', '[DONE]', undefined, true],
    ['no space after the colon', 'data:{}\n\n', '{}', undefined, false],
    ['two spaces, of which one belongs to the data', 'data:  {}\n\n', ' {}', undefined, true],
    ['CRLF', 'data: {}\r\n\r\n', '{}', undefined, false],
    ['LF and CRLF mixed', 'event: a\r\ndata: {}\n\r\n', '{}', 'a', false],
    ['several lines of data', 'data: {\ndata: }\n\n', '{\n}', undefined, false],
    ['an empty line of data', 'data: {}\ndata:\n\n', '{}\n', undefined, false],
    ['the name after the data', 'data: {}\nevent: a\n\n', '{}', 'a', false],
    ['a name without a space', 'event:a\ndata: {}\n\n', '{}', 'a', false],
    ['a comment within', ': hm\ndata: {}\n\n', '{}', undefined, false],
    ['an id, which nobody needs', 'id: 7\ndata: {}\n\n', '{}', undefined, false],
    ['retry, which nobody may ask for', 'retry: 9\ndata: {}\n\n', '{}', undefined, false],
    ['a field that is none', 'nonsense\ndata: {}\n\n', '{}', undefined, false],
    ['a field that begins alike', 'database: x\ndata: {}\n\n', '{}', undefined, false],
    ['a byte order mark before it', '\uFEFFdata: {}\n\n', '{}', undefined, true],
    ['letters beyond ASCII', 'data: {"ü":"😀"}\n\n', '{"ü":"😀"}', undefined, true],
    ['no blank line, at the end of the body', 'data: {}', '{}', undefined, true],
  ])('with %s', (_what, wire, data, event, canonical) => {
    expect(read([wire])).toEqual([{ data, event, canonical, written: expect.any(String) }]);
  });

  it.each([
    ['a comment alone', ': hm\n\n', [undefined]],
    ['blank lines alone', '\n\n\n', []],
    ['a name without data', 'event: ping\n\n', []],
    ['an id alone', 'id: 1\n\n', []],
    ['nothing', '', []],
  ])('that says nothing, as %s, gives %j', (_what, wire, data) => {
    expect(read([wire]).map((event) => event.data)).toEqual(data);
  });

  it.each([
    'data:{}\n\n',
    'data: {}\r\n\r\n',
    'event:a\r\ndata:{}\r\n\r\n',
    'data: {\ndata: "a":1}\n\n',
    'id: 7\nevent: a\ndata: {}\nretry: 3\n\n',
    ': hm\ndata: {}\n\n',
  ])('%j goes on in one form, and means the same', (wire) => {
    const [event] = read([wire]);
    const meaning = (text: string) => parseSse(text).map(({ event: name, data }) => ({ name, data }));
    expect(meaning(event?.written ?? '')).toEqual(meaning(wire));
    expect(event?.written).toMatch(/^(event: a\n)?(data: [^\r\n]*\n)+\n$/);
    expect(read([event?.written ?? ''])[0]?.data).toBe(event?.data);
  });

  it('that is canonical goes on as it is', () => {
    for (const wire of [plain('{}'), 'event: a\ndata: {}\n\n', ': hm\n\n']) expect(read([wire])[0]?.written).toBe(wire);
  });
});

describe('events in pieces', () => {
  const wire = `\uFEFF${plain('{"a":"ü"}')}: hm\n\nevent: b\r\ndata: {}\r\n\r\ndata: {\ndata: }\n\n${plain('[DONE]')}`;
  const bytes = Buffer.from(wire);

  it('are the same wherever the bytes are cut in two', () => {
    const whole = read([bytes]);
    expect(whole).toHaveLength(5);
    for (let at = 1; at < bytes.length; at += 1) expect(read(cutAt(bytes, [at]))).toEqual(whole);
  });

  it('are the same however often they are cut', () => {
    const whole = read([bytes]);
    fc.assert(
      fc.property(fc.array(fc.nat(bytes.length), { maxLength: 30 }), (offsets) => {
        expect(read(cutAt(bytes, offsets))).toEqual(whole);
      }),
      { numRuns: 200 },
    );
    expect(read([...bytes].map((byte) => Uint8Array.of(byte)))).toEqual(whole);
  });

  it('say what a client would read of them', () => {
    const field = fc.constantFrom('data: ', 'data:', 'event: ', 'id: ', ': ', '');
    const line = fc.tuple(field, fc.stringMatching(/^[a-z{}:" ]{0,8}$/)).map((parts) => parts.join(''));
    const block = fc.array(line, { minLength: 1, maxLength: 4 });
    fc.assert(
      fc.property(fc.array(block, { maxLength: 5 }), fc.constantFrom('\n', '\r\n'), (blocks, feed) => {
        const text = blocks.map((lines) => lines.map((one) => one + feed).join('') + feed).join('');
        const ours = read([text]).filter(({ data }) => data !== undefined);
        const theirs = parseSse(text);
        expect(ours.map(({ data, event }) => [event, data])).toEqual(theirs.map(({ data, event }) => [event, data]));
      }),
      { numRuns: 300 },
    );
  });
});

describe('an event that is too large', () => {
  it('is refused as soon as it is, and one of the right size is not', () => {
    const fits = plain('x'.repeat(92));
    expect(
      read(
        [...fits].map((letter) => letter),
        100,
      ),
    ).toHaveLength(1);
    expect(() => read([`data: ${'x'.repeat(95)}`], 100)).toThrow(/100 bytes/);
    expect(() => read(['data: ', 'x'.repeat(60), 'x'.repeat(60)], 100)).toThrow(/100 bytes/);
  });

  it('does not count what came before it', () => {
    expect(
      read(
        Array.from({ length: 50 }, () => plain('x'.repeat(50))),
        100,
      ),
    ).toHaveLength(50);
  });
});

describe('endOfEvent', () => {
  it.each([
    ['\n', 0, 1],
    ['\r\n', 0, 2],
    ['a\n\nb', 0, 3],
    ['a\r\n\r\nb', 0, 5],
    ['a\nb\n\n', 0, 5],
    ['a\n\nb\n\n', 3, 6],
    ['a\n', 0, -1],
    ['a\n\r', 0, -1],
    ['', 0, -1],
  ])('of %j from %i is %i', (text, start, end) => {
    expect(endOfEvent(Buffer.from(text), start)).toBe(end);
  });
});
