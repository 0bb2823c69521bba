/** Exchanges as property tests draw them: any outcome, any words of callers and upstreams. */
import fc from 'fast-check';
import { ERRORS, type ErrorCode } from '#gateway/errors.ts';
import type { Attempt, Exchange } from '#gateway/exchange.ts';
import { anAttempt, anExchange, aTrace } from './settled-exchange.ts';

const words = fc.string({ unit: 'binary', maxLength: 300 });
const errorCode = fc.constantFrom(...(Object.keys(ERRORS) as ErrorCode[]));
const maybe = <T>(arbitrary: fc.Arbitrary<T>) => fc.option(arbitrary, { nil: undefined });
const tokens = fc.nat(100_000);

const attempt: fc.Arbitrary<Attempt> = fc
  .record({
    provider: fc.constantFrom('openai', 'anthropic', 'simulator'),
    model: maybe(words),
    host: fc.constantFrom('api.example.com:443', '[::1]:80', 'localhost'),
    retry: fc.nat(5),
    status: maybe(fc.integer({ min: 100, max: 599 })),
    errorCode: maybe(errorCode),
  })
  .map(anAttempt);

const usage = fc.record({
  prompt_tokens: tokens,
  completion_tokens: tokens,
  total_tokens: tokens,
  prompt_tokens_details: fc.record({ cached_tokens: tokens }),
});

/** Any settled exchange; its metadata always holds the word `canary`. */
export const anyExchange: fc.Arbitrary<Exchange> = fc
  .record({
    method: words,
    pathname: words,
    config: maybe(words),
    requestedModel: maybe(words),
    answeredModel: maybe(words),
    stream: fc.boolean(),
    streamFailed: fc.boolean(),
    status: fc.integer({ min: 200, max: 599 }),
    errorCode: maybe(errorCode),
    usage: maybe(usage),
    attempts: fc.array(attempt, { maxLength: 6 }),
    trace: fc.record({ echoed: words, spanName: maybe(words), namedSpanId: maybe(words) }).map(aTrace),
  })
  .map(anExchange);
