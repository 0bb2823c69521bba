/**
 * `npm run bench -- [--only unary,burst] [--rounds 5] [--seconds 5]`: the gateway beside nginx (the yardstick) and no proxy (the
 * limit), interleaved in one run, on one core each; prints one Markdown table. `npm run bench -- cluster` measures the way from
 * a manifest to the gateways instead: see `cluster/cluster-bench.ts`; `npm run bench -- cache` the cache alone, `-- checks` the checks. Exit status 1
 * where a goal is missed.
 */
import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { cpus, release, tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { type Contestant, direct, type Workload } from './contestant.ts';
import { startGatewayContestant } from './gateway-contestant.ts';
import { HAS_WRK, type Machinery } from './load-client.ts';
import { startNginxProxy, startNginxUpstream } from './nginx.ts';
import { has, startPinned } from './process.ts';
import { startBenchRedis } from './redis.ts';
import { type ContestantName, SCENARIOS, type Scenario } from './scenarios.ts';
import { table } from './table.ts';

const PROXY_CORE = 0;
const UPSTREAM_CORE = 1;
/** With two cores the load generator shares one with the upstream: never with what is measured. */
const LOAD_CORE = cpus().length > 2 ? 2 : UPSTREAM_CORE;
const WARM_UP_SECONDS = 2;
const WARM_UP_TURNS = 30;

interface Stage {
  readonly contestants: ReadonlyMap<string, Contestant>;
  stop(): Promise<void>;
}

async function startUpstreams(directory: string) {
  const quick = await startNginxUpstream(UPSTREAM_CORE, join(directory, 'upstream'));
  const program = fileURLToPath(new URL('paced-upstream.ts', import.meta.url));
  const slow = startPinned(UPSTREAM_CORE, process.execPath, [program]);
  const ports = JSON.parse(await slow.firstLine);
  const origins: Readonly<Record<Workload, string>> = {
    ...quick.origins,
    paced: `http://127.0.0.1:${ports.paced}`,
    held: `http://127.0.0.1:${ports.held}`,
  };
  const stop = async () => {
    await Promise.all([quick.stop(), slow.stop()]);
  };
  return { origin: (workload: Workload) => origins[workload], stop };
}

async function startStage(directory: string, names: ReadonlySet<ContestantName>): Promise<Stage> {
  const upstream = await startUpstreams(directory);
  const stops: (() => Promise<void>)[] = [];
  const small = { configs: 1, keys: 1 };
  const large = { configs: 2_000, keys: 10_000 };
  const start: Readonly<Record<ContestantName, () => Contestant | Promise<Contestant>>> = {
    direct: () => direct(upstream),
    nginx: () => startNginxProxy(PROXY_CORE, join(directory, 'proxy'), upstream),
    gateway: () => startGatewayContestant('gateway', PROXY_CORE, directory, upstream, small),
    'gateway-limits': () =>
      startGatewayContestant('gateway-limits', PROXY_CORE, directory, upstream, { ...small, policies: 10 }),
    'gateway-cache': () =>
      startGatewayContestant('gateway-cache', PROXY_CORE, directory, upstream, { ...small, cache: true }),
    'gateway-store': async () => {
      const store = await startBenchRedis(UPSTREAM_CORE);
      stops.push(store.stop);
      const size = { ...small, policies: 10, store: store.url };
      return startGatewayContestant('gateway-store', PROXY_CORE, directory, upstream, size);
    },
    'gateway-large': () => startGatewayContestant('gateway-large', PROXY_CORE, directory, upstream, large),
  };
  const contestants = new Map<string, Contestant>();
  for (const name of names) contestants.set(name, await start[name]());
  const stop = async () => {
    await Promise.all([...contestants.values()].map((contestant) => contestant.stop()));
    await Promise.all(stops.map((stop) => stop()));
    await upstream.stop();
  };
  return { contestants, stop };
}

/** Lets compilers, pools and page caches settle: by work, because a busy machine needs longer for it. Nobody counts it. */
async function warmUp(scenario: Scenario, contestant: Contestant, machinery: Machinery): Promise<void> {
  let done = 0;
  for (let turn = 0; turn < WARM_UP_TURNS && (turn === 0 || done < scenario.warmUpRequests); turn++) {
    const [perSecond = 0] = await scenario.run(contestant, machinery, WARM_UP_SECONDS);
    done += perSecond * WARM_UP_SECONDS;
  }
}

async function runScenario(scenario: Scenario, stage: Stage, directory: string, rounds: number, seconds: number) {
  const machinery = { core: LOAD_CORE, directory };
  const results = new Map(scenario.contestants.map((name) => [name, [] as (readonly (number | undefined)[])[]]));
  for (const name of results.keys()) await warmUp(scenario, contestantOf(stage, name), machinery);
  for (let round = 1; round <= rounds; round++) {
    for (const [name, values] of results) {
      const figures = await scenario.run(contestantOf(stage, name), machinery, seconds);
      process.stderr.write(`${scenario.id} round ${round} ${name}: ${figures.join(' ')}\n`);
      values.push(figures);
    }
  }
  return { scenario, rounds: results };
}

function contestantOf(stage: Stage, name: ContestantName): Contestant {
  const contestant = stage.contestants.get(name);
  if (contestant === undefined) throw new Error(`${name} was not started`);
  return contestant;
}

function versionOf(command: string, flag: string): string {
  // nginx writes its version to standard error.
  const output = execFileSync('sh', ['-c', `${command} ${flag} 2>&1 || true`], { encoding: 'utf8' });
  return /\d+\.\d+[.\d]*/.exec(output)?.[0] ?? 'unknown';
}

function circumstances(rounds: number, seconds: number): string {
  const [cpu] = cpus();
  const machine = `${cpu?.model.trim()} x ${cpus().length}, Linux ${release()}`;
  const load = HAS_WRK ? `wrk ${versionOf('wrk', '-v')}` : 'own load generator';
  const date = new Date().toISOString().slice(0, 10);
  return `${date}; ${machine}; Node ${process.versions.node}, nginx ${versionOf('nginx', '-v')}, ${load}; medians of ${rounds} rounds of ${seconds} s; proxies on one core, nginx with one worker and no access log, the gateway with its log of a line per request, to /dev/null.`;
}

function readFlags() {
  const { values } = parseArgs({
    options: { only: { type: 'string' }, rounds: { type: 'string' }, seconds: { type: 'string' } },
  });
  const only = values.only?.split(',') ?? SCENARIOS.map(({ id }) => id);
  const unknown = only.filter((id) => !SCENARIOS.some((scenario) => scenario.id === id));
  const known = SCENARIOS.map(({ id }) => id).join(', ');
  if (unknown.length > 0) throw new Error(`--only ${unknown.join(',')}: the scenarios are ${known}`);
  const scenarios = SCENARIOS.filter(({ id }) => only.includes(id));
  return { scenarios, rounds: Number(values.rounds ?? 5), seconds: Number(values.seconds ?? 5) };
}

async function runGatewayBench(): Promise<boolean> {
  const { scenarios, rounds, seconds } = readFlags();
  const missing = ['nginx', 'taskset'].filter((command) => !has(command));
  if (missing.length > 0) throw new Error(`The bench needs ${missing.join(' and ')}: install it first.`);
  if (cpus().length < 2) throw new Error('The bench needs two cores: one for the proxy, one for all the rest.');
  const directory = mkdtempSync(join(tmpdir(), 'model-gateway-bench-'));
  const stage = await startStage(directory, new Set(scenarios.flatMap(({ contestants }) => contestants)));
  try {
    const results = [];
    for (const scenario of scenarios) results.push(await runScenario(scenario, stage, directory, rounds, seconds));
    const text = table(results);
    console.log(`${text}\n\n${circumstances(rounds, seconds)}`);
    return !text.includes('**missed**');
  } finally {
    await stage.stop();
    rmSync(directory, { recursive: true, force: true });
  }
}

const [which, ...rest] = process.argv.slice(2);
const BENCHES: Readonly<Record<string, () => Promise<boolean>>> = {
  cluster: async () => (await import('./cluster/cluster-bench.ts')).runClusterBench(rest),
  cache: async () => (await import('./cache/cache-bench.ts')).runCacheBench(),
  checks: async () => (await import('./checks/checks-bench.ts')).runChecksBench(),
};
const isMet = await (BENCHES[which ?? ''] ?? runGatewayBench)();
process.exitCode = isMet ? 0 : 1;
