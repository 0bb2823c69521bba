/** What is measured, one row each. A run gives figures; the first contestant in `of` is what the last is compared with. */
import { setTimeout } from 'node:timers/promises';
import type { Contestant, Workload } from './contestant.ts';
import { holdStreams, type Machinery, runClosedLoad, runLoad } from './load-client.ts';
import { requestBody } from './payloads.ts';
import { cpuSeconds, residentBytes } from './process.ts';

export type ContestantName =
  | 'direct'
  | 'nginx'
  | 'gateway'
  | 'gateway-large'
  | 'gateway-limits'
  | 'gateway-cache'
  | 'gateway-store';

export interface Figure {
  readonly title: string;
  readonly digits: number;
  /** How the gateway's figure is set beside the other's. */
  readonly compare: 'ratio' | 'difference' | 'none';
  readonly goal?: { readonly text: string; met(compared: number, own: number): boolean };
}

export interface Scenario {
  readonly id: string;
  /** In the order of the columns. */
  readonly contestants: readonly ContestantName[];
  /** What the last contestant is compared with. */
  readonly against: ContestantName;
  readonly figures: readonly Figure[];
  /** Requests before anything counts; the first figure is then requests per second. 0: one run. */
  readonly warmUpRequests: number;
  /** A value for each figure; `undefined` where there is none, as the CPU of nobody. */
  run(contestant: Contestant, machinery: Machinery, seconds: number): Promise<readonly (number | undefined)[]>;
}

const CONNECTIONS = 64;
const WARM_UP_REQUESTS = 60_000;
const PACED_STREAMS = 1_000;
const OPEN_STREAMS = 5_000;
const RATE = 1_000;
const SETTLE_MS = 1_500;

async function cpuDuring<T>(
  { pid }: Contestant,
  act: () => Promise<T>,
): Promise<{ value: T; cpu: number | undefined }> {
  const before = pid === undefined ? 0 : cpuSeconds(pid);
  const value = await act();
  return { value, cpu: pid === undefined ? undefined : cpuSeconds(pid) - before };
}

/** Requests per second, and microseconds of the proxy's CPU for each: the second hardly minds a busy machine. */
function throughput(workload: Workload, bytes: number): Scenario['run'] {
  const body = requestBody(bytes, workload);
  return async (contestant, machinery, seconds) => {
    const load = { contestant, workload, body, connections: CONNECTIONS, seconds };
    const { value, cpu } = await cpuDuring(contestant, () => runClosedLoad(machinery, load));
    return [value.answered / value.seconds, cpu === undefined ? undefined : (cpu * 1e6) / value.answered];
  };
}

function throughputFigures(what: string, goal: number): readonly Figure[] {
  const met = (compared: number) => compared >= goal;
  return [
    { title: `${what}/s`, digits: 0, compare: 'ratio', goal: { text: `>= ${goal}`, met } },
    { title: `${what}, CPU us each`, digits: 1, compare: 'ratio' },
  ];
}

const ALL = ['direct', 'nginx', 'gateway'] as const;

const latency: Scenario = {
  id: 'latency',
  contestants: ALL,
  against: 'direct',
  warmUpRequests: 0,
  figures: [
    {
      title: `p50 ms at ${RATE} requests/s`,
      digits: 2,
      compare: 'difference',
      goal: { text: '< 0.15 ms added', met: (added) => added < 0.15 },
    },
    {
      title: `p99 ms at ${RATE} requests/s`,
      digits: 2,
      compare: 'difference',
      goal: { text: '< 1 ms added', met: (added) => added < 1 },
    },
  ],
  async run(contestant, machinery, seconds) {
    const load = { contestant, workload: 'unary', body: requestBody(300, 'unary'), connections: 32, seconds } as const;
    const result = await runLoad(machinery, load, 'rate', RATE);
    return [result.p50Ms, result.p99Ms];
  },
};

