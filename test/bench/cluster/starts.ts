/** How long a process takes from its start until it is of use, and what memory it has then. */
import { setTimeout } from 'node:timers/promises';
import { configObject, modelOf, RESOURCES } from './bench-world.ts';
import { untilAllShow } from './callers.ts';
import { below, type Figure, mebibytes, quantile } from './figures.ts';
import type { LoggedProcess } from './logged-process.ts';
import { settled } from './settled.ts';
import { FIELD_MANAGER, type Stage } from './stage.ts';

export interface Started {
  readonly operator: LoggedProcess;
  readonly figures: readonly Figure[];
}

const START_MS = 600_000;
/** Seldom: whoever asks takes from the operator what it starts with. */
const PATIENCE = { pollMs: 100, timeoutMs: START_MS };
const RESTARTS = 3;
const GOAL_MS = 5_000;
const REST_MS = 5_000;
/** The config that is edited while no operator runs. */
const EDITED = 1;

/** Of an operator to which everything is new: it makes every key, and writes every status. */
export async function firstStart(stage: Stage): Promise<Started> {
  const operator = stage.startOperator();
  await operator.said('snapshot published', START_MS);
  await settled(stage.client, operator, START_MS);
  const lines = operator.lines();
  const published = lines.find(({ msg }) => msg === 'snapshot published');
  return {
    operator,
    figures: [
      seconds('first start, until the first publication', (published?.atMs ?? Number.NaN) - operator.startedMs),
      seconds('first start, until every key is made and every status says served', Date.now() - operator.startedMs),
      mebibytes('first start, most memory of the operator', operator.peakResident),
    ],
  };
}

interface Restart {
  readonly readyMs: number;
  readonly publishedMs: number;
  readonly servedMs: number;
  readonly peak: number;
  readonly resident: number;
}

/** Of an operator that finds everything as another left it, but for an edit that nobody took in yet. */
export async function restarts(stage: Stage, before: LoggedProcess): Promise<Started> {
  const rounds: Restart[] = [];
  let operator = before;
  for (let round = 1; round <= RESTARTS; round++) {
    await operator.end();
    operator = stage.startOperator();
    rounds.push(await restart(stage, operator, `restart-${round}`));
  }
  const median = (of: (round: Restart) => number) => quantile(rounds.map(of), 0.5);
  const published = median(({ publishedMs }) => publishedMs);
  const title = `restart, median of ${RESTARTS}`;
  return {
    operator,
    figures: [
      seconds(
        `${title}, until everything is read and compiled`,
        median(({ readyMs }) => readyMs),
      ),
      {
        ...seconds(`${title}, until it leads and has published`, published),
        goal: below(published / 1000, GOAL_MS / 1000, 's'),
      },
      seconds(
        `${title}, until an edit made meanwhile is served on all`,
        median(({ servedMs }) => servedMs),
      ),
      mebibytes(
        `${title}, most memory of the operator`,
        median(({ peak }) => peak),
      ),
      mebibytes(
        `${title}, memory of the operator 5 s later`,
        median(({ resident }) => resident),
      ),
    ],
  };
}

async function restart(stage: Stage, operator: LoggedProcess, version: string): Promise<Restart> {
  const { startedMs } = operator;
  await stage.client.apply(RESOURCES.GatewayConfig, configObject(EDITED, version), { fieldManager: FIELD_MANAGER });
  await untilAllShow(stage.gateways, EDITED, ({ model }) => model === modelOf(version), PATIENCE);
  const servedMs = Date.now() - startedMs;
  const ready = await operator.said('ready', START_MS);
  const published = await operator.said('snapshot published', START_MS);
  await setTimeout(REST_MS);
  await settled(stage.client, operator, START_MS);
  return {
    readyMs: ready.atMs - startedMs,
    publishedMs: published.atMs - startedMs,
    servedMs,
    peak: operator.peakResident,
    resident: operator.resident,
  };
}

/** Of a gateway with an empty state directory, then of one that finds what the first had kept. */
export async function gatewayStarts(stage: Stage): Promise<readonly Figure[]> {
  const figures: Figure[] = [];
  for (const title of ['gateway, first start', 'gateway, restart from its last good snapshot']) {
    const { process } = await stage.startGateway('gateway-late');
    const loaded = await process.said('snapshot loaded', START_MS);
    await setTimeout(REST_MS);
    figures.push(seconds(`${title}, until it is ready`, loaded.atMs - process.startedMs));
    figures.push(mebibytes(`${title}, memory 5 s later`, process.resident));
    await process.end();
  }
  return figures;
}

function seconds(title: string, ms: number): Figure {
  return { title, value: ms / 1000, unit: 's' };
}
