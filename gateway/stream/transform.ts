/** What happens to a stream between upstream and caller. One instance per stream. */
import type { Usage } from '../providers/provider.ts';

export interface StreamTransform {
  /**
   * Bytes of the upstream -> bytes for the caller, whole events only; undefined while nothing is complete.
   * Throws a GatewayError when the upstream breaks its protocol or reports an error.
   */
  push(chunk: Buffer): Buffer | string | undefined;
  /** Called before `end`, where there is something to wait for then. Never rejected. */
  closing?(): Promise<void> | undefined;
  /** The clean end of the upstream's body -> last bytes for the caller. Throws `upstream_cut` when it was not finished. */
  end(): Buffer | string | undefined;
  /** What whole events gave before `push` or `end` threw. */
  taken(): Buffer | string | undefined;
  /** Whether anything was said yet: comments alone are nothing. */
  readonly begun: boolean;
  /** The upstream's own end marker was seen: nothing that follows is of the stream. */
  readonly finished: boolean;
  /** Events so far that held a part of the answer. */
  readonly contentEvents: number;
  readonly usage: Usage | undefined;
  readonly model: string | undefined;
}
