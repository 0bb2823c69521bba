/** Standard prices of the public price page (no batch, flex or priority), and the sizes of the models' own pages. */
import type { ModelPage, ModelRow, TokenPrices } from '../model-page.ts';

const LONG_PROMPT_TOKENS = 272_000;

type Sizes = Required<Pick<ModelRow, 'contextTokens' | 'maxOutputTokens'>>;

const WIDE: Sizes = { contextTokens: 1_050_000, maxOutputTokens: 128_000 };
const REASONING: Sizes = { contextTokens: 400_000, maxOutputTokens: 128_000 };
const LONG_CHAT: Sizes = { contextTokens: 1_047_576, maxOutputTokens: 32_768 };
const CHAT: Sizes = { contextTokens: 128_000, maxOutputTokens: 16_384 };
const THINKING: Sizes = { contextTokens: 200_000, maxOutputTokens: 100_000 };
const TURBO: Sizes = { contextTokens: 128_000, maxOutputTokens: 4_096 };
const SMALL: Sizes = { contextTokens: 16_385, maxOutputTokens: 4_096 };
const EMBEDDING: Sizes = { contextTokens: 8_192, maxOutputTokens: 0 };

/** Cached input costs what input costs where it has no price; so do writes. */
function prices(input: number, cached: number | undefined, output: number, written?: number): TokenPrices {
  return {
    request_token: input,
    ...(cached === undefined ? {} : { cache_read_input_token: cached }),
    ...(written === undefined ? {} : { cache_write_input_token: written }),
    response_token: output,
  };
}

function text(sizes: Sizes, input: number, cached: number | undefined, output: number): ModelRow {
  return { ...sizes, prices: prices(input, cached, output) };
}

/** A model whose long prompts have prices of their own. */
function wide(short: TokenPrices, long: TokenPrices): ModelRow {
  return { ...WIDE, prices: short, longPrompts: { aboveTokens: LONG_PROMPT_TOKENS, prices: long } };
}

function audio(input: number, output: number, audioInput: number, audioOutput: number): ModelRow {
  const spoken = { request_audio_token: audioInput, response_audio_token: audioOutput };
  return { ...CHAT, prices: { ...prices(input, undefined, output), ...spoken } };
}

function embedding(input: number): ModelRow {
  return { ...EMBEDDING, prices: { request_token: input } };
}

