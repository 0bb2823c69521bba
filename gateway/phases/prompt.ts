/** Made of what: the body of a request that names a stored prompt, or whose config does. */
import { GatewayError } from '../errors.ts';
import { filledBody, notePrompt } from '../prompts/fill-request.ts';
import { PROMPT_CHAT, PROMPT_TEXT } from '../prompts/prompt-endpoints.ts';
import type { ReadyPrompt } from '../prompts/ready-prompt.ts';
import type { RequestContext } from '../request-context.ts';

/** From here on it is a request like any other. Throws `unknown_prompt`, `missing_variable`, `prompt_too_large`, `invalid_value`. */
export function fillPrompt(context: RequestContext): void {
  if (context.promptReference !== undefined) return fillNamed(context, context.promptReference);
  const { prompt } = context.plan;
  if (prompt !== undefined) fillConfigured(context, prompt);
}

function fillNamed(context: RequestContext, reference: string): void {
  const prompt = context.snapshot.prompts.prompt(reference, context.caller.namespace);
  context.endpoint = prompt.isChat ? PROMPT_CHAT : PROMPT_TEXT;
  context.exchange.endpoint = context.endpoint;
  fill(context, prompt, true);
}

/** Endpoints of models that take messages or a prompt, in the dialect that prompts are written in. */
const FORMS: ReadonlyMap<string, { readonly isChat: boolean; readonly other: string }> = new Map([
  ['/v1/chat/completions', { isChat: true, other: '/v1/completions' }],
  ['/v1/completions', { isChat: false, other: '/v1/chat/completions' }],
]);

/** A config's prompt is about every request that it can be; the root of the body wins, and `variables` may be left out. */
function fillConfigured(
  context: RequestContext,
  { reference, namespace }: { reference: string; namespace: string },
): void {
  const form = FORMS.get(context.endpoint.path);
  if (form === undefined) return;
  const prompt = context.snapshot.prompts.prompt(reference, namespace);
  if (prompt.isChat !== form.isChat)
    throw new GatewayError('invalid_value', `The prompt "${prompt.use.name}" of the config is for ${form.other}.`, {
      param: 'prompt_id',
    });
  fill(context, prompt, false);
}

function fill(context: RequestContext, prompt: ReadyPrompt, required: boolean): void {
  const body = filledBody(context, prompt, required);
  context.body = body;
  context.bytes = Buffer.from(JSON.stringify(body));
  context.exchange.requestedModel = typeof body['model'] === 'string' ? body['model'] : undefined;
  notePrompt(context, prompt);
  if (prompt.slug !== undefined) address(context, prompt.slug, prompt);
}

/** A config or a header that says who answers wins over the prompt. */
function address(context: RequestContext, slug: string, prompt: ReadyPrompt): void {
  const { control, exchange, snapshot } = context;
  if (control.provider !== undefined || control.virtualKey !== undefined) return;
  if (exchange.config === undefined) context.plan = snapshot.promptPlan(prompt);
  else context.control = { ...control, virtualKey: slug };
}
