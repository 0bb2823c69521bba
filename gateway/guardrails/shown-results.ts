/** Puts `hook_results` into an answer that is ready to go. Nothing is parsed for it. */
import type { EndpointRow } from '../endpoints.ts';
import type { HookResults } from './hook-results.ts';

const CLOSE = 125;
const OPEN = 123;
const SPACES: ReadonlySet<number | undefined> = new Set([32, 9, 10, 13]);

/** Into a whole JSON object, as its last field. */
export function withResults(body: Buffer | string, hookResults: HookResults): string {
  const bytes = typeof body === 'string' ? Buffer.from(body) : body;
  const close = bytes.lastIndexOf(CLOSE);
  let last = close - 1;
  while (SPACES.has(bytes[last])) last -= 1;
  const comma = bytes[last] === OPEN ? '' : ',';
  return `${bytes.toString('utf8', 0, close)}${comma}"hook_results":${JSON.stringify(hookResults)}}`;
}

/** What stands in the events of a stream besides. */
export interface StreamIdentity {
  readonly id: string;
  readonly model: string | undefined;
}

/** Into the events of a finished stream: an event of their own, before the end marker. */
export function withResultsEvent(
  events: Buffer | string,
  hookResults: HookResults,
  endpoint: EndpointRow,
  identity: StreamIdentity,
): Buffer {
  const bytes = typeof events === 'string' ? Buffer.from(events) : events;
  const marker = endpoint.dialect === 'anthropic' ? 'event: message_stop' : 'data: [DONE]';
  const at = bytes.lastIndexOf(marker);
  const before = at === -1 ? bytes.length : at;
  const event = Buffer.from(resultsEvent(hookResults, endpoint, identity));
  return Buffer.concat([bytes.subarray(0, before), event, bytes.subarray(before)]);
}

function resultsEvent(hookResults: HookResults, { dialect, operation }: EndpointRow, identity: StreamIdentity): string {
  if (dialect === 'anthropic')
    return `event: hook_results\ndata: ${JSON.stringify({ type: 'hook_results', hook_results: hookResults })}\n\n`;
  const { id, model = '' } = identity;
  const object = operation === 'chat' ? 'chat.completion.chunk' : 'text_completion';
  const created = Math.floor(Date.now() / 1000);
  return `data: ${JSON.stringify({ id, object, created, model, choices: [], hook_results: hookResults })}\n\n`;
}
