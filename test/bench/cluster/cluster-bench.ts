/**
 * `npm run bench -- cluster [--edits 120] [--seconds 60]`: from a manifest to what gateways serve, at 2,000 objects and 10,000
 * keys, on a real API server with the real operator and three gateways. Prints one Markdown table.
 */
import { mkdirSync, writeFileSync } from 'node:fs';
import { cpus, loadavg, release } from 'node:os';
import { resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { versionOf } from '../../cluster/parts.ts';
import type { WorldSize } from './bench-world.ts';
import { churn } from './churn.ts';
import { compileTimes } from './compile-times.ts';
import { type Figure, table } from './figures.ts';
import { propagation } from './propagation.ts';
import { type Stage, startStage } from './stage.ts';
import { firstStart, gatewayStarts, restarts } from './starts.ts';

interface Flags {
  readonly size: WorldSize;
  readonly edits: number;
  readonly rate: number;
  readonly seconds: number;
  /** Where the figures are written as JSON. */
  readonly json: string | undefined;
  readonly profileDirectory: string | undefined;
}

const OPTIONS = {
  configs: { type: 'string', default: '1800' },
  integrations: { type: 'string', default: '200' },
  keys: { type: 'string', default: '10000' },
  edits: { type: 'string', default: '120' },
  rate: { type: 'string', default: '50' },
  seconds: { type: 'string', default: '60' },
  json: { type: 'string' },
  profile: { type: 'string' },
} as const;

/** `args`: what follows `cluster` on the command line. Resolves to whether every goal is met. */
export async function runClusterBench(args: readonly string[]): Promise<boolean> {
  const flags = readFlags(args);
  const { profileDirectory } = flags;
  if (profileDirectory !== undefined) mkdirSync(profileDirectory, { recursive: true });
  const stage = await startStage({ size: flags.size, profileDirectory, say });
  try {
    const figures = await measure(stage, flags);
    const circumstances = circumstancesOf(flags);
    if (flags.json !== undefined)
      writeFileSync(flags.json, `${JSON.stringify({ circumstances, figures }, undefined, 2)}\n`);
    console.log(`${table(figures)}\n\n${circumstances}`);
    return figures.every(({ goal }) => goal === undefined || goal.isMet);
  } finally {
    await stage.stop();
  }
}

async function measure(stage: Stage, { size, edits, rate, seconds }: Flags): Promise<readonly Figure[]> {
  const figures: Figure[] = [];
  const add = (more: readonly Figure[]) => {
    for (const { title, value, unit } of more) say(`${title}: ${value.toFixed(2)} ${unit}`);
    figures.push(...more);
  };
  const first = await firstStart(stage);
  add(first.figures);
  const { operator, figures: restarted } = await restarts(stage, first.operator);
  add(restarted);
  add(await propagation(stage, operator, edits));
  add(await compileTimes(stage.client));
  add(await churn(stage, operator, { size, rate, seconds }));
  add(await gatewayStarts(stage));
  return figures;
}

function readFlags(args: readonly string[]): Flags {
  const { values } = parseArgs({ args: [...args], options: OPTIONS });
  const { configs, integrations, keys, edits, rate, seconds, json, profile } = values;
  const pathOf = (path: string | undefined) =>
    path === undefined ? undefined : resolve(process.env['INIT_CWD'] ?? '.', path);
  return {
    size: {
      configs: countOf('configs', configs, 50),
      integrations: countOf('integrations', integrations, 200),
      keys: countOf('keys', keys, 100),
    },
    edits: countOf('edits', edits, 2),
    rate: countOf('rate', rate, 1),
    seconds: countOf('seconds', seconds, 10),
    json: pathOf(json),
    profileDirectory: pathOf(profile),
  };
}

function countOf(flag: string, text: string, least: number): number {
  const count = Number(text);
  if (Number.isSafeInteger(count) && count >= least) return count;
  throw new Error(`--${flag} ${text}: must be a whole number from ${least}`);
}

function circumstancesOf({ size: { configs, integrations, keys } }: Flags): string {
  const [cpu] = cpus();
  const machine = `${cpu?.model.trim()} x ${cpus().length}, Linux ${release()}, load ${loadavg()[0]?.toFixed(1)}`;
  const parts = `Node ${process.versions.node}, kube-apiserver ${versionOf('kube-apiserver')}, etcd ${versionOf('etcd')}`;
  const date = new Date().toISOString().slice(0, 10);
  return `${date}; ${machine}; ${parts}; ${configs} GatewayConfigs, ${integrations} Integrations, ${keys} ApiKeys; everything on this one machine: API server, etcd, operator, three gateways and who asks them.`;
}

function say(line: string): void {
  process.stderr.write(`${line}\n`);
}
