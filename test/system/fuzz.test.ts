/**
 * G37: whatever comes, no request ends as `internal`, none hangs, and the gateway lives. 10 seconds, 60 in CI;
 * MODEL_GATEWAY_FUZZ_SECONDS and MODEL_GATEWAY_FUZZ_SEED say otherwise.
 */
import { gzipSync } from 'node:zlib';
import fc from 'fast-check';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { encodeSnapshot } from '#crds/snapshot/encode.ts';
import { contentHash, indexSchema, sha256Hex } from '#crds/snapshot/index-document.ts';
import { HI, type Stage, startStage, target } from '../conformance/stage.ts';
import { anthropicEvents, anthropicMessage } from '../fakes/anthropic-wire.ts';
import { NO_RECORDS } from '../fakes/no-records.ts';
import { config, defaultConfig } from '../fakes/objects.ts';
import { openAiChat, openAiEvents } from '../fakes/openai-wire.ts';
import { rawExchange } from '../fakes/raw.ts';
import { rawBytes } from '../fakes/replies.ts';
import type { Upstream } from '../fakes/upstream.ts';
import { ROUTES } from '../reliability/routes.ts';

const SECONDS = Number(process.env.MODEL_GATEWAY_FUZZ_SECONDS ?? (process.env.CI === undefined ? 10 : 60));
const SEED = Number(process.env.MODEL_GATEWAY_FUZZ_SEED ?? Date.now() % 2 ** 31);
const DEADLINE_MS = 8_000;

let stage: Stage;
beforeAll(async () => {
  stage = await startStage(
    1,
    ([upstream]) =>
      defaultConfig('house', target(upstream as Upstream, { request_timeout: 500, strategy: undefined })) +
      config('other', target(upstream as Upstream, { provider: 'anthropic', request_timeout: 500 })),
    ([upstream]) => ({ requestHosts: [upstream?.origin ?? ''] }),
  );
});
afterAll(() => stage.close());

const HEAD = (type: string, length?: number) =>
  `HTTP/1.1 200 OK\r\ncontent-type: ${type}\r\n${length === undefined ? '' : `content-length: ${length}\r\n`}connection: close\r\n\r\n`;
const CHAT = JSON.stringify(openAiChat());
const MESSAGE = JSON.stringify(
  anthropicMessage({ thinking: 'Hm.', toolUses: [{ id: 't', name: 'f', input: { a: 1 } }] }),
);
const UPSTREAM_SEEDS = [
  HEAD('application/json', CHAT.length) + CHAT,
  HEAD('application/json', MESSAGE.length) + MESSAGE,
  HEAD('text/event-stream') + openAiEvents({ toolCalls: [{ id: 'c', name: 'f', arguments: '{"a":1}' }] }).join(''),
  HEAD('text/event-stream') +
    anthropicEvents({ thinking: 'Hm.', text: 'a b', toolUses: [{ id: 't', name: 'f', input: {} }] }).join(''),
];
const CONFIGS = [
  '{"provider":"simulator","override_params":{"model":"echo"}}',
  '{"strategy":{"mode":"conditional","conditions":[{"query":{"metadata.a":{"$regex":"a+"}},"then":"x"}],"default":"x"},"targets":[{"name":"x","provider":"simulator"}]}',
  '{"strategy":{"mode":"loadbalance","sticky":{"enabled":true,"hash_fields":["metadata.a"],"ttl":60}},"retry":{"attempts":1},"targets":[{"provider":"simulator","weight":1}]}',
];
const HEADER_NAMES = [
  'x-gateway-config',
  'x-gateway-provider',
  'x-gateway-metadata',
  'x-gateway-custom-host',
  'x-gateway-request-timeout',
  'x-gateway-forward-headers',
  'x-gateway-trace-id',
  'traceparent',
  'tracestate',
  'x-gateway-virtual-key',
  'anthropic-beta',
  'accept',
  'connection',
];

/** A text with pieces cut out, doubled, swapped for others, or bytes changed. */
function mutated(seeds: readonly string[]): fc.Arbitrary<string> {
  const edit = fc.record({
    at: fc.double({ min: 0, max: 1, noNaN: true }),
    length: fc.nat(40),
    put: fc.oneof(
      fc.constantFrom(
        '',
        '{',
        '}',
        '[',
        ']',
        '"',
        ',',
        ':',
        'null',
        '-1',
        '1e999',
        '\\u0000',
        '\r\n',
        '\n\n',
        'data: ',
        '\0',
        '[DONE]',
        '"__proto__"',
        'event: error\n',
      ),
      fc.string({ maxLength: 12, unit: 'binary' }),
    ),
  });
  return fc.tuple(fc.constantFrom(...seeds), fc.array(edit, { maxLength: 5 })).map(([seed, edits]) =>
    edits.reduce((text, { at, length, put }) => {
      const start = Math.floor(at * text.length);
      return text.slice(0, start) + put + text.slice(start + length);
    }, seed),
  );
}

