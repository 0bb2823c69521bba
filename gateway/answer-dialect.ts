/** The upstream's answer in the caller's dialect. Bytes pass where both speak the same. */
import { CLIENT_DIALECTS } from './dialects/client-dialects.ts';
import { GatewayError } from './errors.ts';
import type { Settings, Upstream } from './plan/plan.ts';
import type { Dialect, Json, Provider, StreamDecoder, Usage } from './providers/provider.ts';
import type { RequestContext } from './request-context.ts';
import { asksUsage } from './request-dialect.ts';
import { ChatDecoder } from './stream/chat-decoder.ts';
import { ChatEvents } from './stream/chat-events.ts';
import { MessageEvents } from './stream/message-events.ts';
import { PassThrough } from './stream/pass-through.ts';
import type { StreamTransform } from './stream/transform.ts';
import { Translated } from './stream/translated.ts';
import { asUsage, usageFromTail, usageOfMessage } from './stream/usage.ts';

const OPEN = 123;
const CLOSE = 125;
const HEAD_BYTES = 512;
const MODEL = /"model"\s*:\s*"((?:[^"\\]|\\.){1,256})"/;

const USAGE_READERS: Readonly<Record<Dialect, (value: unknown) => Usage | undefined>> = {
  openai: asUsage,
  anthropic: usageOfMessage,
};

/** A whole 2xx body for the caller; notes usage and model in the exchange. Throws `upstream_invalid`. */
export function decodeUnary(
  context: RequestContext,
  settings: Settings,
  upstream: Upstream,
  body: Buffer,
): Buffer | string {
  const { provider } = upstream;
  if (!isObject(body)) throw invalid(provider, 'answered with something that is no JSON object');
  if (provider.dialect === context.endpoint.dialect) {
    context.exchange.usage = usageFromTail(body, USAGE_READERS[provider.dialect]);
    context.exchange.answeredModel = MODEL.exec(body.toString('latin1', 0, HEAD_BYTES))?.[1];
    return body;
  }
  return JSON.stringify(translateUnary(context, settings, provider, parse(body, provider)));
}

function translateUnary(context: RequestContext, settings: Settings, provider: Provider, answer: Json): Json {
  const options = { strict: isStrict(context, settings) };
  const hub = provider.chat === undefined ? answer : provider.chat.decode(answer, options);
  context.exchange.usage = asUsage(hub['usage']);
  context.exchange.answeredModel = typeof hub['model'] === 'string' ? hub['model'] : undefined;
  return CLIENT_DIALECTS[context.endpoint.dialect].encodeAnswer(hub);
}

function parse(body: Buffer, provider: Provider): Json {
  try {
    return JSON.parse(body.toString('utf8')) as Json;
  } catch {
    throw invalid(provider, 'answered with broken JSON');
  }
}

/** `{` ... `}`, white space around it allowed. */
function isObject(body: Buffer): boolean {
  let first = 0;
  let last = body.length - 1;
  while (first < last && isSpace(body[first])) first += 1;
  while (last > first && isSpace(body[last])) last -= 1;
  return last > first && body[first] === OPEN && body[last] === CLOSE;
}

function isSpace(byte: number | undefined): boolean {
  return byte === 32 || byte === 10 || byte === 13 || byte === 9;
}

function invalid(provider: Provider, what: string): GatewayError {
  return new GatewayError('upstream_invalid', `${provider.name} ${what}.`, { provider: provider.name });
}

/** Strict compliance; a caller who speaks Anthropic's dialect may always see thinking. */
function isStrict(context: RequestContext, settings: Settings): boolean {
  return context.endpoint.dialect === 'openai' && (context.control.strict ?? true) && settings.strict;
}

/** How many choices are asked for: `n` for each prompt, of which a list of tokens is one. */
function choicesOf({ body, endpoint }: RequestContext, { overrideParams }: Settings): number {
  const said = endpoint.dialect === 'openai' ? body : undefined;
  const n = overrideParams?.['n'] ?? said?.['n'];
  const prompt = overrideParams?.['prompt'] ?? said?.['prompt'];
  const prompts = Array.isArray(prompt) && typeof prompt[0] !== 'number' ? Math.max(1, prompt.length) : 1;
  return typeof n === 'number' ? n * prompts : prompts;
}

export function streamTransform(context: RequestContext, settings: Settings, upstream: Upstream): StreamTransform {
  const { provider } = upstream;
  const keepUsage = asksUsage(context.body);
  const choices = choicesOf(context, settings);
  if (provider.dialect === context.endpoint.dialect) {
    const reader =
      provider.dialect === 'anthropic' ? new MessageEvents(provider) : new ChatEvents(provider, keepUsage, choices);
    return new PassThrough(provider, reader);
  }
  const dialect = CLIENT_DIALECTS[context.endpoint.dialect];
  const decoder: StreamDecoder =
    provider.chat === undefined
      ? new ChatDecoder(provider, choices)
      : provider.chat.decoder({ strict: isStrict(context, settings) });
  return new Translated(
    provider.name,
    decoder,
    dialect.encoder(context.body),
    keepUsage || context.endpoint.dialect !== 'openai',
  );
}
