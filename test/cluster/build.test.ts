/** How the parts are found and built, with a Go that only pretends. */
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { buildParts } from './build.ts';
import { withLock } from './build-lock.ts';
import { cachedPath, findParts, moduleFolder, PART_ROWS, PARTS, type Part, versionOf } from './parts.ts';

let folder = '';
let said: string[] = [];
const say = (line: string) => void said.push(line);

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'model-gateway-build-'));
  said = [];
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

function program(path: string, script: string): void {
  mkdirSync(join(path, '..'), { recursive: true });
  writeFileSync(path, `#!/bin/sh\n${script}\n`);
  chmodSync(path, 0o755);
}

/** An environment whose Go runs `onBuild` with $output and $package set. */
function environment(onBuild: string): Record<string, string> {
  const arguments_ = 'while [ $# -gt 1 ]; do [ "$1" = -o ] && output=$2; shift; done; package=$1';
  const log = `echo "$package" >> ${folder}/built`;
  program(join(folder, 'bin', 'go'), `[ "$1" = version ] && exit 0\n${arguments_}\n${log}\n${onBuild}`);
  return { PATH: `${join(folder, 'bin')}:${process.env.PATH}`, XDG_CACHE_HOME: join(folder, 'cache') };
}

function noGo(): Record<string, string> {
  const env = environment('');
  program(join(folder, 'bin', 'go'), 'exit 127');
  return env;
}

const builds = () => readFileSync(join(folder, 'built'), 'utf8').trim().split('\n');
const WRITES = 'echo "#!/bin/sh" > "$output"; chmod +x "$output"';

describe('the modules', () => {
  it.each(PARTS)('%s is a tool of its module, which says the version', (part) => {
    const text = readFileSync(join(moduleFolder(part), 'go.mod'), 'utf8');
    expect(text).toMatch(new RegExp(`^(tool )?\\s*${PART_ROWS[part].package}$`, 'm'));
    expect(versionOf(part)).toMatch(/^v\d+\.\d+\.\d+$/);
    expect(existsSync(join(moduleFolder(part), 'go.sum'))).toBe(true);
  });

  it('every staging module of Kubernetes is replaced by the version that belongs to it', () => {
    const text = readFileSync(join(moduleFolder('kubectl'), 'go.mod'), 'utf8');
    const staging = versionOf('kubectl').replace(/^v1\./, 'v0.');
    const replaces = [...text.matchAll(/^\t(k8s\.io\/\S+) => (\S+) (\S+)$/gm)];
    expect(replaces.length).toBe(33);
    for (const [, from, to, version] of replaces) expect([to, version]).toEqual([from, staging]);
  });
});

describe('parts that are missing', () => {
  it('are built, each into the folder of its version, and found from then on', async () => {
    const env = environment(WRITES);
    const { found, missing } = await buildParts({ env, say });
    expect(missing).toEqual({});
    expect(found).toEqual(Object.fromEntries(PARTS.map((part) => [part, cachedPath(part, env)])));
    expect(found.helm).toContain(`helm-${versionOf('helm')}-${process.platform}-${process.arch}`);
    expect(builds()).toEqual(PARTS.map((part) => PART_ROWS[part].package));
    expect(said.length).toBe(1 + PARTS.length);

    said = [];
    expect(await buildParts({ env, say })).toEqual({ found, missing: {} });
    expect(builds().length).toBe(PARTS.length);
    expect(said).toEqual([]);
  });

  it('are built alone, and what a killed build left is removed', async () => {
    const env = environment(WRITES);
    mkdirSync(`${cachedPath('helm', env)}.left`, { recursive: true });
    for (const part of PARTS.filter((part) => part !== 'helm')) program(cachedPath(part, env), '');
    await buildParts({ env, say });
    expect(builds()).toEqual([PART_ROWS.helm.package]);
    expect(readdirSync(join(cachedPath('helm', env), '..'))).toEqual(['helm']);
  });

  it('are named where there is no Go, with what would bring them', async () => {
    const env = noGo();
    program(cachedPath('etcd', env), '');
    const { found, missing } = await buildParts({ env, say, parts: ['etcd', 'kubectl', 'helm'] });
    expect(Object.keys(found)).toEqual(['etcd']);
    expect(Object.keys(missing)).toEqual(['kubectl', 'helm']);
    expect(missing.helm).toMatch(/install Go .* or set KUBEBUILDER_ASSETS/);
  });

  it('are named where the build fails, with the last line of Go; the others are built, and nothing half-made stays', async () => {
    const env = environment(
      `case $package in *helm*) echo started > "$output"; echo reason >&2; exit 1;; esac\n${WRITES}`,
    );
    const { found, missing } = await buildParts({ env, say });
    expect(missing).toEqual({ helm: 'it cannot be built: reason' });
    expect(found.kwok).toBe(cachedPath('kwok', env));
    expect(readdirSync(join(cachedPath('helm', env), '..'))).toEqual([]);
    expect(said).toContain('helm: it cannot be built: reason');
  });

  it('are built once by two runs at the same time', async () => {
    const env = environment(`sleep 0.05\n${WRITES}`);
    const parts: readonly Part[] = ['etcd', 'helm'];
    const [first, second] = await Promise.all([buildParts({ env, say, parts }), buildParts({ env, say, parts })]);
    expect(first).toEqual(second);
    expect(builds().length).toBe(2);
    expect(said.filter((line) => line.startsWith('another run'))).toHaveLength(1);
  });
});

describe('KUBEBUILDER_ASSETS', () => {
  it('comes first, and what it has is not built', async () => {
    const env = { ...noGo(), KUBEBUILDER_ASSETS: join(folder, 'assets') };
    for (const part of ['etcd', 'kube-apiserver', 'kubectl']) program(join(folder, 'assets', part), '');
    program(cachedPath('etcd', env), '');
    expect(findParts(env)).toEqual({
      etcd: join(folder, 'assets', 'etcd'),
      'kube-apiserver': join(folder, 'assets', 'kube-apiserver'),
      kubectl: join(folder, 'assets', 'kubectl'),
    });
  });

  it('with a file that is no program counts for nothing', () => {
    mkdirSync(join(folder, 'assets', 'etcd'), { recursive: true });
    writeFileSync(join(folder, 'assets', 'kubectl'), '', { mode: 0o600 });
    expect(findParts({ XDG_CACHE_HOME: folder, KUBEBUILDER_ASSETS: join(folder, 'assets') })).toEqual({});
  });
});

describe('the lock', () => {
  const lock = () => join(folder, 'lock');

  it('goes with the work, even if that fails', async () => {
    await expect(
      withLock(
        lock(),
        () => Promise.reject(new Error('broken')),
        () => undefined,
      ),
    ).rejects.toThrow('broken');
    expect(existsSync(lock())).toBe(false);
  });

  it('of a process that was killed is taken over', async () => {
    // No process has so high a number.
    writeFileSync(lock(), '999999999');
    let isWaiting = false;
    const result = await withLock(
      lock(),
      () => Promise.resolve('done'),
      () => {
        isWaiting = true;
      },
    );
    expect([result, isWaiting]).toEqual(['done', false]);
  });
});
