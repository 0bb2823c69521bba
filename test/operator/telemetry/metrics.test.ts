import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { ApiError } from '#crds/api/api-error.ts';
import type { Transport } from '#crds/api/transport.ts';
import type { Replica } from '#operator/replicas/replica.ts';
import { countedTransport } from '#operator/telemetry/counted-transport.ts';
import { OperatorMetrics } from '#operator/telemetry/metrics.ts';
import { replica } from '../apply/cases.ts';
import { object, pass } from './passes.ts';

let metrics: OperatorMetrics;
let isLeader: boolean;
let replicas: Replica[];
const usage = { alerts: 3, limited: 5, exhausted: 2 };
let counts = { writes: 0, failures: 0, depth: 0, adds: 0, retries: 0 };

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['performance'] });
  metrics = new OperatorMetrics('gateway-operator');
  isLeader = true;
  replicas = [];
  counts = { writes: 0, failures: 0, depth: 0, adds: 0, retries: 0 };
  metrics.follow({
    isLeader: () => isLeader,
    replicas: () => replicas,
    statusCounts: () => counts,
    usageCounts: () => usage,
  });
});
afterEach(() => {
  vi.useRealTimers();
});

/** Samples of a metric: labels as they are written -> value. */
async function samples(name: string): Promise<Record<string, number>> {
  const found: Record<string, number> = {};
  for (const line of (await metrics.text()).split('\n')) {
    const match = /^(\w+)(?:\{(.*)\})? (\S+)$/.exec(line);
    if (match?.[1] === name) found[match[2] ?? ''] = Number(match[3]);
  }
  return found;
}

describe('metrics of controllers', () => {
  it('count passes once each, however often replicas are told of, and how they end', async () => {
    const first = pass([object('a', 'pending')], { tookMs: 30 });
    metrics.pass(first);
    metrics.pass({ ...first, statuses: [object('a', 'served')] });
    metrics.pass(pass([object('a', 'unpublished')]));
    metrics.pass(pass([object('a', 'served')], { writeFailures: ['Secret default/k: no'] }));
    expect(await samples('controller_runtime_reconcile_total')).toEqual({
      'controller="modelgateway",result="success"': 1,
      'controller="modelgateway",result="error"': 2,
    });
    expect(await samples('controller_runtime_reconcile_errors_total')).toEqual({ 'controller="modelgateway"': 2 });
    expect(await samples('controller_runtime_reconcile_time_seconds_count')).toEqual({
      'controller="modelgateway"': 3,
    });
    const sums = await samples('controller_runtime_reconcile_time_seconds_sum');
    expect(sums['controller="modelgateway"']).toBeCloseTo(0.07);
  });

  it('tell the queue of statuses as it is when they are asked for', async () => {
    counts = { writes: 5, failures: 2, depth: 3, adds: 9, retries: 2 };
    await metrics.text();
    counts = { ...counts, writes: 8, depth: 0, adds: 11 };
    expect(await samples('workqueue_depth')).toEqual({ 'name="status"': 0 });
    expect(await samples('workqueue_adds_total')).toEqual({ 'name="status"': 11 });
    expect(await samples('workqueue_retries_total')).toEqual({ 'name="status"': 2 });
    expect(await samples('modelgateway_operator_status_writes_total')).toEqual({
      'result="success"': 8,
      'result="error"': 2,
    });
  });

  it('tell who leads', async () => {
    expect(await samples('leader_election_master_status')).toEqual({ 'name="gateway-operator"': 1 });
    isLeader = false;
    expect(await samples('leader_election_master_status')).toEqual({ 'name="gateway-operator"': 0 });
  });

  it('count requests to the API server by what they came to', async () => {
    const answers: (number | Error)[] = [200, 200, 409, new Error('refused')];
    const transport: Transport = {
      async send() {
        const answer = answers.shift();
        if (typeof answer !== 'number') throw answer;
        return { status: answer, headers: {}, body: (async function* () {})() };
      },
      close: async () => {},
    };
    const counted = countedTransport(transport, (method, code) => metrics.request(method, code));
    await counted.send({ method: 'GET', path: '/a' });
    await counted.send({ method: 'GET', path: '/b' });
    expect((await counted.send({ method: 'PATCH', path: '/c' })).status).toBe(409);
    await expect(counted.send({ method: 'GET', path: '/d' })).rejects.toThrow('refused');
    expect(await samples('rest_client_requests_total')).toEqual({
      'code="200",method="GET"': 2,
      'code="409",method="PATCH"': 1,
      'code="<error>",method="GET"': 1,
    });
  });

  it('tell of the process too, and are answerable before anything is followed', async () => {
    const fresh = new OperatorMetrics('lease');
    expect(await fresh.text()).toContain('process_cpu_seconds_total');
    expect(fresh.contentType).toMatch(/^text\/plain; version=0\.0\.4/);
  });
});

