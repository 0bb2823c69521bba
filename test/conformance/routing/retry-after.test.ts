/** `use_retry_after_headers`: what an upstream's wish for a pause may look like, and how far it is followed. */
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { config } from '../../fakes/objects.ts';
import { openAiError } from '../../fakes/openai-wire.ts';
import { chat, json } from '../../fakes/replies.ts';
import { waitFor } from '../../fakes/wait-for.ts';
import { HI, type Stage, startStage, target } from '../stage.ts';
import { type Asked, askBy, CHAT, good, WAYS, type Way } from './ways.ts';

let stage: Stage;
/** Each test has a credential, and so a retry budget, of its own. */
let serial = 0;

beforeAll(async () => {
  stage = await startStage(1);
});
afterAll(() => stage.close());
beforeEach(() => stage.at(0).answer(chat()));

type HeaderValues = Readonly<Record<string, string | string[]>>;
const limited = (headers: HeaderValues) => json(429, openAiError('slow down'), headers as Record<string, string>);

function use(retry: object, more: object = {}): void {
  serial += 1;
  const spec = { api_key: `retry-after-${serial}`, retry: { use_retry_after_headers: true, ...retry }, ...more };
  stage.gateway.apply(
    config('openai', target(stage.at(0), spec)) +
      config('anthropic', target(stage.at(0), { ...spec, provider: 'anthropic' })),
  );
}

async function timed(way: Way = CHAT): Promise<Asked & { readonly tookMs: number }> {
  const startedMs = performance.now();
  const asked = await askBy(stage, way, way.wire);
  return { ...asked, tookMs: performance.now() - startedMs };
}

/** Longer than any random backoff of a first retry. */
const LONGER_MS = 1_200;

describe('a wish is followed', () => {
  it.each(WAYS)('before a second try: %s', async (_name, way) => {
    use({ attempts: 1 });
    stage.at(0).answer([limited({ 'retry-after-ms': '150' }), good(way)]);
    const asked = await timed(way);
    expect(asked).toMatchObject({ status: 200, calls: [2], retries: '1' });
    expect(asked.tookMs).toBeGreaterThanOrEqual(145);
  });

  it.each<[string, HeaderValues]>([
    ['retry-after-ms: 1', { 'retry-after-ms': '1' }],
    ['retry-after-ms: 0', { 'retry-after-ms': '0' }],
    ['Retry-After-Ms: 1', { 'Retry-After-Ms': '1' }],
    ['retry-after-ms: 0.5', { 'retry-after-ms': '0.5' }],
    ['x-ms-retry-after-ms: 1', { 'x-ms-retry-after-ms': '1' }],
    ['retry-after: 0', { 'retry-after': '0' }],
    ['retry-after: 0.001', { 'retry-after': '0.001' }],
    ['a date of long ago', { 'retry-after': 'Sun, 06 Nov 1994 08:49:37 GMT' }],
    ['a date of the old form', { 'retry-after': 'Sunday, 06-Nov-94 08:49:37 GMT' }],
    ['a date of asctime', { 'retry-after': 'Sun Nov  6 08:49:37 1994' }],
    [
      'retry-after-ms first, of all three',
      { 'retry-after': '30', 'x-ms-retry-after-ms': '20000', 'retry-after-ms': '1' },
    ],
    ['x-ms-retry-after-ms second', { 'retry-after': '30', 'x-ms-retry-after-ms': '1' }],
    ['the next, where the first cannot be read', { 'retry-after-ms': 'soon', 'retry-after': '0' }],
  ])('at once: %s', async (_what, headers) => {
    use({ attempts: 5 });
    // Five random waits would take 15 s in the mean; the wishes take nothing.
    stage.at(0).answer([...Array.from({ length: 5 }, () => limited(headers)), chat()]);
    const asked = await timed();
    expect(asked).toMatchObject({ status: 200, calls: [6], retries: '5' });
    expect(asked.tookMs).toBeLessThan(3_000);
  });

  it.each<[string, HeaderValues]>([
    ['seconds', { 'retry-after': '1.4' }],
    ['milliseconds', { 'retry-after-ms': '1400' }],
    ['milliseconds of the other name', { 'x-ms-retry-after-ms': '1400' }],
  ])('and not cut short by the backoff: %s', async (_what, headers) => {
    use({ attempts: 1 });
    stage.at(0).answer([limited(headers), chat()]);
    const asked = await timed();
    expect(asked.calls).toEqual([2]);
    expect(asked.tookMs).toBeGreaterThanOrEqual(LONGER_MS);
  });

  it('of each failure anew', async () => {
    use({ attempts: 3 });
    stage
      .at(0)
      .answer([
        limited({ 'retry-after-ms': '1' }),
        limited({ 'retry-after-ms': '200' }),
        limited({ 'retry-after-ms': '1' }),
        chat(),
      ]);
    const asked = await timed();
    expect(asked).toMatchObject({ calls: [4], retries: '3' });
    expect(asked.tookMs).toBeGreaterThanOrEqual(195);
    expect(asked.tookMs).toBeLessThan(3_000);
  });

  it('also under the name use_retry_after_header', async () => {
    use({ attempts: 5, use_retry_after_headers: undefined, use_retry_after_header: true });
    stage.at(0).answer([...Array.from({ length: 5 }, () => limited({ 'retry-after-ms': '1' })), chat()]);
    const asked = await timed();
    expect(asked.calls).toEqual([6]);
    expect(asked.tookMs).toBeLessThan(3_000);
  });
});

