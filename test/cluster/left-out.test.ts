/** What a run says of the suites that it left out, in a real run of its own. */
import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { type NetworkInterfaceInfo, tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { isContinuousIntegration } from './continuous-integration.ts';
import { lackingOn } from './describe-cluster.ts';
import { externalAddress, NO_ADDRESS } from './external-address.ts';
import { leftOutLines } from './global-setup.ts';
import { onPath } from './parts.ts';
import { CommandFailed, runCommand } from './run-command.ts';

const REPOSITORY = join(import.meta.dirname, '..', '..');
const RUN_TIMEOUT_MS = 60_000;
let folder = '';

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'model-gateway-left-out-'));
  mkdirSync(join(folder, 'bin'));
  writeFileSync(join(folder, 'bin', 'go'), '#!/bin/sh\nexit 127\n');
  chmodSync(join(folder, 'bin', 'go'), 0o755);
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

interface Run {
  readonly status: number | null;
  readonly stdout: string;
  /** Both streams together, in the order in which they were written. */
  readonly output: string;
}

/** One test file on a machine without Go and without parts. */
async function run(file: string, env: Readonly<Record<string, string>>): Promise<Run> {
  const vitest = join(REPOSITORY, 'node_modules', 'vitest', 'vitest.mjs');
  const command = `exec "${process.execPath}" "${vitest}" run --config test/vitest.config.ts ${file} 2>&1`;
  const path = `${join(folder, 'bin')}:${process.env.PATH}`;
  const base = { PATH: path, HOME: folder, XDG_CACHE_HOME: folder, NO_COLOR: '1' };
  try {
    const output = await runCommand({ file: 'sh', args: ['-c', command], cwd: REPOSITORY, env: { ...base, ...env } });
    return { status: 0, stdout: output, output };
  } catch (error) {
    if (error instanceof CommandFailed) return { status: error.status, stdout: error.stdout, output: error.stdout };
    throw error;
  }
}

describe('a run on a machine that has no parts and no Go', () => {
  it(
    'leaves the suites out, and names them and what would bring them at its very end',
    async () => {
      const { status, output } = await run('test/cluster/cluster.test.ts', {});
      expect(output).toMatch(/Tests {2}2 skipped/);
      expect(status).toBe(0);
      const end = output.slice(output.indexOf('Duration'));
      expect(end).toContain('LEFT OUT: 2 suites need a cluster');
      expect(end).toMatch(/^ {2}- the shared cluster$/m);
      expect(end).toMatch(/^ {2}- helm of the cluster$/m);
      for (const part of ['etcd', 'kube-apiserver', 'kubectl', 'helm']) {
        expect(end).toMatch(new RegExp(`^ {2}${part}: there is no Go: install Go`, 'm'));
      }
    },
    RUN_TIMEOUT_MS,
  );

  it(
    'fails in CI, by the name of the suite',
    async () => {
      const { status, output } = await run('test/cluster/cluster.test.ts', { CI: 'true' });
      expect(status).toBe(1);
      expect(output).toContain('the shared cluster: has what it needs');
      expect(output).toContain('kube-apiserver: there is no Go: install Go');
    },
    RUN_TIMEOUT_MS,
  );

  it(
    'looks for no parts where no selected suite needs them',
    async () => {
      const { status, output } = await run('test/crds/query.test.ts', { CI: 'true' });
      expect(status).toBe(0);
      expect(output).not.toMatch(/cluster:|LEFT OUT/);
    },
    RUN_TIMEOUT_MS,
  );
});

