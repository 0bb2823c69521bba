/** The reader of upstreams' answers: every cut of every answer gives the same, and doubt is a fault. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { AnswerParser } from '#gateway/upstream/http1/answer-parser.ts';
import { HttpFault } from '#gateway/upstream/http1/http-fault.ts';

interface Heard {
  readonly status: number | undefined;
  readonly headers: Readonly<Record<string, unknown>>;
  readonly body: string;
  readonly ended: boolean;
  readonly reusable: boolean | undefined;
}

/** Feeds the parts; `closed`: the connection ends after them. */
function hear(parts: readonly (string | Uint8Array)[], closed = false): Heard {
  const heard = {
    status: undefined as number | undefined,
    headers: {},
    body: '',
    ended: false,
    reusable: undefined as boolean | undefined,
  };
  const parser = new AnswerParser({
    onHead: (status, headers) => {
      if (heard.status !== undefined) throw new Error('two heads');
      Object.assign(heard, { status, headers: { ...headers } });
    },
    onBytes: (chunk) => {
      heard.body += chunk.toString('latin1');
    },
    onEnd: (reusable) => {
      if (heard.ended) throw new Error('two ends');
      Object.assign(heard, { ended: true, reusable });
    },
  });
  for (const part of parts) parser.feed(Buffer.from(part));
  if (closed) parser.finish();
  return heard;
}

function cut(text: string, sizes: readonly number[]): string[] {
  const parts: string[] = [];
  let at = 0;
  for (const size of sizes) {
    parts.push(text.slice(at, at + size));
    at += size;
  }
  return [...parts, text.slice(at)];
}

const text = fc.string({
  maxLength: 200,
  unit: fc.constantFrom('a', '\r', '\n', '0', ';', ':', ' ', 'HTTP/1.1', '\r\n\r\n'),
});
const tokens = fc
  .string({ minLength: 1, maxLength: 8, unit: fc.constantFrom('x', 'Y', '-', '1', '_') })
  .map((name) => `z${name}`);
const values = fc.string({ maxLength: 20, unit: fc.constantFrom('a', 'B', ' ', '\t', ';', ',', '"', 'é') });

/** Answers as servers may send them, with what they mean. */
const answers = fc
  .record({
    status: fc.integer({ min: 200, max: 599 }).filter((status) => status !== 204 && status !== 304),
    fields: fc.array(fc.tuple(tokens, values), { maxLength: 6 }),
    body: text,
    framing: fc.constantFrom('length', 'chunked', 'close'),
    informed: fc.boolean(),
    sizes: fc.array(fc.integer({ min: 1, max: 30 }), { minLength: 1, maxLength: 8 }),
  })
  .map(({ status, fields, body, framing, informed, sizes }) => {
    const lines = fields.map(([name, value]) => `${name}: ${value}\r\n`).join('');
    const before = informed ? 'HTTP/1.1 103 Early Hints\r\nlink: x\r\n\r\n' : '';
    const bytes = Buffer.from(body).toString('latin1');
    const chunks = cut(bytes, sizes).filter((chunk) => chunk !== '');
    const framed = {
      length: `content-length: ${bytes.length}\r\n\r\n${bytes}`,
      chunked: `transfer-encoding: chunked\r\n\r\n${chunks.map((chunk) => `${chunk.length.toString(16)}\r\n${chunk}\r\n`).join('')}0\r\n\r\n`,
      close: `connection: close\r\n\r\n${bytes}`,
    }[framing];
    const wire = `${before}HTTP/1.1 ${status} Reason Phrase\r\n${lines}${framed}`;
    return { status, fields, body: bytes, framing, wire };
  });

