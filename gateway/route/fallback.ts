import type { Reply } from './reply.ts';

/** Without `on_status_codes`, besides any 5xx: another target may do better. Any other 4xx is the request's own fault. */
const DEFAULT_FALLBACK_CODES: ReadonlySet<number> = new Set([401, 403, 404, 408, 409, 425, 429]);

/** Whether the next target of a fallback is asked after this reply. */
export function movesOn(reply: Reply, codes: ReadonlySet<number> | undefined): boolean {
  if (reply.final || reply.streaming === true) return false;
  if (codes !== undefined) return codes.has(reply.status);
  if (reply.status >= 500 || DEFAULT_FALLBACK_CODES.has(reply.status)) return true;
  return reply.status === 400 && reply.contextTooSmall;
}
