/** What differs between the provider's models. The first prefix that fits a model's name holds. */

export interface ModelTraits {
  /** The model's own maximum of `max_tokens`; undefined where it is not known. */
  readonly maxOutputTokens: number | undefined;
  /** How thinking is asked for: by effort, by a budget of tokens, or not at all. */
  readonly thinking: 'adaptive' | 'budget' | 'none';
  /** How "do not think" is said: by leaving it out, by `disabled`, or, where it cannot be switched off, by low effort. */
  readonly thinkingOff: 'omit' | 'disabled' | 'low';
  /** Whether the effort `xhigh` exists. */
  readonly xhigh: boolean;
  /** Sampling parameters that are accepted: any, temperature or top_p but not both, or none at all. */
  readonly sampling: 'any' | 'one' | 'none';
}

const OLD: ModelTraits = {
  maxOutputTokens: 4_096,
  thinking: 'none',
  thinkingOff: 'omit',
  xhigh: false,
  sampling: 'any',
};
const BUDGET: ModelTraits = { ...OLD, maxOutputTokens: 64_000, thinking: 'budget' };
const BUDGET_ONE: ModelTraits = { ...BUDGET, sampling: 'one' };
const ADAPTIVE: ModelTraits = {
  maxOutputTokens: 128_000,
  thinking: 'adaptive',
  thinkingOff: 'omit',
  xhigh: false,
  sampling: 'one',
};
const MODERN: ModelTraits = { ...ADAPTIVE, xhigh: true, sampling: 'none' };
const ALWAYS_THINKING: ModelTraits = { ...MODERN, thinkingOff: 'low' };
const THINKING_BY_DEFAULT: ModelTraits = { ...MODERN, thinkingOff: 'disabled' };

const BY_PREFIX: readonly (readonly [prefix: string, traits: ModelTraits])[] = [
  ['claude-3-5-', { ...OLD, maxOutputTokens: 8_192 }],
  ['claude-3-7-', BUDGET],
  ['claude-3-', OLD],
  ['claude-sonnet-4-5', BUDGET_ONE],
  ['claude-haiku-4-5', BUDGET_ONE],
  ['claude-opus-4-5', BUDGET_ONE],
  ['claude-opus-4-1', { ...BUDGET_ONE, maxOutputTokens: 32_000 }],
  ['claude-sonnet-4-6', ADAPTIVE],
  ['claude-opus-4-6', ADAPTIVE],
  ['claude-opus-4-7', MODERN],
  ['claude-opus-4-8', MODERN],
  ['claude-opus-4', { ...BUDGET, maxOutputTokens: 32_000 }],
  ['claude-sonnet-4', BUDGET],
  ['claude-opus-5-5', ALWAYS_THINKING],
  ['claude-opus-5', THINKING_BY_DEFAULT],
  ['claude-sonnet-5', THINKING_BY_DEFAULT],
  ['claude-haiku-5', THINKING_BY_DEFAULT],
  ['claude-fable-', ALWAYS_THINKING],
  ['claude-mythos-', ALWAYS_THINKING],
  // A model that is newer than this table most likely follows its latest elders.
  ['claude-', { ...ALWAYS_THINKING, maxOutputTokens: undefined }],
];

/** Another maker's model behind the same dialect: the oldest form of thinking is the one that servers have copied. */
const FOREIGN: ModelTraits = { ...BUDGET, maxOutputTokens: undefined };

export function modelTraits(model: unknown): ModelTraits {
  if (typeof model !== 'string') return FOREIGN;
  return BY_PREFIX.find(([prefix]) => model.startsWith(prefix))?.[1] ?? FOREIGN;
}