describe('an answer', () => {
  it('is heard the same however it is cut', () => {
    fc.assert(
      fc.property(answers, fc.array(fc.integer({ min: 1, max: 60 }), { maxLength: 20 }), (answer, sizes) => {
        const bytes = Buffer.from(answer.wire, 'latin1');
        const parts = cut(bytes.toString('latin1'), sizes).map((part) => Buffer.from(part, 'latin1'));
        const heard = hear(parts, answer.framing === 'close');
        expect(heard).toMatchObject({
          status: answer.status,
          body: answer.body,
          ended: true,
          reusable: answer.framing !== 'close',
        });
        expect(heard.headers).toEqual(hear([bytes], answer.framing === 'close').headers);
      }),
      { numRuns: 400 },
    );
  });

  it('that is cut off is never taken for a whole one', () => {
    fc.assert(
      fc.property(answers, fc.double({ min: 0, max: 0.999, noNaN: true }), (answer, share) => {
        fc.pre(answer.framing !== 'close');
        const bytes = Buffer.from(answer.wire, 'latin1');
        const part = bytes.subarray(0, Math.floor(bytes.length * share));
        expect(hear([part]).ended).toBe(false);
        expect(() => hear([part], true)).toThrow(HttpFault);
      }),
      { numRuns: 300 },
    );
  });

  it('of random bytes is a fault or waits, and nothing else', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 400 }), (bytes) => {
        try {
          expect(hear([Buffer.from('HTTP/1.1 200 OK\r\n'), bytes]).status ?? 200).toBe(200);
        } catch (error) {
          expect(error).toBeInstanceOf(HttpFault);
        }
      }),
      { numRuns: 400 },
    );
  });

  it('joins fields of one name, but for set-cookie', () => {
    const wire =
      'HTTP/1.1 200 OK\r\nX-A: 1\r\nx-a: 2\r\nSet-Cookie: a=1\r\nset-cookie: b=2\r\ncontent-length: 0\r\n\r\n';
    expect(hear([wire]).headers).toEqual({ 'x-a': '1, 2', 'set-cookie': ['a=1', 'b=2'], 'content-length': '0' });
  });

  it('may not add to Object.prototype', () => {
    const { headers } = hear(['HTTP/1.1 200 OK\r\n__proto__: x\r\nconstructor: y\r\ncontent-length: 0\r\n\r\n']);
    expect(Object.getPrototypeOf({})).toBe(Object.prototype);
    expect(headers['constructor']).toBe('y');
  });

  it.each([204, 304])('of status %i has no body', (status) => {
    expect(hear([`HTTP/1.1 ${status} X\r\nx: y\r\n\r\n`])).toMatchObject({
      status,
      body: '',
      ended: true,
      reusable: true,
    });
  });

  it.each([
    ['connection: close', 'HTTP/1.1', false],
    ['connection: Close, x', 'HTTP/1.1', false],
    ['connection: keep-alive', 'HTTP/1.1', true],
    ['connection: x-close', 'HTTP/1.1', true],
    ['x: y', 'HTTP/1.0', false],
  ])('with %s of %s: reusable %s', (line, version, reusable) => {
    expect(hear([`${version} 200 OK\r\n${line}\r\ncontent-length: 1\r\n\r\nx`])).toMatchObject({
      ended: true,
      reusable,
    });
  });

  it('with something behind it is not followed by another exchange', () => {
    expect(hear(['HTTP/1.1 200 OK\r\ncontent-length: 1\r\n\r\nxy'])).toMatchObject({ body: 'x', reusable: false });
  });

  const HEAD = 'HTTP/1.1 200 OK\r\n';
  it.each([
    ['another protocol', 'ICY 200 OK\r\n\r\n'],
    ['another version', 'HTTP/2 200 OK\r\n\r\n'],
    ['a status of two digits', 'HTTP/1.1 20 OK\r\n\r\n'],
    ['a status of four digits', 'HTTP/1.1 2000 OK\r\n\r\n'],
    ['a status of 0', 'HTTP/1.1 000 OK\r\n\r\n'],
    ['a status of 600', 'HTTP/1.1 600 OK\r\n\r\n'],
    ['a switch of protocols', 'HTTP/1.1 101 Switching\r\n\r\n'],
    ['a line without a colon', `${HEAD}nonsense\r\n\r\n`],
    ['an empty name', `${HEAD}: x\r\n\r\n`],
    ['a name with a space', `${HEAD}a b: x\r\n\r\n`],
    ['a space before the colon', `${HEAD}content-length : 1\r\n\r\nx`],
    ['a folded line', `${HEAD}a: b\r\n c\r\n\r\n`],
    ['a bare CR', `${HEAD}a: b\rc: d\r\n\r\n`],
    ['a bare LF', `${HEAD}a: b\nc: d\r\n\r\n`],
    ['NUL', `${HEAD}a: b\0c\r\n\r\n`],
    ['two lengths', `${HEAD}content-length: 1\r\ncontent-length: 2\r\n\r\nxx`],
    ['the same length twice', `${HEAD}content-length: 1\r\ncontent-length: 1\r\n\r\nx`],
    ['a length with a sign', `${HEAD}content-length: +1\r\n\r\nx`],
    ['a length in hexadecimal', `${HEAD}content-length: 0x1\r\n\r\nx`],
    ['a length beyond all', `${HEAD}content-length: 99999999999999999999\r\n\r\nx`],
    ['a length and chunks', `${HEAD}content-length: 1\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n`],
    ['two codings', `${HEAD}transfer-encoding: gzip, chunked\r\n\r\n0\r\n\r\n`],
    ['a coding that is not chunked', `${HEAD}transfer-encoding: identity\r\n\r\n`],
    ['a chunk size of words', `${HEAD}transfer-encoding: chunked\r\n\r\nmany\r\n`],
    ['an empty chunk size', `${HEAD}transfer-encoding: chunked\r\n\r\n\r\n`],
    ['a chunk size of nine digits', `${HEAD}transfer-encoding: chunked\r\n\r\n123456789\r\n`],
    ['a chunk size with a sign', `${HEAD}transfer-encoding: chunked\r\n\r\n-1\r\n`],
    ['a chunk that is too long', `${HEAD}transfer-encoding: chunked\r\n\r\n1\r\nxy\r\n0\r\n\r\n`],
    ['a head of more than 64 KiB', `${HEAD}a: ${'x'.repeat(70_000)}`],
    ['a chunk line of more than 4 KiB', `${HEAD}transfer-encoding: chunked\r\n\r\n1;${'x'.repeat(5_000)}`],
    ['more than 256 fields', `${HEAD}${'a: b\r\n'.repeat(300)}\r\n`],
    ['more than 64 trailers', `${HEAD}transfer-encoding: chunked\r\n\r\n0\r\n${'a: b\r\n'.repeat(70)}`],
  ])('with %s is a fault', (_what, wire) => {
    expect(() => hear([wire])).toThrow(HttpFault);
    expect(() => hear([...wire].map((letter) => letter))).toThrow(HttpFault);
  });

  it('nobody reads any more is dropped', () => {
    let bytes = 0;
    const parser = new AnswerParser({
      onHead: () => parser.stop(),
      onBytes: () => {
        bytes += 1;
      },
      onEnd: () => {
        bytes += 100;
      },
    });
    parser.feed(Buffer.from('HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nhello'));
    parser.finish();
    expect(bytes).toBe(0);
    expect(parser.isOver).toBe(true);
  });
});
