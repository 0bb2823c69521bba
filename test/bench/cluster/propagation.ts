/** From an edit that the API server accepted to its being served by every gateway. */
import { setTimeout } from 'node:timers/promises';
import type { ApiObject } from '#crds/api/api-object.ts';
import { callerObject, configObject, modelOf, RESOURCES } from './bench-world.ts';
import { type Shown, untilAllShow } from './callers.ts';
import { type Figure, spread } from './figures.ts';
import type { LoggedProcess } from './logged-process.ts';
import { FIELD_MANAGER, type Stage } from './stage.ts';

interface Edit {
  readonly kind: keyof typeof RESOURCES;
  readonly object: ApiObject;
  /** By whose answers it is seen: the number of a config. */
  readonly index: number;
  readonly isServed: (shown: Shown) => boolean;
}

const GOAL = { p50: 300, p99: 1_000 };
const PATIENCE = { pollMs: 5, timeoutMs: 30_000 };
/** Apart at random, so that edits meet the operator at any moment of its rounds. */
const PAUSE_MS = { least: 250, most: 650 };
const CONFIG = 2;
/** The namespace whose caller comes and goes. */
const CALLER = 3;

/** Two of three edits change a config, which lies in ConfigMaps; the third disables or enables a key, which lies in Secrets. */
function editOf(round: number): Edit {
  if (round % 3 === 2) {
    const disabled = round % 2 === 0;
    const isServed = ({ status }: Shown) => status === (disabled ? 401 : 200);
    return { kind: 'ApiKey', object: callerObject(CALLER, { disabled }), index: CALLER, isServed };
  }
  const version = `edit-${round}`;
  const isServed = ({ model }: Shown) => model === modelOf(version);
  return { kind: 'GatewayConfig', object: configObject(CONFIG, version), index: CONFIG, isServed };
}

/** `operator`: whose rounds are told of as well. */
export async function propagation(stage: Stage, operator: LoggedProcess, edits: number): Promise<readonly Figure[]> {
  const times = { config: [] as number[], key: [] as number[] };
  const before = operator.lines().length;
  for (let round = 0; round < edits; round++) {
    const { kind, object, index, isServed } = editOf(round);
    await stage.client.apply(RESOURCES[kind], object, { fieldManager: FIELD_MANAGER });
    const acceptedMs = performance.now();
    await untilAllShow(stage.gateways, index, isServed, PATIENCE);
    times[kind === 'ApiKey' ? 'key' : 'config'].push(performance.now() - acceptedMs);
    await setTimeout(PAUSE_MS.least + (PAUSE_MS.most - PAUSE_MS.least) * Math.random());
  }
  await enableCaller(stage);
  const passes = operator
    .lines()
    .slice(before)
    .filter(({ msg }) => msg === 'snapshot published')
    .map(({ duration_ms }) => Number(duration_ms));
  return [
    ...spread('an edit, from accepted to served on all', [...times.config, ...times.key], GOAL),
    ...spread('of these, an edit of a config', times.config),
    ...spread('of these, a key disabled or enabled', times.key),
    ...spread('of these, the pass of the operator: compile, pack, write', passes),
  ];
}

/** As it was. */
async function enableCaller(stage: Stage): Promise<void> {
  await stage.client.apply(RESOURCES.ApiKey, callerObject(CALLER, { disabled: false }), {
    fieldManager: FIELD_MANAGER,
  });
  await untilAllShow(stage.gateways, CALLER, ({ status }) => status === 200, PATIENCE);
}
