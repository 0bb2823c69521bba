/** G6-G8: heads that two readers could read differently, and what a head may not hold. Raw sockets. */
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { type Stage, startStage, target } from '../conformance/stage.ts';
import { apiKey, defaultConfig } from '../fakes/objects.ts';
import { rawExchange, rawPost } from '../fakes/raw.ts';

const KEY = 'raw-key-0123456789abcdef';
const PATH = '/v1/chat/completions';
const BODY = JSON.stringify({ model: 'm', messages: [{ role: 'user', content: 'Hi' }] });
const AUTH = `host: x\r\nx-gateway-api-key: ${KEY}\r\ncontent-type: application/json\r\n`;
const SMUGGLED = `POST ${PATH} HTTP/1.1\r\n${AUTH}x-smuggled: yes\r\ncontent-length: ${BODY.length}\r\n\r\n${BODY}`;

let stage: Stage;
beforeAll(async () => {
  stage = await startStage(1, ([upstream]) =>
    upstream === undefined
      ? ''
      : defaultConfig('house', target(upstream, { forward_headers: ['x-smuggled', 'x-note'] })) + apiKey('raw', KEY),
  );
});
afterAll(() => stage.close());

let before = 0;
beforeEach(() => {
  before = stage.at(0).calls.length;
});

function chunked(text: string): string {
  return `${text.length.toString(16)}\r\n${text}\r\n0\r\n\r\n`;
}

const AMBIGUOUS: readonly (readonly [what: string, text: string])[] = [
  [
    'Content-Length and Transfer-Encoding',
    `POST ${PATH} HTTP/1.1\r\n${AUTH}content-length: ${BODY.length}\r\ntransfer-encoding: chunked\r\n\r\n${chunked(BODY)}${SMUGGLED}`,
  ],
  [
    'two Content-Lengths',
    `POST ${PATH} HTTP/1.1\r\n${AUTH}content-length: ${BODY.length}\r\ncontent-length: 0\r\n\r\n${BODY}${SMUGGLED}`,
  ],
  ['a Content-Length list', `POST ${PATH} HTTP/1.1\r\n${AUTH}content-length: 3, 3\r\n\r\n${BODY}${SMUGGLED}`],
  ['a signed Content-Length', `POST ${PATH} HTTP/1.1\r\n${AUTH}content-length: +${BODY.length}\r\n\r\n${BODY}`],
  ['a negative Content-Length', `POST ${PATH} HTTP/1.1\r\n${AUTH}content-length: -1\r\n\r\n${BODY}`],
  ['a hexadecimal Content-Length', `POST ${PATH} HTTP/1.1\r\n${AUTH}content-length: 0x10\r\n\r\n${BODY}`],
  [
    'Transfer-Encoding: chunked, x',
    `POST ${PATH} HTTP/1.1\r\n${AUTH}transfer-encoding: chunked, x\r\n\r\n${chunked(BODY)}`,
  ],
  [
    'Transfer-Encoding: xchunked',
    `POST ${PATH} HTTP/1.1\r\n${AUTH}transfer-encoding: xchunked\r\n\r\n${chunked(BODY)}${SMUGGLED}`,
  ],
  ['a space before the colon', `POST ${PATH} HTTP/1.1\r\n${AUTH}content-length : ${BODY.length}\r\n\r\n${BODY}`],
  ['obs-fold', `POST ${PATH} HTTP/1.1\r\n${AUTH}x-note: a\r\n b\r\ncontent-length: ${BODY.length}\r\n\r\n${BODY}`],
  ['bare LF', `POST ${PATH} HTTP/1.1\n${AUTH.replaceAll('\r\n', '\n')}content-length: ${BODY.length}\n\n${BODY}`],
  [
    'bare CR in a value',
    `POST ${PATH} HTTP/1.1\r\n${AUTH}x-note: a\rx-smuggled: b\r\ncontent-length: ${BODY.length}\r\n\r\n${BODY}`,
  ],
  ['NUL in a value', `POST ${PATH} HTTP/1.1\r\n${AUTH}x-note: a\0b\r\ncontent-length: ${BODY.length}\r\n\r\n${BODY}`],
  ['a bad chunk size', `POST ${PATH} HTTP/1.1\r\n${AUTH}transfer-encoding: chunked\r\n\r\nzz\r\n${BODY}\r\n0\r\n\r\n`],
  [
    'a chunk that is longer than its size',
    `POST ${PATH} HTTP/1.1\r\n${AUTH}transfer-encoding: chunked\r\n\r\n3\r\n${BODY}\r\n0\r\n\r\n${SMUGGLED}`,
  ],
  ['no HTTP version', `POST ${PATH}\r\n${AUTH}\r\n${BODY}`],
  ['HTTP/9.9', `POST ${PATH} HTTP/9.9\r\n${AUTH}content-length: ${BODY.length}\r\n\r\n${BODY}`],
  ['a method of nobody', `P@ST ${PATH} HTTP/1.1\r\n${AUTH}\r\n`],
  ['garbage', '\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03garbage\r\n\r\n'],
  ['no host', `POST ${PATH} HTTP/1.1\r\nx-gateway-api-key: ${KEY}\r\ncontent-length: 0\r\n\r\n`],
];

