/** Requests and answers, as checks look at them. */
import { createSubject, type Subject } from '../checks/subject.ts';
import type { Target } from '../plan/plan.ts';
import type { Json } from '../providers/provider.ts';
import type { RequestContext } from '../request-context.ts';
import { targetUpstream } from '../resolve/target-upstream.ts';

type Facts = Pick<Subject, 'endpointType' | 'metadata' | 'headers' | 'stream'>;

/** `target`: the one that it goes to, where that is decided. */
export function requestSubject(context: RequestContext, target: Target | undefined): Subject {
  const { body } = context;
  const provider = target === undefined ? undefined : providerOf(context, target);
  return createSubject({
    ...factsOf(context),
    side: 'request',
    body,
    model: textOf(body['model']),
    ...(provider === undefined ? {} : { provider }),
  });
}

export function answerSubject(context: RequestContext, answer: Json, provider: string | undefined): Subject {
  const { body: request, exchange } = context;
  return createSubject({
    ...factsOf(context),
    side: 'response',
    body: answer,
    request,
    model: textOf(request['model']) ?? exchange.answeredModel,
    ...(provider === undefined ? {} : { provider }),
  });
}

function factsOf({ endpoint, exchange, request, gatewayKeyIn }: RequestContext): Facts {
  const headers: Record<string, string> = {};
  for (const name in request.headers) {
    const value = request.headers[name];
    if (typeof value === 'string' && name !== gatewayKeyIn) headers[name] = value;
  }
  return { endpointType: endpoint.type, metadata: exchange.metadata, headers, stream: exchange.stream };
}

/** Where it cannot be said yet, the attempt will say why. */
function providerOf(context: RequestContext, target: Target): string | undefined {
  try {
    return targetUpstream(context, target).upstream.provider.name;
  } catch {
    return undefined;
  }
}

function textOf(value: unknown): string | undefined {
  return typeof value === 'string' ? value : undefined;
}
