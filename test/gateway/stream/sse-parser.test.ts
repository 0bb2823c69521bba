import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { GatewayError } from '#gateway/errors.ts';
import type { ServerSentEvent } from '#gateway/providers/provider.ts';
import { SseParser } from '#gateway/stream/sse-parser.ts';

/** Events of a body that arrives in these chunks. */
function parse(chunks: readonly Buffer[], maxEventBytes = 4_194_304): ServerSentEvent[] {
  const events: ServerSentEvent[] = [];
  const collect = (event: ServerSentEvent): void => {
    events.push(event);
  };
  const parser = new SseParser({ maxEventBytes });
  for (const chunk of chunks) parser.push(Buffer.from(chunk), collect);
  parser.end(collect);
  return events;
}

function parseText(text: string): ServerSentEvent[] {
  return parse([Buffer.from(text)]);
}

function data(...values: string[]): ServerSentEvent[] {
  return values.map((value) => ({ event: undefined, data: value }));
}

describe('SseParser reads', () => {
  const cases: readonly (readonly [what: string, text: string, events: ServerSentEvent[]])[] = [
    ['nothing from nothing', '', []],
    ['one event', 'data: a\n\n', data('a')],
    ['several events of one chunk', 'data: a\n\ndata: b\n\ndata: c\n\n', data('a', 'b', 'c')],
    ['CRLF', 'data: a\r\n\r\ndata: b\r\n\r\n', data('a', 'b')],
    ['CR', 'data: a\r\rdata: b\r\r', data('a', 'b')],
    ['mixed line ends', 'data: a\r\n\ndata: b\n\r\ndata: c\r\r\n', data('a', 'b', 'c')],
    ['several data lines', 'data: a\ndata: b\ndata:\ndata: c\n\n', data('a\nb\n\nc')],
    ['a name', 'event: ping\ndata: {}\n\n', [{ event: 'ping', data: '{}' }]],
    ['a name after the data', 'data: {}\nevent: ping\n\n', [{ event: 'ping', data: '{}' }]],
    ['the last of two names', 'event: a\nevent: b\ndata: x\n\n', [{ event: 'b', data: 'x' }]],
    ['no name of the event before', 'event: a\ndata: 1\n\ndata: 2\n\n', [{ event: 'a', data: '1' }, ...data('2')]],
    ['only one space after the colon away', 'data:  a\n\n', data(' a')],
    ['no space after the colon', 'data:a\n\n', data('a')],
    ['empty data', 'data:\n\n', data('')],
    ['a data line without colon', 'data\n\n', data('')],
    ['colons in the data', 'data: a: b:c\n\n', data('a: b:c')],
    ['comments as nothing', ': hello\n\n:\n\ndata: a\n: between\ndata: b\n\n', data('a\nb')],
    ['id, retry and unknown fields as nothing', 'id: 7\nretry: 10\nfoo: x\ndata: a\n\n', data('a')],
    ['fields that only begin like data as nothing', 'database: x\n\n', []],
    ['an event without data as nothing', 'event: ping\n\ndata: a\n\n', data('a')],
    ['more blank lines than needed', '\n\n\ndata: a\n\n\n\n\ndata: b\n\n\n', data('a', 'b')],
    ['a BOM at the start as nothing', '\uFEFFdata: a\n\n', data('a')],
    ['a BOM elsewhere as itself', 'data: \uFEFFa\n\ndata: \uFEFF\n\n', data('\uFEFFa', '\uFEFF')],
    ['a last event without blank line', 'data: a\n\ndata: b\n', data('a', 'b')],
    ['a last event without line end', 'data: a\n\nevent: x\ndata: b', [...data('a'), { event: 'x', data: 'b' }]],
    ['nothing from a last comment', 'data: a\n\n: bye', data('a')],
    ['characters of any width', 'data: é漢🙂\n\n', data('é漢🙂')],
    ['U+2028, which is no line end here', 'data: a\u2028b\n\n', data('a\u2028b')],
  ];

  it.each(cases)('%s', (_what, text, events) => {
    expect(parseText(text)).toEqual(events);
  });

  it.each(cases)('%s, byte by byte', (_what, text, events) => {
    const bytes = [...Buffer.from(text)].map((byte) => Buffer.from([byte]));
    expect(parse(bytes)).toEqual(events);
  });

  it('an event as soon as its blank line is there, not later', () => {
    const events: ServerSentEvent[] = [];
    const parser = new SseParser({ maxEventBytes: 1_000 });
    const push = (text: string): number => {
      parser.push(Buffer.from(text), (event) => events.push(event));
      return events.length;
    };
    expect(push('data: a\n')).toBe(0);
    expect(push('\n')).toBe(1);
    expect(push('data: b\r\n\r')).toBe(2);
    expect(push('\ndata: c')).toBe(2);
    expect(push('\n\ndata: d\n\n')).toBe(4);
    expect(events).toEqual(data('a', 'b', 'c', 'd'));
  });

  it('whatever a later chunk holds, even if the chunk before is reused', () => {
    const events = parse([Buffer.from('data: first half '), Buffer.from('second half\n\n')]);
    expect(events).toEqual(data('first half second half'));
  });
});

