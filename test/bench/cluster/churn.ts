/** Many changes a second, for long: what the operator makes of them, and what it costs. */
import { setTimeout } from 'node:timers/promises';
import type { ApiClient } from '#crds/api/api-client.ts';
import { inParallel } from '#operator/in-parallel.ts';
import {
  configObject,
  integrationObject,
  keyObject,
  modelOf,
  RESOURCES,
  type WorldObject,
  type WorldSize,
} from './bench-world.ts';
import { untilAllShow } from './callers.ts';
import { type Figure, mebibytes, quantile } from './figures.ts';
import type { LoggedProcess } from './logged-process.ts';
import { publishedGeneration, settled } from './settled.ts';
import { FIELD_MANAGER, type Stage } from './stage.ts';

export interface Load {
  readonly size: WorldSize;
  /** Changes per second. */
  readonly rate: number;
  readonly seconds: number;
}

const MAX_PUBLICATIONS_PER_SECOND = 5;
/** What is neither a leak nor nothing: how much more memory may be in use at the end than in the middle. */
const FLAT = { share: 1.1, bytes: 16 * 1024 * 1024 };
const SAMPLE_MS = 1_000;
const SETTLE_MS = 120_000;
const PATIENCE = { pollMs: 100, timeoutMs: 10_000 };
const ASKED_AT_ONCE = 8;
const ASKED_MOST = 500;

/** Rejects where a change is not accepted, or not served in the end. */
export async function churn(stage: Stage, operator: LoggedProcess, load: Load): Promise<readonly Figure[]> {
  const processes = [operator, ...stage.gateways.map(({ process }) => process)];
  const memory = followMemory(processes);
  const generation = await publishedGeneration(stage.client);
  const startedMs = Date.now();
  const { versions, changes } = await change(stage, load);
  const tookMs = Date.now() - startedMs;
  const publications = (await publishedGeneration(stage.client)) - generation;
  const convergedMs = await settled(stage.client, operator, SETTLE_MS);
  await allServed(stage, versions);
  memory.stop();
  // From the first to the last: with five a second, the sixth is a second after the first.
  const perSecond = ((publications - 1) / tookMs) * 1000;
  return [
    { title: `changes a second, for ${Math.round(tookMs / 1000)} s`, value: (changes / tookMs) * 1000, unit: '/s' },
    {
      title: 'publications a second then',
      value: perSecond,
      unit: '/s',
      goal: {
        text: `<= ${MAX_PUBLICATIONS_PER_SECOND} /s`,
        isMet: perSecond <= MAX_PUBLICATIONS_PER_SECOND && publications > 0,
      },
    },
    { title: 'from the last change until every status says served', value: convergedMs / 1000, unit: 's' },
    ...memory.figures(),
  ];
}

/** The newest version of each config that was changed, by its number. */
type Versions = Map<number, string>;

/** Of ten changes seven are of configs, two of keys and one of an integration, each of an object chosen at random. */
async function change(stage: Stage, { size, rate, seconds }: Load): Promise<{ versions: Versions; changes: number }> {
  const versions: Versions = new Map();
  const total = rate * seconds;
  const startedMs = performance.now();
  const running = new Set<Promise<unknown>>();
  for (let count = 0; count < total; count++) {
    const waitMs = startedMs + (count * 1000) / rate - performance.now();
    if (waitMs > 0) await setTimeout(waitMs);
    // One object is never changed twice at once: which of the two came last would be unknown.
    if (running.size >= rate) await Promise.all(running);
    const done = edit(stage.client, changeOf(count, size, versions)).finally(() => running.delete(done));
    running.add(done);
  }
  await Promise.all(running);
  return { versions, changes: total };
}

/** As an editor does, which costs the API server less than a server-side apply: it is not what is measured here. */
async function edit(client: ApiClient, { resource, object }: WorldObject): Promise<void> {
  const { spec } = object as { spec?: unknown };
  await client.patchMerge(resource, object.metadata, { spec }, { fieldManager: FIELD_MANAGER });
}

function changeOf(count: number, size: WorldSize, versions: Versions): WorldObject {
  const version = `churn-${count}`;
  const place = count % 10;
  // Every object gets its turn before one gets a second.
  const turn = Math.floor(count / 10);
  if (place === 0) {
    return { resource: RESOURCES.Integration, object: integrationObject(turn % size.integrations, version) };
  }
  if (place <= 2) {
    return { resource: RESOURCES.ApiKey, object: keyObject((turn * 2 + place) % (size.keys - 50), version) };
  }
  const index = (turn * 7 + place) % size.configs;
  versions.set(index, version);
  return { resource: RESOURCES.GatewayConfig, object: configObject(index, version) };
}

/** By real requests; of very many configs, those that were changed last. */
async function allServed(stage: Stage, versions: Versions): Promise<void> {
  const last = [...versions].slice(-ASKED_MOST);
  await inParallel(last, ASKED_AT_ONCE, ([index, version]) =>
    untilAllShow(stage.gateways, index, ({ model }) => model === modelOf(version), PATIENCE),
  );
}

function followMemory(processes: readonly LoggedProcess[]) {
  const samples = new Map(processes.map((process) => [process, [] as number[]]));
  const timer = setInterval(() => {
    for (const [process, values] of samples) values.push(process.resident);
  }, SAMPLE_MS);
  return {
    stop: () => clearInterval(timer),
    figures: () => [...samples].flatMap(([{ name }, values]) => memoryFigures(name, values)),
  };
}

/** Medians of a tenth of the time each, because a collection of garbage comes when it comes. */
function memoryFigures(name: string, values: readonly number[]): readonly Figure[] {
  const length = Math.max(1, Math.ceil(values.length / 10));
  const middleAt = Math.floor((values.length - length) / 2);
  const [begin = 0, middle = 0, end = 0] = [0, middleAt, values.length - length].map((from) =>
    quantile(values.slice(from, from + length), 0.5),
  );
  const isMet = end <= Math.max(middle * FLAT.share, middle + FLAT.bytes);
  return [
    mebibytes(`memory of ${name} then, at the beginning`, begin),
    mebibytes(`memory of ${name} then, in the middle`, middle),
    { ...mebibytes(`memory of ${name} then, at the end`, end), goal: { text: 'flat since the middle', isMet } },
  ];
}