const paced: Scenario = {
  id: 'paced',
  warmUpRequests: 0,
  contestants: ALL,
  against: 'nginx',
  figures: [
    {
      title: `${PACED_STREAMS} streams of 50 events 50 ms apart, CPU s`,
      digits: 2,
      compare: 'ratio',
      goal: { text: '<= 1.6', met: (ratio) => ratio <= 1.6 },
    },
    { title: 'the same, p99 of a stream in ms', digits: 0, compare: 'ratio' },
  ],
  async run(contestant, machinery, seconds) {
    const body = requestBody(300, 'paced');
    const load = { contestant, workload: 'paced', body, connections: PACED_STREAMS, seconds } as const;
    const { value, cpu } = await cpuDuring(contestant, () => runLoad(machinery, load, 'streams'));
    return [cpu, value.p99Ms];
  },
};

/** Memory of processes before they did anything: what a heap has grown to once, it keeps. */
const restingBytes = new WeakMap<Contestant, number>();

function atFirst(contestant: Contestant, pid: number): number {
  const bytes = restingBytes.get(contestant) ?? residentBytes(pid);
  restingBytes.set(contestant, bytes);
  return bytes;
}

const memory: Scenario = {
  id: 'memory',
  warmUpRequests: 0,
  contestants: ['nginx', 'gateway'],
  against: 'nginx',
  figures: [
    {
      title: `KiB of memory per open stream (${OPEN_STREAMS})`,
      digits: 1,
      compare: 'ratio',
      goal: { text: '<= 64 KiB', met: (_, own) => own <= 64 },
    },
  ],
  async run(contestant, machinery, seconds) {
    const { pid = 0 } = contestant;
    const before = atFirst(contestant, pid);
    const body = requestBody(300, 'held');
    const load = { contestant, workload: 'held', body, connections: OPEN_STREAMS, seconds } as const;
    const held = await holdStreams(machinery, load);
    await setTimeout(SETTLE_MS);
    const grown = residentBytes(pid) - before;
    await held.stop();
    await setTimeout(SETTLE_MS);
    return [grown / OPEN_STREAMS / 1024];
  },
};

export const SCENARIOS: readonly Scenario[] = [
  memory,
  {
    id: 'unary',
    warmUpRequests: WARM_UP_REQUESTS,
    contestants: ALL,
    against: 'nginx',
    figures: throughputFigures('requests of 300 B', 0.42),
    run: throughput('unary', 300),
  },
  {
    id: 'burst',
    warmUpRequests: WARM_UP_REQUESTS,
    contestants: ALL,
    against: 'nginx',
    figures: throughputFigures('streams of 50 events at once', 0.42),
    run: throughput('burst', 300),
  },
  {
    id: 'large',
    warmUpRequests: WARM_UP_REQUESTS,
    contestants: ALL,
    against: 'nginx',
    figures: throughputFigures('requests of 30 KB', 0.3),
    run: throughput('unary', 30_000),
  },
  {
    id: 'scale',
    warmUpRequests: WARM_UP_REQUESTS,
    contestants: ['gateway', 'gateway-large'],
    against: 'gateway',
    figures: throughputFigures('requests, with 2,000 configs and 10,000 keys', 0.95),
    run: throughput('unary', 300),
  },
  {
    id: 'limits',
    warmUpRequests: WARM_UP_REQUESTS,
    contestants: ['gateway', 'gateway-limits'],
    against: 'gateway',
    figures: [
      { title: 'requests with ten policies that match, in memory/s', digits: 0, compare: 'ratio' },
      {
        title: 'the same, CPU us each',
        digits: 1,
        compare: 'difference',
        goal: { text: '<= 3 us added', met: (added) => added <= 3 },
      },
    ],
    run: throughput('unary', 300),
  },
  {
    id: 'cache',
    warmUpRequests: WARM_UP_REQUESTS,
    contestants: ['gateway', 'gateway-cache'],
    against: 'gateway',
    figures: [
      { title: 'requests of 300 B that are cache hits/s', digits: 0, compare: 'ratio' },
      { title: 'the same, CPU us each', digits: 1, compare: 'ratio' },
    ],
    run: throughput('unary', 300),
  },
  {
    id: 'store',
    warmUpRequests: WARM_UP_REQUESTS,
    contestants: ['gateway-limits', 'gateway-store'],
    against: 'gateway-limits',
    figures: throughputFigures('requests with ten policies that match, counted in a Redis on loopback', 0.6),
    run: throughput('unary', 300),
  },
  latency,
  paced,
];
