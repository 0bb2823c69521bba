/** The real helm, run on the chart. */
import { spawnSync } from 'node:child_process';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseAllDocuments } from 'yaml';
import { findParts, onPath } from '../cluster/parts.ts';
import type { Manifest } from './manifest.ts';

export const REPOSITORY = join(import.meta.dirname, '..', '..');
export const CHART = join(REPOSITORY, 'helm');

export interface HelmRun {
  readonly status: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

export interface Release {
  readonly name: string;
  readonly namespace: string;
  readonly values?: object;
}

const BINARY = findParts(process.env).helm ?? onPath('helm', process.env);

/** Whether this machine has a helm. */
export const hasHelm = BINARY !== undefined;

/** Runs helm; values come on its standard input. */
export function runHelm(args: readonly string[], values: object = {}): HelmRun {
  if (BINARY === undefined) throw new Error('no helm: call this inside describeHelm');
  const home = join(tmpdir(), 'model-gateway-helm');
  const env = { PATH: process.env.PATH, HOME: home };
  const run = spawnSync(BINARY, args, { input: JSON.stringify(values), encoding: 'utf8', env, maxBuffer: 2 ** 27 });
  if (run.error !== undefined) throw run.error;
  return { status: run.status, stdout: run.stdout, stderr: run.stderr };
}

/** `helm template`, whatever comes of it. */
export function template({ name, namespace, values = {} }: Release): HelmRun {
  return runHelm(['template', name, CHART, '--namespace', namespace, '--values', '-'], values);
}

const RENDERED = new Map<string, readonly Manifest[]>();

/** Every object that the release would have, hooks included; none where there is no helm. Throws with helm's words. */
export function render(release: Release): readonly Manifest[] {
  if (!hasHelm) return [];
  const key = JSON.stringify(release);
  const known = RENDERED.get(key);
  if (known !== undefined) return known;
  const { status, stdout, stderr } = template(release);
  if (status !== 0) throw new Error(`helm template: ${stderr}`);
  const objects = parseAllDocuments(stdout)
    .map((document) => {
      if (document.errors.length > 0) throw document.errors[0];
      return document.toJS() as Manifest | null;
    })
    .filter((object) => object !== null);
  RENDERED.set(key, objects);
  return objects;
}