const latin = (text: string) =>
  Buffer.from(text)
    .toString('latin1')
    .replace(/[\r\n\0]/g, ' ')
    .trim()
    .slice(0, 4_000);
const bodies = fc.oneof(
  mutated(
    ROUTES.map(([, body]) =>
      JSON.stringify({
        ...body,
        stream: true,
        tools: [{ type: 'function', function: { name: 'f', parameters: {} } }],
        stop: ['a'],
        n: 2,
      }),
    ),
  ),
  fc.json({ maxDepth: 4 }),
  fc
    .record({
      model: fc.jsonValue(),
      messages: fc.jsonValue(),
      max_tokens: fc.jsonValue(),
      stream: fc.jsonValue(),
      tools: fc.jsonValue(),
    })
    .map((value) => JSON.stringify(value)),
);
const headers = fc.dictionary(
  fc.constantFrom(...HEADER_NAMES),
  fc.oneof(
    mutated(CONFIGS).map(latin),
    fc.string({ maxLength: 60 }).map(latin),
    fc.constantFrom('other', '@x', 'openai', '{}', '-1'),
  ),
  { maxKeys: 4 },
);

const headerNames = fc.oneof(
  fc.constantFrom(...HEADER_NAMES, '__proto__', 'constructor', 'host', 'content-length', 'transfer-encoding', 'expect'),
  fc.stringMatching(/^[!#$%&'*+.^_`|~0-9A-Za-z-]{1,30}$/),
  fc.string({ minLength: 1, maxLength: 12 }),
);
const headerValues = fc.oneof(
  fc.string({ maxLength: 200, unit: 'binary' }),
  fc.string({ maxLength: 40 }),
  fc.constantFrom('100-continue', 'chunked', 'close, x-gateway-api-key', '0', `${'9'.repeat(30)}`, 'gzip, deflate'),
);
const SHARDS = ['snapshot-0', 'credentials-0', 'keys-0'];
const SHARD_SEEDS = [
  '{"configs":[{"namespace":"default","name":"a","shared_with":[],"is_default":true,"config":{"provider":"simulator"}}],"integrations":[],"refused":[],"settings":{"organisation_namespace":"o","request_hosts":[]}}',
  '{"credentials":[{"kind":"Integration","namespace":"default","name":"a","path":"","fields":{"api_key":"k"}}]}',
  `{"keys":[{"namespace":"default","name":"a","digest":"${'0'.repeat(64)}","type":"workspace-user","allow_config_override":true,"metadata":{},"disabled":false}]}`,
];

function within<T>(promise: Promise<T>, what: unknown): Promise<T> {
  let timer: NodeJS.Timeout;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(
      () => reject(new Error(`no end within ${DEADLINE_MS} ms: ${JSON.stringify(what)}`)),
      DEADLINE_MS,
    );
  });
  return Promise.race([promise, late]).finally(() => clearTimeout(timer));
}

async function assertAnswered(path: string, body: string, sent: Record<string, string>): Promise<void> {
  const answered = stage.gateway.post(path, body, sent).then(
    async (response) => ({ status: response.status, text: await response.text().catch(() => '') }),
    (error: Error) => ({ status: 0, text: String(error.cause ?? error) }),
  );
  const { status, text } = await within(answered, { path, body, sent });
  expect(text, `${status} for ${JSON.stringify({ path, body, sent })}`).not.toContain('"internal"');
  expect(text).not.toMatch(/Something went wrong|Cannot read prop|is not a function|undefined is not/);
}