/** Of the user's own, where helm is on the PATH, nothing is built. */
describe.skipIf(onPath('helm', process.env) !== undefined)('a run whose suites need helm and no cluster', () => {
  it(
    'leaves them out where there is no Go',
    async () => {
      const { status, output } = await run('test/helm/notes.test.ts', {});
      expect(status).toBe(0);
      expect(output.slice(output.indexOf('Duration'))).toMatch(/^ {2}helm: .* none could be built: install Go/m);
    },
    RUN_TIMEOUT_MS,
  );

  it(
    'builds helm, and nothing else, before the first of them',
    async () => {
      const path = join(folder, 'building');
      mkdirSync(path);
      const find = 'while [ $# -gt 1 ]; do [ "$1" = -o ] && output=$2; shift; done';
      const helm = 'printf "#!/bin/sh\\necho helm that was built >&2; exit 1\\n" > "$output"; chmod +x "$output"';
      writeFileSync(join(path, 'go'), `#!/bin/sh\n[ "$1" = version ] && exit 0\n${find}\n${helm}\n`);
      chmodSync(join(path, 'go'), 0o755);
      const env = { PATH: `${path}:${process.env.PATH}`, XDG_CACHE_HOME: path };
      const { output } = await run('test/helm/notes.test.ts', env);
      expect(output.match(/^cluster: building (.*) \(/m)?.[1]).toBe('helm');
      expect(output).toContain('helm that was built');
      expect(output).not.toContain('LEFT OUT');
    },
    RUN_TIMEOUT_MS,
  );
});

describe('what is lacking', () => {
  const missing = { helm: 'broken' };
  it.each([
    ['nothing', { found: { etcd: '/etcd' }, missing, address: '10.0.0.1' }, ['etcd', 'address'], {}],
    [
      'a part',
      { found: {}, missing, address: undefined },
      ['etcd', 'helm'],
      { etcd: 'it was not looked for', ...missing },
    ],
    ['an address', { found: {}, missing, address: undefined }, ['address'], { address: NO_ADDRESS }],
  ] as const)('%s', (_, machine, needs, reasons) => {
    expect(Object.fromEntries(lackingOn(machine, needs))).toEqual(reasons);
  });
});

describe('the address of this machine', () => {
  const at = (family: string, address: string, internal = false) =>
    ({
      ...{ address, family, internal, netmask: '', mac: '', cidr: null },
      ...(family === 'IPv6' ? { scopeid: 0 } : {}),
    }) as NetworkInterfaceInfo;
  const loopback = [at('IPv4', '127.0.0.1', true), at('IPv6', '::1', true)];

  it.each<[string, NetworkInterfaceInfo[], object | undefined]>([
    [
      'is the first of IPv4',
      [at('IPv6', 'fd00::2'), at('IPv4', '192.0.2.2'), at('IPv4', '192.0.2.3')],
      { address: '192.0.2.2', addressType: 'IPv4' },
    ],
    [
      'is one of IPv6 where there is no other',
      [at('IPv6', 'fe80::1'), at('IPv6', 'fd00::2')],
      { address: 'fd00::2', addressType: 'IPv6' },
    ],
    ['is none that one network alone knows', [at('IPv6', 'fe80::1'), at('IPv4', '169.254.0.7')], undefined],
    ['is no loopback', [], undefined],
  ])('%s', (_, eth0, expected) => {
    expect(externalAddress({ lo: loopback, eth0 })).toEqual(expected);
  });
});

describe('the last lines', () => {
  it('are none where nothing was left out', () => expect(leftOutLines([])).toEqual([]));

  it('tell apart what suites need', () => {
    const redis = { suite: 'b', needs: 'a Redis', reasons: ['no redis-server: apt-get install redis-server'] };
    expect(leftOutLines([{ suite: 'a', reasons: ['etcd: none'] }, redis])).toEqual([
      '',
      'LEFT OUT: 1 suite needs a cluster that this machine cannot start',
      '  - a',
      '  etcd: none',
      '',
      'LEFT OUT: 1 suite needs a Redis that this machine cannot start',
      '  - b',
      '  no redis-server: apt-get install redis-server',
    ]);
  });

  it('give each reason once', () => {
    const reasons = ['etcd: none', 'helm: none'];
    expect(
      leftOutLines([
        { suite: 'a', reasons },
        { suite: 'b', reasons: ['helm: none'] },
      ]),
    ).toEqual([
      '',
      'LEFT OUT: 2 suites need a cluster that this machine cannot start',
      '  - a',
      '  - b',
      '  etcd: none',
      '  helm: none',
    ]);
  });
});

it.each([
  ['true', true],
  ['1', true],
  ['false', false],
  ['0', false],
  ['', false],
  [undefined, false],
])('CI=%s is continuous integration: %s', (value, is) => {
  expect(isContinuousIntegration({ CI: value })).toBe(is);
});
