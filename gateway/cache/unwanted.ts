import type { RequestContext } from '../request-context.ts';

/** The caller left, and nobody else waits for what it asked. */
export function isUnwanted({ gone, cacheTurn }: RequestContext): boolean {
  return gone && cacheTurn?.goesOn() !== true;
}
