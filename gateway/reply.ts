/** The answer of one attempt: what `route` decides on, and what the caller gets if it is the last one. */
import type { IncomingHttpHeaders } from 'node:http';
import type { SharedStream } from './cache/shared-stream.ts';
import type { GatewayError } from './errors.ts';
import type { Attempt } from './exchange.ts';
import type { Upstream } from './plan/plan.ts';
import type { Reply } from './route/reply.ts';
import type { StreamAnswer } from './stream/stream-answer.ts';

export interface GatewayReply extends Reply {
  readonly attempt: Attempt | undefined;
  readonly upstream: Upstream | undefined;
  readonly budgetKey: string | undefined;
  readonly upstreamHeaders: IncomingHttpHeaders | undefined;
  /** The upstream answered in full, though its answer does not go on: it will ask to be paid. */
  readonly isAnswered?: boolean;
  /** What the caller is told; undefined for a 2xx. */
  readonly error: GatewayError | undefined;
  /** Status for the caller. */
  readonly answerStatus: number;
  /** A whole body for the caller. */
  readonly body: Buffer | string | undefined;
  /** It was kept, or is somebody else's: no upstream was asked for it. */
  readonly isRecalled?: true;
  /** A part in a stream that runs for another caller. */
  readonly shared?: SharedStream;
  /** A running stream for the caller. */
  readonly stream: StreamAnswer | undefined;
}