describe('the retries end at once', () => {
  it.each<[string, HeaderValues]>([
    ['61 seconds', { 'retry-after': '61' }],
    ['60001 milliseconds', { 'retry-after-ms': '60001' }],
    ['60001 milliseconds of the other name', { 'x-ms-retry-after-ms': '60001' }],
    ['an hour', { 'retry-after': '3600' }],
    ['a date of the next century', { 'retry-after': 'Fri, 01 Jan 2100 00:00:00 GMT' }],
    ['a number beyond all bounds', { 'retry-after': '9'.repeat(400) }],
  ])('after a wish for %s', async (_what, headers) => {
    use({ attempts: 5 });
    stage.at(0).answer(limited(headers));
    const asked = await timed();
    expect(asked).toMatchObject({ status: 429, calls: [1], retries: '-1' });
    expect(asked.tookMs).toBeLessThan(2_000);
    expect(asked.headers.get(Object.keys(headers)[0] ?? '')).toBe(Object.values(headers)[0]);
  });

  it('where the wishes come to more than 60 s together', async () => {
    use({ attempts: 5 });
    stage.at(0).answer([limited({ 'retry-after-ms': '30' }), limited({ 'retry-after-ms': '59971' }), chat()]);
    const asked = await timed();
    expect(asked).toMatchObject({ status: 429, calls: [2], retries: '-1' });
    expect(asked.tookMs).toBeLessThan(3_000);
  });

  it('in a fallback, and the next target is asked', async () => {
    use({ attempts: 5 });
    const own = (index: number) => target(stage.at(0), { api_key: `moved-${serial}-${index}` });
    const retry = { attempts: 5, use_retry_after_headers: true };
    stage.gateway.apply(config('openai', { strategy: { mode: 'fallback' }, retry, targets: [own(0), own(1)] }));
    stage.at(0).answer([limited({ 'retry-after': '120' }), chat()]);
    expect(await timed()).toMatchObject({ status: 200, calls: [2], retries: '0', path: 'config.targets[1]' });
  });
});

describe('a wait of 60 s', () => {
  it.each<[string, readonly HeaderValues[]]>([
    ['in one', [{ 'retry-after': '60' }]],
    ['in sum', [{ 'retry-after-ms': '30' }, { 'retry-after-ms': '59970' }]],
  ])('%s is begun, and ends when the caller leaves', async (_what, wishes) => {
    use({ attempts: 5 });
    stage.at(0).answer([...wishes.map(limited), chat()]);
    const before = stage.at(0).calls.length;
    const leaving = new AbortController();
    const settled = stage.gateway.chat(HI, { 'x-gateway-config': 'openai' }, leaving.signal).then(
      ({ status }) => status,
      () => 'left',
    );
    await stage.at(0).called(before + wishes.length);
    await new Promise((resolve) => setTimeout(resolve, 60));
    leaving.abort();
    expect(await settled).toBe('left');
    await waitFor(async () => (await stage.gateway.metric('modelgateway_requests_in_flight')) === 0, 'an idle gateway');
    expect(stage.at(0).calls.length).toBe(before + wishes.length);
  });
});

describe('a wish is no wish', () => {
  it.each<[string, HeaderValues]>([
    ['words', { 'retry-after': 'later' }],
    ['nothing', { 'retry-after': '' }],
    ['a negative number', { 'retry-after': '-100' }],
    ['an exponent', { 'retry-after': '1e3' }],
    ['hexadecimal', { 'retry-after-ms': '0xffff' }],
    ['Infinity', { 'retry-after': 'Infinity' }],
    ['a date of another form', { 'retry-after': '2100-01-01T00:00:00Z' }],
    ['a list', { 'retry-after': '100, 200' }],
  ])('where it is %s: the backoff of at most a second holds', async (_what, headers) => {
    use({ attempts: 1 });
    stage.at(0).answer([limited(headers), chat()]);
    const asked = await timed();
    expect(asked).toMatchObject({ status: 200, calls: [2] });
    expect(asked.tookMs).toBeLessThan(4_000);
  });

  it.each([{}, { use_retry_after_headers: false }])('unless the config follows it: %j', async (retry) => {
    use({ use_retry_after_headers: undefined, attempts: 1, ...retry });
    stage.at(0).answer([limited({ 'retry-after': '50' }), chat()]);
    const asked = await timed();
    expect(asked.calls).toEqual([2]);
    expect(asked.tookMs).toBeLessThan(4_000);
  });
});
