/** What a request comes to, once it is over. */
import { estimatePrompt } from '../limits/estimate.ts';
import type { Usage } from '../providers/provider.ts';
import type { RequestContext } from '../request-context.ts';
import { costOf } from './cost.ts';

export interface Bill {
  readonly usage: Usage;
  /** The provider did not say, or not to the end: counted from what was sent and received. */
  readonly estimated: boolean;
  /** 1e-12 US dollars, whole; undefined: the model has no known price. */
  readonly cost: number | undefined;
  /** Which prices it was reckoned with; undefined where the cost is. */
  readonly priceVersion: string | undefined;
}

/** Characters of a whole answer per token of it, where the provider does not count. */
const CHARS_PER_TOKEN = 4;

/** Of an answer that nobody was called for. */
const SPARED: Bill = {
  usage: { prompt_tokens: 0, completion_tokens: 0, total_tokens: 0 },
  estimated: false,
  cost: 0,
  priceVersion: undefined,
};

/** Of the attempt that answered; undefined: nothing was used. To be asked when the exchange is over. Never throws. */
export function billOf(context: RequestContext): Bill | undefined {
  const { exchange } = context;
  if (exchange.cache?.recalled !== undefined) return SPARED;
  const reply = context.routed?.reply;
  const { attempt, upstream } = reply ?? {};
  if (reply === undefined || upstream === undefined || attempt === undefined) return undefined;
  if (!reply.ok && reply.isAnswered !== true && !isLeftWaiting(context)) return undefined;
  const said = exchange.usage;
  const usage = said === undefined || isBroken(context) ? completedUsage(context, said) : said;
  if (usage === undefined) return undefined;
  const prices = upstream.prices(attempt.model) ?? upstream.prices(exchange.answeredModel);
  return {
    usage,
    estimated: usage !== said,
    cost: prices === undefined ? undefined : costOf(prices, usage),
    priceVersion: prices?.version,
  };
}

/** The caller left before the answer came: the provider was sent the prompt, and will ask to be paid for it. */
function isLeftWaiting({ gone, routed }: RequestContext): boolean {
  return gone && routed?.reply?.attempt?.status === undefined;
}

/** A stream that broke off: its provider may have counted no further than its beginning. */
function isBroken({ exchange, gone }: RequestContext): boolean {
  return exchange.stream && (gone || exchange.streamFailed);
}

/** `said`, unless more was received than it speaks of. */
function completedUsage(context: RequestContext, said: Usage | undefined): Usage | undefined {
  const { exchange, endpoint } = context;
  if (endpoint.operation === 'countTokens') return undefined;
  const received = receivedTokens(context);
  if (said !== undefined && received <= said.completion_tokens) return said;
  const prompt = said?.prompt_tokens ?? (exchange.promptEstimate || estimatePrompt(context.body));
  return { ...said, prompt_tokens: prompt, completion_tokens: received, total_tokens: prompt + received };
}

function receivedTokens({ exchange, endpoint, routed }: RequestContext): number {
  if (exchange.stream) return exchange.outputEvents;
  return endpoint.operation === 'embed' ? 0 : Math.ceil((routed?.reply?.body?.length ?? 0) / CHARS_PER_TOKEN);
}