describe('an ambiguous request', () => {
  it.each(AMBIGUOUS)('%s: 400, closed, and nothing smuggled', async (_what, text) => {
    const { statuses, closed } = await rawExchange(
      stage.gateway.origin,
      Buffer.from(text, 'latin1').toString('latin1'),
      {
        waitMs: 2_000,
      },
    );
    expect(statuses.slice(-1)).toEqual([400]);
    expect(statuses.length).toBeLessThanOrEqual(2);
    expect(closed).toBe(true);
    const calls = stage.at(0).calls.slice(before);
    expect(calls.length).toBeLessThanOrEqual(1);
    expect(JSON.stringify(calls.map(({ rawHeaders }) => rawHeaders))).not.toContain('x-smuggled');
  });

  it('two good ones on a connection are two', async () => {
    const one = rawPost(PATH, BODY, { 'x-gateway-api-key': KEY });
    const { statuses } = await rawExchange(stage.gateway.origin, one + SMUGGLED, { waitMs: 1_500 });
    expect(statuses).toEqual([200, 200]);
    expect(stage.at(0).calls.length - before).toBe(2);
  });
});

describe('a head that is too much', () => {
  it.each([
    ['one header of 32 KiB', `x-long: ${'x'.repeat(32 * 1024)}\r\n`],
    [
      'a thousand headers',
      Array.from({ length: 1_000 }, (_, index) => `x-header-${index}: ${index} and more\r\n`).join(''),
    ],
    ['a key of 1 MiB', `authorization: Bearer ${'k'.repeat(1024 * 1024)}\r\n`],
  ])('%s: 431', async (_what, lines) => {
    const text = `POST ${PATH} HTTP/1.1\r\n${AUTH}${lines}content-length: ${BODY.length}\r\n\r\n${BODY}`;
    const { first, closed } = await rawExchange(stage.gateway.origin, text, { waitMs: 2_000 });
    expect(first?.status).toBe(431);
    expect(first?.body).toContain('headers_too_large');
    expect(closed).toBe(true);
    expect(stage.at(0).calls.length).toBe(before);
  });

  it('a header called __proto__ does no harm', async () => {
    const text = rawPost(PATH, BODY, { ['__proto__']: 'x', 'x-gateway-api-key': KEY, connection: 'close' });
    const withProto = text.replace('\r\n\r\n', '\r\n__proto__: polluted\r\nconstructor: polluted\r\n\r\n');
    const { first } = await rawExchange(stage.gateway.origin, withProto);
    expect([200, 400]).toContain(first?.status);
    expect(JSON.stringify(stage.at(0).calls.at(-1)?.rawHeaders)).not.toContain('polluted');
  });
});

describe('line ends in values', () => {
  it.each([
    ['a model name', { model: 'm\r\nx-smuggled: yes', messages: [{ role: 'user', content: 'Hi' }] }, {}],
    [
      'metadata',
      { model: 'm', messages: [{ role: 'user', content: 'Hi' }] },
      { 'x-gateway-metadata': '{"a":"b\\r\\nx-smuggled: yes"}' },
    ],
  ])('%s: 400', async (_what, body, headers) => {
    const response = await stage.gateway.chat(body, headers as Record<string, string>);
    expect(response.status).toBe(400);
    expect(await response.json()).toMatchObject({ error: { code: 'invalid_value' } });
    expect(stage.at(0).calls.length).toBe(before);
  });
});
