/** What a request may come to at most: reserved before it is sent. */
import { worstCost } from '../money/cost.ts';
import { maxOutputTokens } from '../money/model-facts.ts';
import type { PlanNode, Settings, Target } from '../plan/plan.ts';
import type { Json } from '../providers/provider.ts';
import type { RequestContext } from '../request-context.ts';
import { type Addressed, targetUpstream } from '../resolve/target-upstream.ts';
import { estimatePrompt } from './estimate.ts';

export interface Need {
  readonly promptTokens: number;
  readonly outputTokens: number;
  /** 1e-12 US dollars; 0 where no price is known. */
  readonly cost: number;
}

/** Of a model of which nothing is known. */
const OUTPUT_TOKENS = 4_096;
const NONE: Need = { promptTokens: 0, outputTokens: 0, cost: 0 };
const LENGTH_FIELDS = ['max_tokens', 'max_completion_tokens', 'max_output_tokens'] as const;

/** Of the prompt that the caller sent, found once for a request. */
export function promptEstimate({ exchange, body }: RequestContext): number {
  if (exchange.promptEstimate === 0) exchange.promptEstimate = estimatePrompt(body);
  return exchange.promptEstimate;
}

/** At one target. */
export function needAt(context: RequestContext, { settings }: Target, addressed: Addressed): Need {
  const { operation } = context.endpoint;
  if (operation === 'countTokens') return NONE;
  const promptTokens = promptEstimate(context) + overriddenTokens(settings);
  const { upstream, sentModel: model } = addressed;
  const outputTokens = operation === 'embed' ? 0 : outputOf(context, settings, upstream.provider.name, model);
  const list = upstream.prices(model);
  return { promptTokens, outputTokens, cost: list === undefined ? 0 : worstCost(list, promptTokens, outputTokens) };
}

/** At whichever target of the plan needs most. What cannot be addressed is never sent. */
export function worstNeed(context: RequestContext, node: PlanNode): Need {
  if (node.kind === 'target') {
    const addressed = addressOf(context, node);
    return addressed === undefined ? NONE : needAt(context, node, addressed);
  }
  let worst = NONE;
  for (const child of node.children) worst = largerOf(worst, worstNeed(context, child));
  return worst;
}

/** undefined: it cannot be used; whoever tries it is told why. */
export function addressOf(context: RequestContext, target: Target): Addressed | undefined {
  try {
    return targetUpstream(context, target);
  } catch {
    return undefined;
  }
}

/** The only target that there is, where the plan leaves no choice. */
export function fixedTarget(node: PlanNode): Target | undefined {
  let only: PlanNode | undefined = node;
  while (only?.kind === 'branch') only = only.choose === undefined && isNoChoice(only) ? only.children[0] : undefined;
  return only;
}

function isNoChoice({ mode, children }: Exclude<PlanNode, Target>): boolean {
  return mode === 'single' || (children.length === 1 && (children[0]?.weight ?? 0) > 0);
}

function largerOf(one: Need, other: Need): Need {
  const tokens = (need: Need) => need.promptTokens + need.outputTokens;
  const larger = tokens(one) >= tokens(other) ? one : other;
  return { ...larger, cost: Math.max(one.cost, other.cost) };
}

function outputOf({ body }: RequestContext, settings: Settings, provider: string, model: string | undefined): number {
  const { overrideParams } = settings;
  let most = -1;
  for (const field of LENGTH_FIELDS) most = Math.max(most, numberIn(body, overrideParams, field) ?? -1);
  if (most < 0) most = (model === undefined ? undefined : maxOutputTokens(provider, model)) ?? OUTPUT_TOKENS;
  return most * answersOf(body, overrideParams);
}

/** How many answers are made: `n` (or `best_of`, of which `n` are shown) for each prompt. */
function answersOf(body: Json, overrides: Json | undefined): number {
  const choices = Math.max(numberIn(body, overrides, 'n') ?? 1, numberIn(body, overrides, 'best_of') ?? 1);
  const prompt = overrides?.['prompt'] ?? body['prompt'];
  const prompts = Array.isArray(prompt) && typeof prompt[0] !== 'number' ? prompt.length : 1;
  return Math.max(1, choices) * Math.max(1, prompts);
}

function numberIn(body: Json, overrides: Json | undefined, field: string): number | undefined {
  const value = overrides?.[field] ?? body[field];
  return typeof value === 'number' && value >= 0 ? Math.ceil(value) : undefined;
}

const overridden = new WeakMap<object, number>();

/** Prompts that a config sends in place of the caller's. */
function overriddenTokens({ overrideParams }: Settings): number {
  if (overrideParams === undefined) return 0;
  const known = overridden.get(overrideParams);
  if (known !== undefined) return known;
  const tokens = estimatePrompt(overrideParams);
  overridden.set(overrideParams, tokens);
  return tokens;
}