const line = fc.oneof(
  fc.string({ unit: 'grapheme', maxLength: 12 }).map((text) => `data: ${text.replace(/[\r\n]/g, ' ')}`),
  fc.constantFrom('event: ping', 'event:x', 'data', 'data:', 'data:  ', ': comment', 'id: 1', 'retry: 2', '', 'é', ':'),
);
const lineEnd = fc.constantFrom('\n', '\r\n', '\r');
const body = fc
  .tuple(fc.boolean(), fc.array(fc.tuple(line, lineEnd, fc.boolean()), { maxLength: 20 }), lineEnd)
  .map(([bom, lines, blank]) => {
    const text = lines.map(([content, end, ends]) => content + end + (ends ? blank : '')).join('');
    return `${bom ? '\uFEFF' : ''}${text}`;
  });

function split(bytes: Buffer, cuts: readonly number[]): Buffer[] {
  const at = [0, ...cuts.map((cut) => cut % (bytes.length + 1)), bytes.length].toSorted((a, b) => a - b);
  return at.slice(1).map((end, index) => bytes.subarray(at[index] ?? 0, end));
}

/** The specification, read slowly from the whole text. */
function reference(text: string): ServerSentEvent[] {
  const lines = text.replace(/^\uFEFF/, '').split(/\r\n|\r|\n/);
  const events: ServerSentEvent[] = [];
  let fields: [string, string][] = [];
  for (const current of [...lines, '']) {
    if (current !== '') {
      const [, name = '', value = ''] = /^([^:]*)(?:: ?(.*))?$/s.exec(current) ?? [];
      fields.push([name, value]);
      continue;
    }
    const values = fields.filter(([name]) => name === 'data').map(([, value]) => value);
    const event = fields.findLast(([name]) => name === 'event')?.[1];
    if (values.length > 0) events.push({ event, data: values.join('\n') });
    fields = [];
  }
  return events;
}

describe('SseParser, for any split of any body (G26),', () => {
  it('gives the events of the whole', () => {
    fc.assert(
      fc.property(body, fc.array(fc.nat(), { maxLength: 12 }), (text, cuts) => {
        expect(parse(split(Buffer.from(text), cuts))).toEqual(reference(text));
      }),
      { numRuns: 1_500 },
    );
  });

  it('gives the same at every single byte offset', () => {
    const text = '\uFEFFevent: a\r\ndata: é漢\r\ndata: 🙂\r\n\r\n: c\n\ndata: {"x":"\\n"}\r\rdata: end';
    const bytes = Buffer.from(text);
    for (let at = 0; at <= bytes.length; at++) {
      expect(parse([bytes.subarray(0, at), bytes.subarray(at)])).toEqual(reference(text));
    }
  });

  it('takes or refuses an event for its size alone', () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 40 }), fc.array(fc.nat(), { maxLength: 6 }), (size, cuts) => {
        const event = `data: ${'x'.repeat(size)}\r\n\r\n`;
        const chunks = split(Buffer.from(`data: 1\n\n${event}`), cuts);
        const limit = 26;
        if (size + 6 <= limit) expect(parse(chunks, limit)).toHaveLength(2);
        else expect(() => parse(chunks, limit)).toThrow(GatewayError);
      }),
    );
  });
});

describe('SseParser limits', () => {
  it('an event that never ends, and names the limit', () => {
    const parser = new SseParser({ maxEventBytes: 100 });
    const ignore = (): void => undefined;
    parser.push(Buffer.from(`data: ${'x'.repeat(90)}`), ignore);
    const failure = attempt(() => parser.push(Buffer.from('x'.repeat(90)), ignore));
    expect(failure).toMatchObject({ code: 'upstream_invalid', message: expect.stringContaining('100 bytes') });
  });

  it('no stream of small events, however long', () => {
    const parser = new SseParser({ maxEventBytes: 16 });
    let count = 0;
    for (let round = 0; round < 1_000; round++) parser.push(Buffer.from('data: 12345\n\n'), () => count++);
    expect(count).toBe(1_000);
  });

  it('events before the one that is too large are still reported', () => {
    const events: ServerSentEvent[] = [];
    const parser = new SseParser({ maxEventBytes: 20 });
    const failure = attempt(() =>
      parser.push(Buffer.from(`data: a\n\ndata: ${'x'.repeat(50)}\n\n`), (e) => events.push(e)),
    );
    expect(failure).toBeInstanceOf(GatewayError);
    expect(events).toEqual(data('a'));
  });

  it('a large event in small chunks takes time in proportion to its size', () => {
    const chunk = Buffer.from('x'.repeat(1_024));
    const parser = new SseParser({ maxEventBytes: 64 * 1_024 * 1_024 });
    let length = 0;
    const started = performance.now();
    parser.push(Buffer.from('data: '), () => undefined);
    for (let sent = 0; sent < 16_384; sent++) parser.push(chunk, () => undefined);
    parser.push(Buffer.from('\n\n'), (event) => {
      length = event.data.length;
    });
    expect(length).toBe(16 * 1_024 * 1_024);
    // Joining at every chunk would copy 128 GiB.
    expect(performance.now() - started).toBeLessThan(5_000);
  });
});

function attempt(run: () => void): unknown {
  try {
    run();
    return undefined;
  } catch (error) {
    return error;
  }
}
