/** Who is measured, and how a request reaches it. */

/** What the upstream does: one whole answer; 50 events at once; 50 events 50 ms apart; one event and then silence. */
export type Workload = 'unary' | 'burst' | 'paced' | 'held';

export const WORKLOADS: readonly Workload[] = ['unary', 'burst', 'paced', 'held'];

export const PATH = '/v1/chat/completions';

export interface Contestant {
  readonly name: string;
  /** Where requests of this workload go, e.g. `http://127.0.0.1:8787`. */
  origin(workload: Workload): string;
  headers(workload: Workload): Readonly<Record<string, string>>;
  /** Process that does the work; undefined: none between client and upstream. */
  readonly pid: number | undefined;
  stop(): Promise<void>;
}

export interface UpstreamOrigins {
  origin(workload: Workload): string;
}

/** The limit: the load generator talks to the upstream itself. */
export function direct(upstream: UpstreamOrigins): Contestant {
  return {
    name: 'direct',
    origin: (workload) => upstream.origin(workload),
    headers: () => ({}),
    pid: undefined,
    stop: () => Promise.resolve(),
  };
}
