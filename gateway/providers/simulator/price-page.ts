/** Made-up prices, so that costs and budgets can be tried without an account: nobody is billed for them. */
import type { ModelPage } from '../model-page.ts';
import { MAX_OUTPUT_TOKENS } from './answers.ts';

export const SIMULATOR_PAGE: ModelPage = {
  date: '2026-11-21',
  source: 'made up',
  rows: new Map(),
  others: {
    prices: { request_token: 10, cache_read_input_token: 1, response_token: 20 },
    maxOutputTokens: MAX_OUTPUT_TOKENS,
  },
};
