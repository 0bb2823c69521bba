/** `compile` against pairs of files: `<name>.in.yaml` (files divided by `# file: NAME`) -> `<name>.out.yaml`. */
import { existsSync, globSync, readFileSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { stringify } from 'yaml';
import { snapshotSchema } from '#crds/snapshot/contract.ts';
import { compile } from '#operator/compile/compile.ts';
import type { ObjectStatus } from '#operator/compile/status.ts';
import { servedByOne, TOOLS, worldOf } from './worlds.ts';

const FOLDER = join(import.meta.dirname, 'golden');
const inputs = globSync('*.in.yaml', { cwd: FOLDER }).sort();

function split(text: string): Record<string, string> {
  const parts = text.split(/^# file: (.+)\n/m);
  const files: Record<string, string> = parts[0]?.trim() ? { 'manifests.yaml': parts[0] } : {};
  for (let index = 1; index < parts.length; index += 2) files[parts[index] ?? ''] = parts[index + 1] ?? '';
  return files;
}

function shown({ kind, namespace, name, place, served, isDuplicate, conditions }: ObjectStatus): unknown {
  return {
    object: `${kind} ${namespace}/${name}${isDuplicate ? ' (duplicate)' : ''}`,
    at: `${place?.file}:${place?.line}`,
    served,
    ...Object.fromEntries(
      conditions.map(({ type, status, reason, message }) => [type, `${status} ${reason}${message && `: ${message}`}`]),
    ),
  };
}

function outputOf(input: string): string {
  const world = worldOf(split(readFileSync(join(FOLDER, input), 'utf8')));
  const compiled = compile(world, new Map(), TOOLS);
  const { snapshot, lacking, versions } = compiled;
  snapshotSchema.parse(snapshot);
  const keys = snapshot.keys.map(({ digest, ...key }) => ({ ...key, digest: `${digest.length} hex digits` }));
  const output = {
    statuses: servedByOne(compiled).map(shown),
    problems: world.problems.map(
      ({ place, severity, subject, reason, message }) =>
        `${place.file}:${place.line} ${severity} ${subject}: ${reason}: ${message}`,
    ),
    secretsToWrite: lacking,
    ...(versions.lacking.length + versions.unmarked.length === 0 ? {} : { versionsToWrite: versions }),
    snapshot: { ...snapshot, keys },
  };
  return stringify(output, { lineWidth: 0, aliasDuplicateObjects: false });
}

describe('compile, by example', () => {
  it('finds its examples', () => expect(inputs.length).toBeGreaterThanOrEqual(7));

  it.each(inputs)('%s', (input) => {
    const expected = join(FOLDER, input.replace('.in.yaml', '.out.yaml'));
    const output = outputOf(input);
    if (process.env.UPDATE_GOLDEN === '1') writeFileSync(expected, output);
    expect(
      existsSync(expected),
      `${basename(expected)} is missing: run with UPDATE_GOLDEN=1 and read what it wrote`,
    ).toBe(true);
    expect(output).toBe(readFileSync(expected, 'utf8'));
  });

  it.each(inputs)('%s: no secret in statuses or records that are no secret', (input) => {
    const world = worldOf(split(readFileSync(join(FOLDER, input), 'utf8')));
    const { snapshot, statuses } = compile(world, new Map(), TOOLS);
    const open = { ...snapshot, credentials: [] };
    expect(JSON.stringify([open, statuses])).not.toContain('CANARY');
  });
});
