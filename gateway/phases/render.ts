/** A stored prompt, filled in and handed back. */
import { plainHeaders, sendBody } from '../answer.ts';
import { filledBody, notePrompt } from '../prompts/fill-request.ts';
import type { RequestContext } from '../request-context.ts';

/** Throws as `fillPrompt`. */
export function renderPrompt(context: RequestContext): void {
  const prompt = context.snapshot.prompts.prompt(context.promptReference ?? '', context.caller.namespace);
  notePrompt(context, prompt);
  const data = filledBody(context, prompt, true);
  context.exchange.requestedModel = typeof data['model'] === 'string' ? data['model'] : undefined;
  sendBody(context, 200, plainHeaders(context), JSON.stringify({ success: true, data }));
}
