/** `{variables, ...}` -> the request that a prompt makes of it. */
import { GatewayError } from '../errors.ts';
import type { Json } from '../providers/provider.ts';
import type { RequestContext } from '../request-context.ts';
import type { ReadyPrompt } from './ready-prompt.ts';

const VARIABLES = 'variables';
const NONE: Json = {};
/** Metadata of a request that was made of a prompt. */
const NAME = '_prompt';
const VERSION = '_prompt_version';

/** The body that comes of it. `required`: the request must say `variables`. Throws `missing_field`, `invalid_value` and as `ReadyPrompt.fill`. */
export function filledBody({ body }: RequestContext, prompt: ReadyPrompt, required: boolean): Json {
  const { [VARIABLES]: given, ...root } = body;
  if (given === undefined && required)
    throw new GatewayError('missing_field', 'variables is required: an object, {} where there are none.', {
      param: VARIABLES,
    });
  if (given !== undefined && (typeof given !== 'object' || given === null || Array.isArray(given)))
    throw new GatewayError('invalid_value', 'variables must be an object.', { param: VARIABLES });
  return prompt.fill((given ?? NONE) as Json, root);
}

/** Says in the exchange what the request was made of. */
export function notePrompt({ exchange }: RequestContext, { use }: ReadyPrompt): void {
  exchange.prompt = use;
  exchange.metadata = { ...exchange.metadata, [NAME]: use.name, [VERSION]: String(use.version) };
}
