/** Real gateways on one real Redis, each of which may be killed and started again, before one upstream that keeps a record. */
import { encodeSnapshot } from '#crds/snapshot/encode.ts';
import { MemoryWorld } from '../../fakes/memory-world.ts';
import { defaultConfig } from '../../fakes/objects.ts';
import { chat } from '../../fakes/replies.ts';
import { startUpstream, type Upstream } from '../../fakes/upstream.ts';
import { MountedVolume } from '../../gateway/feed/mounted-volume.ts';
import { atEnd } from '../../operator/embedded-process.ts';
import { type GatewayProcess, makePlace, startGatewayProcess } from '../../system/cluster-gateway-process.ts';
import { type RedisServers, startRedis } from '../stores/redis-servers.ts';

/** Of a caller. */
export const keyOf = (caller: string): string => `key-of-${caller}-0123456789`;
/** Names the counts of a test's installation. */
export const PREFIX = 'model-gateway/whole/edge';
/** A machine that is busy with others must not think the store away. */
const STORE_TIMEOUT_MS = 20_000;

export type Line = Readonly<Record<string, unknown>>;

export class Processes {
  readonly redis: RedisServers;
  readonly upstream: Upstream;
  readonly #volume: MountedVolume;
  /** Also those that are dead. */
  readonly all: GatewayProcess[] = [];
  /** By place. */
  readonly alive: GatewayProcess[] = [];

  constructor(redis: RedisServers, upstream: Upstream, manifests: string) {
    this.redis = redis;
    this.upstream = upstream;
    this.#volume = new MountedVolume();
    const target = { provider: 'openai', api_key: 'any', custom_host: `${upstream.origin}/v1` };
    const { snapshot } = new MemoryWorld().compile(defaultConfig('plain', target) + manifests);
    this.#volume.publish(encodeSnapshot(snapshot, 1));
    atEnd(() => this.#volume.remove());
  }

  async start(place: number): Promise<void> {
    const store = [`--store=${this.redis.url}`, `--store-timeout-ms=${STORE_TIMEOUT_MS}`];
    const names = ['--namespace=whole', '--release=edge', `--replica-name=edge-${place}`, '--no-api-watch'];
    const own = { ...makePlace(), volume: this.#volume };
    const gateway = await startGatewayProcess(own, [...store, ...names]);
    this.all.push(gateway);
    this.alive[place] = gateway;
  }

  at(place: number): GatewayProcess {
    const gateway = this.alive[place];
    if (gateway === undefined) throw new Error(`there is no gateway ${place}`);
    return gateway;
  }

  /** As the kernel does it where memory is short. Resolves when another one has taken its place. */
  async replace(place: number): Promise<void> {
    const { child, ended } = this.at(place);
    child.kill('SIGKILL');
    await ended;
    await this.start(place);
  }

  /** What the gateways have told of requests; the last words of those that were killed may be missing. */
  lines(): readonly Line[] {
    return this.all.flatMap((gateway) => linesOf(gateway.out()));
  }

  /** Of an admin page of one that lives. */
  async page(path: string, place: number): Promise<string> {
    return (await fetch(`${this.at(place).line('listening')?.['admin']}${path}`)).text();
  }

  /** Settled, of the only budget there is, as whoever heard of it last says: 1e-12 US dollars. */
  async used(): Promise<bigint> {
    const each = await Promise.all(this.alive.map((_, place) => this.#heardBy(place)));
    return each.reduce((most, one) => (one > most ? one : most), 0n);
  }

  async #heardBy(place: number): Promise<bigint> {
    const page = JSON.parse(await this.page('/usage', place)) as { mode: string; budgets: readonly { used: string }[] };
    if (page.mode !== 'total' || page.budgets.length > 1) throw new Error(JSON.stringify(page));
    return BigInt(page.budgets[0]?.used ?? 0);
  }
}

/** `endAll` ends them. */
export async function startProcesses(count: number, manifests: string): Promise<Processes> {
  const [redis, upstream] = await Promise.all([startRedis(), startUpstream(chat())]);
  atEnd(() => redis.stop());
  atEnd(() => upstream.close());
  const processes = new Processes(redis, upstream, manifests);
  await Promise.all(Array.from({ length: count }, (_, place) => processes.start(place)));
  return processes;
}

function linesOf(text: string): readonly Line[] {
  // The last one of a process that was killed may be cut.
  const whole = text.slice(0, text.lastIndexOf('\n') + 1).split('\n');
  return whole
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as Line)
    .filter(({ msg }) => msg === 'request');
}
