/** Builds the parts of a control plane from their Go modules, once per version and machine. */
import { mkdirSync, mkdtempSync, readdirSync, renameSync, rmSync } from 'node:fs';
import { basename, delimiter, dirname, join } from 'node:path';
import { withLock } from './build-lock.ts';
import {
  cachedPath,
  type FoundParts,
  findParts,
  moduleFolder,
  PART_ROWS,
  PARTS,
  type Part,
  versionOf,
} from './parts.ts';
import { CommandFailed, runCommand } from './run-command.ts';

type Environment = Readonly<Record<string, string | undefined>>;

export interface BuildOptions {
  readonly env: Environment;
  /** A line about what is being done. */
  readonly say: (line: string) => void;
  /** Default: all. */
  readonly parts?: readonly Part[];
}

export interface Built {
  readonly found: FoundParts;
  /** Why each other part is not there. */
  readonly missing: Readonly<Partial<Record<Part, string>>>;
}

const NO_GO = 'there is no Go: install Go 1.26 (https://go.dev/dl/), or set KUBEBUILDER_ASSETS to a folder that has it';

/** Finds what is there, builds what is not. Never rejects for a part that cannot be built: `missing` says why. */
export async function buildParts({ env, say, parts = PARTS }: BuildOptions): Promise<Built> {
  const lacking = () => parts.filter((part) => findParts(env)[part] === undefined);
  if (lacking().length === 0) return { found: findParts(env), missing: {} };
  if (!(await hasGo(env))) {
    return { found: findParts(env), missing: Object.fromEntries(lacking().map((part) => [part, NO_GO])) };
  }
  const folder = join(dirname(cachedPath('etcd', env)), '..');
  mkdirSync(folder, { recursive: true });
  const missing = await withLock(
    join(folder, 'build.lock'),
    () => buildEach(lacking(), env, say),
    () => say('another run is building the cluster programs: waiting for it'),
  );
  return { found: findParts(env), missing };
}

async function buildEach(
  parts: readonly Part[],
  env: Environment,
  say: BuildOptions['say'],
): Promise<Built['missing']> {
  const failed: Partial<Record<Part, string>> = {};
  if (parts.length > 0) say(`building ${parts.join(', ')} (some minutes, once per version)`);
  for (const part of parts) {
    const startMs = performance.now();
    try {
      await build(part, env);
      say(`built ${part} ${versionOf(part)} in ${Math.round((performance.now() - startMs) / 1000)} s`);
    } catch (error) {
      if (!(error instanceof CommandFailed)) throw error;
      failed[part] = `it cannot be built: ${error.stderr.trim().split('\n').at(-1)}`;
      say(`${part}: ${failed[part]}`);
    }
  }
  return failed;
}

/** Into a folder of its own and moved at the end, so that no half-written program is ever found. */
async function build(part: Part, env: Environment): Promise<void> {
  const path = cachedPath(part, env);
  mkdirSync(dirname(path), { recursive: true });
  removeLeftOvers(path);
  const folder = mkdtempSync(`${path}.`);
  try {
    const output = join(folder, part);
    const args = ['build', '-trimpath', '-ldflags', linkerFlags(part), '-o', output, PART_ROWS[part].package];
    await runCommand({ file: 'go', args, cwd: moduleFolder(part), env: goEnvironment(env) });
    renameSync(output, path);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Of a build that was killed: nobody else builds while the lock is held. */
function removeLeftOvers(path: string): void {
  const names = readdirSync(dirname(path)).filter((name) => name.startsWith(`${basename(path)}.`));
  for (const name of names) rmSync(join(dirname(path), name), { recursive: true, force: true });
}

const VERSION_PACKAGES = ['k8s.io/component-base/version', 'k8s.io/client-go/pkg/version'];

/** Kubernetes takes its version from the linker; without one it is v0.0.0, which charts refuse. */
function linkerFlags(part: Part): string {
  const version = versionOf(part);
  const [major = '', minor = ''] = version.slice(1).split('.');
  const fields = { gitVersion: version, gitMajor: major, gitMinor: minor, gitTreeState: 'clean' };
  const isKubernetes = PART_ROWS[part].module === 'kubernetes';
  const named = (isKubernetes ? VERSION_PACKAGES : []).flatMap((name) =>
    Object.entries(fields).map(([field, value]) => `-X ${name}.${field}=${value}`),
  );
  return ['-s', '-w', ...named].join(' ');
}

/** The usual place of Go is looked at even where it is not on the PATH. */
function goEnvironment(env: Environment): Environment {
  const path = [env.PATH, '/usr/local/go/bin'].filter(Boolean).join(delimiter);
  return { ...env, PATH: path, CGO_ENABLED: '0', GOWORK: 'off', GOFLAGS: '-mod=readonly -buildvcs=false' };
}

async function hasGo(env: Environment): Promise<boolean> {
  try {
    await runCommand({ file: 'go', args: ['version'], env: goEnvironment(env) });
    return true;
  } catch {
    return false;
  }
}
