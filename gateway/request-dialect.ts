/** The body for one target. The caller's own bytes go on unless something has to change. */
import { CLIENT_DIALECTS } from './dialects/client-dialects.ts';
import { plainChat } from './dialects/messages/plain-chat.ts';
import { GatewayError } from './errors.ts';
import type { Target, Upstream } from './plan/plan.ts';
import type { Json, Provider } from './providers/provider.ts';
import type { RequestContext } from './request-context.ts';

export interface EncodedRequest {
  readonly path: string;
  readonly body: Buffer | string;
  /** Model as sent. */
  readonly model: string | undefined;
}

const ASK_USAGE = Buffer.from('{"stream_options":{"include_usage":true},');
const SPACE = /^\s*\{\s*\}\s*$/;

/** Throws `unsupported_operation`, `model_not_allowed`, or what the dialect cannot say. `model`: replaces the body's. */
export function encodeRequest(
  context: RequestContext,
  target: Target,
  upstream: Upstream,
  model: string | undefined,
): EncodedRequest {
  const { provider } = upstream;
  const wire = provider.operations[context.endpoint.operation];
  const same = provider.dialect === context.endpoint.dialect;
  if (wire === undefined || (!same && context.endpoint.operation !== 'chat')) {
    throw new GatewayError('unsupported_operation', `${provider.name} has no operation ${context.endpoint.type}.`, {
      provider: provider.name,
    });
  }
  const sent = model ?? textOf(target.settings.overrideParams?.['model']) ?? textOf(context.body['model']);
  if (sent !== undefined && upstream.allowsModel?.(sent) === false) {
    throw new GatewayError(
      'model_not_allowed',
      `The model "${sent.slice(0, 200)}" is not one of the Integration's models.`,
      { param: 'model', provider: provider.name },
    );
  }
  const changes = model === undefined ? target.settings.overrideParams : { ...target.settings.overrideParams, model };
  const body = same ? sameDialect(context, provider, changes) : translated(context, provider, changes);
  return { path: `${upstream.pathPrefix}${wire.path}`, body, model: sent };
}

function textOf(value: unknown): string | undefined {
  return typeof value === 'string' ? value : undefined;
}

function sameDialect(context: RequestContext, provider: Provider, changes: Json | undefined): Buffer | string {
  const askUsage =
    context.exchange.stream &&
    provider.streamUsageOnRequest &&
    context.endpoint.dialect === 'openai' &&
    !asksUsage(context.body);
  if (changes === undefined) return askUsage ? withUsage(context) : context.bytes;
  const body = { ...context.body, ...changes };
  return JSON.stringify(askUsage ? { ...body, stream_options: streamOptions(context.body) } : body);
}

/** Asks for usage without writing the body anew, where it says nothing about `stream_options` yet. */
function withUsage(context: RequestContext): Buffer | string {
  const { bytes, body } = context;
  if (body['stream_options'] !== undefined || SPACE.test(bytes.toString('latin1', 0, 16)))
    return JSON.stringify({ ...body, stream_options: streamOptions(body) });
  const open = bytes.indexOf(123);
  return Buffer.concat([ASK_USAGE, bytes.subarray(open + 1)]);
}

function streamOptions(body: Json): Json {
  return { ...(body['stream_options'] as Json | undefined), include_usage: true };
}

/** Whether the caller wants the usage chunk. */
export function asksUsage(body: Json): boolean {
  return (body['stream_options'] as Json | undefined)?.['include_usage'] === true;
}

function translated(context: RequestContext, provider: Provider, changes: Json | undefined): string {
  const decoded = CLIENT_DIALECTS[context.endpoint.dialect].decodeRequest(context.body);
  const hub = provider.chat === undefined ? plainChat(decoded) : decoded;
  const asked = changes === undefined ? hub : { ...hub, ...changes };
  const wanted =
    asked['stream'] === true && provider.streamUsageOnRequest
      ? { ...asked, stream_options: streamOptions(asked) }
      : asked;
  return JSON.stringify(provider.chat === undefined ? wanted : provider.chat.encode(wanted));
}
