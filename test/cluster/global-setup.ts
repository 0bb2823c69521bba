/**
 * Once in a run, if a selected test file calls describeCluster: builds and starts the shared control plane. If one calls
 * describeHelm, and no helm is at hand: builds that.
 */
import { readFileSync } from 'node:fs';
import type { TestProject } from 'vitest/node';
import { buildParts } from './build.ts';
import type { ClusterState } from './cluster.ts';
import { type ControlPlane, startControlPlane } from './control-plane.ts';
import type { LeftOut } from './describe-cluster.ts';
import { CORE_PARTS, onPath } from './parts.ts';

/** What vitest calls before the first test file; what it returns, after the last line of the report. */
export async function setup(project: TestProject): Promise<() => Promise<void>> {
  let plane: ControlPlane | undefined;
  let isPrepared = false;
  const prepare = async (files: readonly string[]) => {
    const calls = callsIn(files);
    if (isPrepared || !calls.has('describeCluster')) {
      if (calls.has('describeHelm')) await prepareHelm();
      return;
    }
    isPrepared = true;
    const built = await buildParts({ env: process.env, say });
    const isWhole = CORE_PARTS.every((part) => built.found[part] !== undefined);
    plane = isWhole ? await startControlPlane(built.found) : undefined;
    const state: ClusterState = { ...built, ...(plane !== undefined && { access: plane.access }) };
    project.provide('cluster', state);
  };
  await prepare(project.vitest.state.getPaths());
  project.onTestsRerun((specifications) => prepare(specifications.map(({ moduleId }) => moduleId)));
  return async () => {
    await plane?.stop();
    for (const line of leftOutLines(leftOut(project))) process.stderr.write(`${line}\n`);
  };
}

function say(line: string): void {
  process.stderr.write(`cluster: ${line}\n`);
}

async function prepareHelm(): Promise<void> {
  if (onPath('helm', process.env) === undefined) await buildParts({ env: process.env, say, parts: ['helm'] });
}

const CALLS = ['describeCluster', 'describeHelm'] as const;

function callsIn(files: readonly string[]): ReadonlySet<(typeof CALLS)[number]> {
  const texts = files.map((path) => readFileSync(path, 'utf8'));
  return new Set(CALLS.filter((call) => texts.some((text) => text.includes(`${call}(`))));
}

function leftOut({ vitest }: TestProject): LeftOut[] {
  return vitest.state
    .getTestModules()
    .flatMap((module) => [...module.children.allTests()])
    .flatMap((test) => test.meta().leftOut ?? []);
}

/** One line a suite, then one for each reason. */
export function leftOutLines(suites: readonly LeftOut[]): string[] {
  const byNeed = Map.groupBy(suites, ({ needs = 'a cluster' }) => needs);
  return [...byNeed].flatMap(([needs, some]) => linesOf(needs, some));
}

function linesOf(needs: string, suites: readonly LeftOut[]): string[] {
  const reasons = new Set(suites.flatMap((suite) => suite.reasons));
  return [
    '',
    `LEFT OUT: ${suites.length} ${suites.length === 1 ? 'suite needs' : 'suites need'} ${needs} that this machine cannot start`,
    ...suites.map(({ suite }) => `  - ${suite}`),
    ...[...reasons].map((reason) => `  ${reason}`),
  ];
}
