/** Feedback on a request: what a caller or a guardrail thinks of it. It is told to logs, metrics and spans, and kept nowhere else. */
import type { Exchange } from '../exchange.ts';
import type { GatewayState } from '../gateway-state.ts';
import type { Json } from '../providers/provider.ts';

export interface FeedbackWord {
  readonly source: 'caller' | 'hook';
  readonly id?: string;
  /** Replaces an earlier word of this id. */
  readonly isUpdate?: boolean;
  /** Of the request that it is about; undefined: only the id says which. */
  readonly traceId: string | undefined;
  readonly value: number;
  readonly weight: number;
  readonly metadata: Json;
  /** The guardrail that gave it. */
  readonly hook?: string;
}

const MAX_METADATA_CHARS = 4_096;

/** `exchange`: the one whose span tells of it. */
export function recordFeedback(gateway: GatewayState, exchange: Exchange, word: FeedbackWord): void {
  const { source, id, isUpdate, traceId, value, weight, metadata, hook } = word;
  const shown = JSON.stringify(metadata);
  gateway.log.event('info', 'feedback', {
    type: 'feedback',
    source,
    feedback_id: id,
    update: isUpdate || undefined,
    trace_id: traceId,
    value,
    weight,
    metadata: shown === '{}' ? undefined : shown.slice(0, MAX_METADATA_CHARS),
    hook,
    caller: exchange.caller?.name,
    namespace: exchange.caller?.namespace,
  });
  gateway.metrics.feedback(source, value);
  const note = { source, value, weight, ...(hook === undefined ? {} : { hook }) };
  exchange.inspected = { ...exchange.inspected, feedback: [...(exchange.inspected?.feedback ?? []), note] };
}
