/** The built-in provider: answers on this machine, without an account. */

import { openAiCompatible } from '../openai/provider.ts';
import type { Provider } from '../provider.ts';
import { longestAnswerTokens } from './answers.ts';
import { behaviourOf } from './models.ts';
import { SIMULATOR_PAGE } from './price-page.ts';

/** Name of the provider whose origin is known only once `startSimulator` has run. */
export const SIMULATOR = 'simulator';

/** Its `baseUrl` is undefined: a plan takes the origin of the running simulator, and the path prefix `/v1`. */
export const simulator: Provider = openAiCompatible({
  name: SIMULATOR,
  baseUrl: undefined,
  needsCredential: false,
  authorize: () => [],
  models: SIMULATOR_PAGE,
  maxOutputTokens: (model) => longestAnswerTokens(behaviourOf(model)),
});
