/** Loops are counted in the standard `CDN-Loop` header (RFC 8586): a target that leads back here is refused at its third turn. */
import type { IncomingHttpHeaders } from 'node:http';
import { GatewayError } from '../errors.ts';

const NAME = 'model-gateway';
const MAX_HOPS = 2;

/** Throws `loop_detected`. */
export function assertNoLoop(headers: IncomingHttpHeaders): void {
  const passed = headers['cdn-loop'];
  if (passed !== undefined && hopsOf(passed) > MAX_HOPS)
    throw new GatewayError('loop_detected', 'This request has passed this gateway before: a target leads back to it.');
}

export function hopHeader(headers: IncomingHttpHeaders): string {
  const passed = headers['cdn-loop'];
  return passed === undefined
    ? NAME
    : Array<string>(hopsOf(passed) + 1)
        .fill(NAME)
        .join(', ');
}

function hopsOf(value: string | string[]): number {
  return String(value)
    .split(',')
    .filter((hop) => hop.trim() === NAME).length;
}