const KINDS: readonly (() => Promise<void>)[] = [
  () => check(fc.asyncProperty(fc.constantFrom(...ROUTES.map(([path]) => path)), bodies, headers, assertAnswered)),
  () =>
    check(
      fc.asyncProperty(
        fc.constantFrom(...ROUTES),
        fc.boolean(),
        fc.boolean(),
        mutated(UPSTREAM_SEEDS),
        async ([path, body], stream, other, wire) => {
          stage.at(0).answer(rawBytes([Buffer.from(wire, 'utf8')]));
          await assertAnswered(path, JSON.stringify({ ...body, stream }), other ? { 'x-gateway-config': 'other' } : {});
        },
      ),
    ),
  () =>
    check(
      fc.asyncProperty(mutated([rawRequest()]), async (text) => {
        const { text: answer } = await within(
          rawExchange(stage.gateway.origin, text, { waitMs: 150, halfClose: true }),
          text,
        );
        expect(answer).not.toContain('"internal"');
      }),
    ),
  () =>
    check(
      fc.asyncProperty(fc.double({ min: 0, max: 1, noNaN: true }), fc.nat(255), async (at, byte) => {
        const { index, shards } = encodeSnapshot(EMPTY, 1_000_000);
        const start = Math.floor(at * index.length);
        const bent = index.slice(0, start) + String.fromCharCode(byte) + index.slice(start + 1);
        if (bent !== index) loadBent(bent, shards);
        expect((await stage.gateway.chat(HI, { 'x-gateway-config': '{"provider":"simulator"}' })).status).toBe(200);
      }),
      25,
    ),
  () =>
    check(
      fc.asyncProperty(fc.constantFrom(...SHARDS), mutated(SHARD_SEEDS), async (name, json) => {
        const { index, shards } = encodeSnapshot(EMPTY, 1_000_000);
        loadBent(...withShard(index, shards, name, gzipSync(json)));
        loadBent(index, new Map([...shards, [name, Buffer.from(json)]]));
        expect((await stage.gateway.chat(HI, { 'x-gateway-config': '{"provider":"simulator"}' })).status).toBe(200);
      }),
      25,
    ),
  () =>
    check(
      fc.asyncProperty(mutated(CONFIGS), async (text) => {
        await assertAnswered('/v1/chat/completions', JSON.stringify(HI), { 'x-gateway-config': latin(text) });
      }),
    ),
  () =>
    check(
      fc.asyncProperty(fc.array(fc.tuple(headerNames, headerValues), { maxLength: 12 }), async (pairs) => {
        const lines = pairs.map(([name, value]) => `${name}: ${value}\r\n`).join('');
        const text = rawRequest().replace('\r\ncontent-type', `\r\n${lines}content-type`);
        const bytes = Buffer.from(text, 'latin1');
        const exchange = within(rawExchange(stage.gateway.origin, [bytes], { waitMs: 150, halfClose: true }), text);
        expect((await exchange).text).not.toContain('"internal"');
      }),
    ),
];

const EMPTY = {
  ...NO_RECORDS,
  settings: { organisation_namespace: 'model-gateway', request_hosts: [] },
  configs: [],
  integrations: [],
  credentials: [],
  keys: [],
  refused: [],
};

/** A bent snapshot that is none the less a right one (its generation has no hash) is taken back. */
function loadBent(index: string, shards: ReadonlyMap<string, Uint8Array>): void {
  if (stage.gateway.gateway.load({ index, shards }).refused === undefined) stage.gateway.apply(stage.manifests);
}

/** Another content for a shard, with the hashes that it should have. */
function withShard(
  index: string,
  shards: ReadonlyMap<string, Uint8Array>,
  name: string,
  bytes: Uint8Array,
): [index: string, shards: ReadonlyMap<string, Uint8Array>] {
  const document = indexSchema.parse(JSON.parse(index));
  const entries = document.shards.map((entry) => (entry.name === name ? { ...entry, hash: sha256Hex(bytes) } : entry));
  const hash = contentHash(document.format, entries);
  return [JSON.stringify({ ...document, hash, shards: entries }), new Map([...shards, [name, bytes]])];
}

function rawRequest(): string {
  const body = JSON.stringify(HI);
  return `POST /v1/chat/completions HTTP/1.1\r\nhost: x\r\nx-gateway-api-key: ${stage?.gateway.key ?? 'test-key-0123456789abcdef'}\r\ncontent-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n${body}`;
}

let round = 0;
function check(property: Parameters<typeof fc.assert>[0], numRuns = 40): Promise<void> {
  round += 1;
  return Promise.resolve(
    fc.assert(property as fc.IAsyncProperty<unknown>, { numRuns, seed: SEED + round, endOnFailure: true }),
  );
}

it(
  `nothing ends as internal, hangs or stays (${SECONDS} s, seed ${SEED})`,
  async () => {
    console.info(`fuzz: ${SECONDS} s, seed ${SEED}: MODEL_GATEWAY_FUZZ_SEED=${SEED} repeats it`);
    const manifests = stage.manifests;
    const end = performance.now() + SECONDS * 1_000;
    for (let turn = 0; turn < KINDS.length || performance.now() < end; turn += 1) {
      await KINDS[turn % KINDS.length]?.();
      stage.gateway.apply(manifests);
    }
    await expect.poll(() => stage.gateway.metric('modelgateway_requests_in_flight'), { timeout: 10_000 }).toBe(0);
    expect(await stage.gateway.metric('modelgateway_requests_total', { code: 'internal' })).toBe(0);
    const lines = await stage.gateway.logs();
    expect(lines.filter(({ error, msg }) => error === 'internal' || msg === 'internal error')).toEqual([]);
    expect(lines.length).toBeGreaterThan(100);
  },
  (SECONDS + 60) * 1_000,
);