describe('metrics of our own', () => {
  it('tell of budgets, without a word of whose they are', async () => {
    expect(await samples('modelgateway_usage_alerts_total')).toEqual({ '': 3 });
    expect(await samples('modelgateway_operator_budgets')).toEqual({ 'state="exhausted"': 2, 'state="active"': 3 });
  });

  it('count objects by kind, and whether they are accepted', async () => {
    metrics.pass(pass([object('a', 'served'), object('b', 'served'), object('c', 'bad')]));
    const name = 'modelgateway_operator_objects';
    expect(await samples(name)).toEqual({
      'kind="GatewayConfig",accepted="true"': 2,
      'kind="GatewayConfig",accepted="false"': 1,
    });
    metrics.pass(pass([object('a', 'served')]));
    expect(await samples(name)).toEqual({ 'kind="GatewayConfig",accepted="true"': 1 });
  });

  it('count gateways by what they serve', async () => {
    metrics.pass(pass([], { generation: 3 }));
    replicas = [
      replica(0, 3),
      replica(1, 4),
      replica(2, 2),
      replica(3, 2, { generation: 3, reason: 'no' }),
      replica(4, 1, { generation: 2, reason: 'no' }),
      { ...replica(5, 3), reachable: false },
    ];
    expect(await samples('modelgateway_operator_replicas')).toEqual({
      'state="current"': 2,
      'state="behind"': 2,
      'state="refused"': 1,
      'state="silent"': 1,
    });
    replicas = [];
    expect(await samples('modelgateway_operator_replicas')).toMatchObject({
      'state="current"': 0,
      'state="silent"': 0,
    });
  });

  it('count publications and faults, with no label that somebody else chooses', async () => {
    metrics.published();
    metrics.pass(pass([], { generation: 12 }));
    expect(await samples('modelgateway_operator_publications_total')).toEqual({ '': 1 });
    expect(await samples('modelgateway_operator_generation')).toEqual({ '': 12 });
    metrics.fault(new ApiError('GET /x: no', { status: 0, reason: 'NoAnswer' }));
    metrics.fault(new ApiError('GET /x: gone', { status: 410, reason: 'Expired' }));
    metrics.fault(new ApiError('GET /x: no', { status: 500, reason: 'any text "at all"' }));
    metrics.fault(new TypeError('x'));
    expect(await samples('modelgateway_operator_faults_total')).toEqual({
      'reason="NoAnswer"': 1,
      'reason="Expired"': 1,
      'reason="Other"': 1,
      'reason="TypeError"': 1,
    });
  });
});

describe('the time from apply to programmed', () => {
  const count = async () => (await samples('modelgateway_operator_apply_to_programmed_seconds_count'))[''] ?? 0;
  const sum = async () => (await samples('modelgateway_operator_apply_to_programmed_seconds_sum'))[''] ?? 0;

  beforeEach(() => metrics.pass(pass([object('old', 'pending')])));

  it('begins when the pass that saw the object began, and ends when every replica serves it', async () => {
    metrics.pass(pass([object('old', 'pending'), object('a', 'pending')], { tookMs: 100 }));
    vi.advanceTimersByTime(400);
    metrics.pass(pass([object('old', 'pending'), object('a', 'served')], { tookMs: 5 }));
    expect(await count()).toBe(1);
    expect(await sum()).toBeCloseTo(0.5);
  });

  it('is told once of each version of an object', async () => {
    for (const how of ['pending', 'served', 'pending', 'served']) metrics.pass(pass([object('a', how)]));
    expect(await count()).toBe(1);
    metrics.pass(pass([object('a', 'pending', 2)]));
    metrics.pass(pass([object('a', 'served', 2)]));
    expect(await count()).toBe(2);
  });

  it('is not told of what was there when the operator started', async () => {
    metrics.pass(pass([object('old', 'served')]));
    expect(await count()).toBe(0);
  });

  it('is told by the leader alone, of what came since it leads', async () => {
    isLeader = false;
    metrics.pass(pass([object('a', 'pending')]));
    metrics.pass(pass([object('a', 'served'), object('b', 'pending')]));
    isLeader = true;
    metrics.pass(pass([object('a', 'served'), object('b', 'served')]));
    expect(await count()).toBe(0);
    metrics.pass(pass([object('c', 'served')]));
    expect(await count()).toBe(1);
  });
});