const ROWS: Readonly<Record<string, ModelRow>> = {
  'gpt-6-astra': wide(prices(10, 1, 50, 12.5), prices(20, 2, 75, 25)),
  'gpt-6.1-sol': wide(prices(2, 0.1, 10, 2.5), prices(4, 0.2, 15, 5)),
  'gpt-6-sol': wide(prices(2, 0.2, 10, 2.5), prices(4, 0.4, 15, 5)),
  'gpt-6-luna': wide(prices(0.1, 0.01, 0.5, 0.125), prices(0.2, 0.02, 0.75, 0.25)),
  // Lowered by a promotion that was announced to last until 2026-11-21 at least.
  'gpt-5.6-sol': wide(prices(4, 0.4, 20, 5), prices(8, 0.8, 30, 10)),
  'gpt-5.6-terra': wide(prices(2, 0.2, 12, 2.5), prices(4, 0.4, 18, 5)),
  'gpt-5.6-luna': wide(prices(0.2, 0.02, 1.2, 0.25), prices(0.4, 0.04, 1.8, 0.5)),
  'gpt-5.5': wide(prices(5, 0.5, 30), prices(10, 1, 45)),
  'gpt-5.5-pro': wide(prices(30, undefined, 180), prices(60, undefined, 270)),
  'gpt-5.4': wide(prices(2.5, 0.25, 15), prices(5, 0.5, 22.5)),
  'gpt-5.4-pro': wide(prices(30, undefined, 180), prices(60, undefined, 270)),
  'gpt-5.4-mini': text(REASONING, 0.75, 0.075, 4.5),
  'gpt-5.4-nano': text(REASONING, 0.2, 0.02, 1.25),
  'gpt-5.3-codex': text(REASONING, 1.75, 0.175, 14),
  'gpt-5.3-chat': text(CHAT, 1.75, 0.175, 14),
  'gpt-5.2': text(REASONING, 1.75, 0.175, 14),
  'gpt-5.2-codex': text(REASONING, 1.75, 0.175, 14),
  'gpt-5.2-chat': text(CHAT, 1.75, 0.175, 14),
  'gpt-5.2-pro': text(REASONING, 21, undefined, 168),
  'gpt-5.1': text(REASONING, 1.25, 0.125, 10),
  'gpt-5.1-codex': text(REASONING, 1.25, 0.125, 10),
  'gpt-5.1-codex-max': text(REASONING, 1.25, 0.125, 10),
  'gpt-5.1-codex-mini': text(REASONING, 0.25, 0.025, 2),
  'gpt-5.1-chat': text(CHAT, 1.25, 0.125, 10),
  'gpt-5': text(REASONING, 1.25, 0.125, 10),
  'gpt-5-codex': text(REASONING, 1.25, 0.125, 10),
  'gpt-5-chat': text(CHAT, 1.25, 0.125, 10),
  'gpt-5-mini': text(REASONING, 0.25, 0.025, 2),
  'gpt-5-nano': text(REASONING, 0.05, 0.005, 0.4),
  'gpt-5-pro': text({ contextTokens: 400_000, maxOutputTokens: 272_000 }, 15, undefined, 120),
  'gpt-4.1': text(LONG_CHAT, 2, 0.5, 8),
  'gpt-4.1-mini': text(LONG_CHAT, 0.4, 0.1, 1.6),
  'gpt-4.1-nano': text(LONG_CHAT, 0.1, 0.025, 0.4),
  'gpt-4o': text(CHAT, 2.5, 1.25, 10),
  'gpt-4o-2024-05-13': text(TURBO, 5, undefined, 15),
  'gpt-4o-mini': text(CHAT, 0.15, 0.075, 0.6),
  'gpt-4o-audio-preview': audio(2.5, 10, 40, 80),
  'gpt-4o-mini-audio-preview': audio(0.15, 0.6, 10, 20),
  'gpt-audio': audio(2.5, 10, 32, 64),
  'gpt-audio-mini': audio(0.6, 2.4, 10, 20),
  o1: text(THINKING, 15, 7.5, 60),
  'o1-preview': text({ contextTokens: 128_000, maxOutputTokens: 32_768 }, 15, 7.5, 60),
  'o1-mini': text({ contextTokens: 128_000, maxOutputTokens: 65_536 }, 1.1, 0.55, 4.4),
  'o1-pro': text(THINKING, 150, undefined, 600),
  o3: text(THINKING, 2, 0.5, 8),
  'o3-mini': text(THINKING, 1.1, 0.55, 4.4),
  'o3-pro': text(THINKING, 20, undefined, 80),
  'o4-mini': text(THINKING, 1.1, 0.275, 4.4),
  'gpt-4-turbo': text(TURBO, 10, undefined, 30),
  'gpt-4': text({ contextTokens: 8_192, maxOutputTokens: 8_192 }, 30, undefined, 60),
  'gpt-4-32k': text({ contextTokens: 32_768, maxOutputTokens: 32_768 }, 60, undefined, 120),
  'gpt-3.5-turbo': text(SMALL, 0.5, undefined, 1.5),
  'gpt-3.5-turbo-1106': text(SMALL, 1, undefined, 2),
  'gpt-3.5-turbo-instruct': text({ contextTokens: 4_096, maxOutputTokens: 4_096 }, 1.5, undefined, 2),
  'davinci-002': text({ contextTokens: 16_384, maxOutputTokens: 16_384 }, 2, undefined, 2),
  'babbage-002': text({ contextTokens: 16_384, maxOutputTokens: 16_384 }, 0.4, undefined, 0.4),
  'text-embedding-3-small': embedding(0.02),
  'text-embedding-3-large': embedding(0.13),
  'text-embedding-ada-002': embedding(0.1),
};

export const OPENAI_MODELS: ModelPage = {
  date: '2026-10-13',
  source: 'https://developers.openai.com/api/docs/pricing',
  rows: new Map(Object.entries(ROWS)),
  aliases: new Map([
    ['gpt-5.6', 'gpt-5.6-sol'],
    ['gpt-4-0125-preview', 'gpt-4-turbo'],
    ['gpt-4-1106-preview', 'gpt-4-turbo'],
    ['gpt-4-turbo-preview', 'gpt-4-turbo'],
    ['gpt-3.5-turbo-16k', 'gpt-3.5-turbo'],
  ]),
};
