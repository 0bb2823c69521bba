/** The end of an upstream's body, seen by who reads its events. */
import { GatewayError } from '../errors.ts';
import type { EventLines, RawEvent } from './event-lines.ts';

/** A last event without its blank line counts where it is whole; where it is not, the upstream broke off: `upstream_cut`. */
export function endLines(lines: EventLines, onEvent: (event: RawEvent) => void, provider: string): void {
  try {
    lines.end(onEvent);
  } catch (error) {
    throw error instanceof GatewayError && error.code === 'upstream_invalid' ? unfinished(provider) : error;
  }
}

export function unfinished(provider: string): GatewayError {
  return new GatewayError('upstream_cut', `${provider} ended its stream before it had finished.`, { provider });
}
