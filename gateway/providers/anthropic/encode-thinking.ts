/** `thinking` as given, else what `reasoning_effort` asks for in the words of the model. */
import { given, isJson, refuse } from '../../dialects/json-shape.ts';
import type { Json } from '../provider.ts';
import type { ModelTraits } from './models.ts';

export interface Thinking {
  readonly thinking?: Json;
  /** For `output_config.effort`. */
  readonly effort?: string;
}

export interface ThinkingLimits {
  readonly maxTokens: number;
  /** The answer must be a tool call, which the provider combines with thinking only where the caller insists. */
  readonly forcedTool: boolean;
  readonly messages: readonly Json[];
}

interface EffortWords {
  /** Tokens, where thinking has a budget. */
  readonly budgetTokens: number;
  /** Word, where the model adapts. */
  readonly effort: string;
}

const EFFORTS: Readonly<Record<string, EffortWords>> = {
  minimal: { budgetTokens: 1_024, effort: 'low' },
  low: { budgetTokens: 2_048, effort: 'low' },
  medium: { budgetTokens: 8_192, effort: 'medium' },
  high: { budgetTokens: 16_384, effort: 'high' },
  xhigh: { budgetTokens: 24_576, effort: 'xhigh' },
  max: { budgetTokens: 32_768, effort: 'max' },
};
const LEAST_BUDGET_TOKENS = 1_024;

export function encodeThinking(request: Json, traits: ModelTraits, limits: ThinkingLimits): Thinking {
  const asked = given(request.reasoning_effort);
  const words = asked === undefined ? undefined : effortWords(asked);
  const thinking = isJson(request.thinking) ? { thinking: request.thinking } : undefined;
  if (traits.thinking === 'adaptive') return adaptive(asked, words, traits, limits, thinking);
  if (thinking !== undefined) return thinking;
  return traits.thinking === 'budget' && words !== undefined ? budget(words, limits) : {};
}

/** undefined for "none". */
function effortWords(asked: unknown): EffortWords | undefined {
  if (asked === 'none') return undefined;
  const words = typeof asked === 'string' && Object.hasOwn(EFFORTS, asked) ? EFFORTS[asked] : undefined;
  return words ?? refuse('reasoning_effort', `must be none, ${Object.keys(EFFORTS).join(', ')}`);
}

function adaptive(
  asked: unknown,
  words: EffortWords | undefined,
  traits: ModelTraits,
  limits: ThinkingLimits,
  thinking: Thinking | undefined,
): Thinking {
  if (asked === undefined) return thinking ?? {};
  if (words === undefined) return thinking ?? off(traits);
  const effort = words.effort === 'xhigh' && !traits.xhigh ? 'high' : words.effort;
  if (thinking !== undefined || limits.forcedTool) return { ...thinking, effort };
  return { thinking: { type: 'adaptive' }, effort };
}

function off({ thinkingOff }: ModelTraits): Thinking {
  if (thinkingOff === 'low') return { effort: 'low' };
  return thinkingOff === 'disabled' ? { thinking: { type: 'disabled' } } : {};
}

/** Half of the tokens stay for the answer; too few of them, or a turn that cannot be gone on with, mean no thinking. */
function budget(words: EffortWords, { maxTokens, forcedTool, messages }: ThinkingLimits): Thinking {
  const budgetTokens = Math.min(words.budgetTokens, Math.floor(maxTokens / 2));
  if (forcedTool || budgetTokens < LEAST_BUDGET_TOKENS || callsWithoutThinking(messages)) return {};
  return { thinking: { type: 'enabled', budget_tokens: budgetTokens } };
}

/** With a budget, the provider refuses to go on after a tool call whose thinking was not given back. */
function callsWithoutThinking(messages: readonly Json[]): boolean {
  const content = messages.findLast((message) => message.role === 'assistant')?.content;
  if (!Array.isArray(content) || !content.some((block: Json) => block.type === 'tool_use')) return false;
  const [first] = content;
  return first.type !== 'thinking' && first.type !== 'redacted_thinking';
}
