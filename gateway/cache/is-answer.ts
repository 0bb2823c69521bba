/** Whether a body is what its endpoint answers: some servers send their failures with a 200. */
import { isJson } from '../dialects/json-shape.ts';

/** The field that holds what was asked for, by the endpoint's word. */
const HELD_BY: ReadonlyMap<string, string> = new Map([
  ['chatComplete', 'choices'],
  ['complete', 'choices'],
  ['messages', 'content'],
  ['embed', 'data'],
  ['rerank', 'results'],
]);

/** `body`: JSON text of a 2xx. */
export function isAnswer(endpointType: string, body: Buffer): boolean {
  const field = HELD_BY.get(endpointType);
  const answer = parsed(body);
  if (field === undefined || !isJson(answer)) return false;
  return Array.isArray(answer[field]) && (answer['error'] ?? null) === null;
}

function parsed(body: Buffer): unknown {
  try {
    return JSON.parse(body.toString('utf8'));
  } catch {
    return undefined;
  }
}
