/** Flags: the table by itself, and what the entry does with it. */
import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { environmentName, helpOf, parseFlags } from '#crds/command/parse-flags.ts';
import { EMBEDDED_FLAGS, isLoopback, VALIDATE_FLAGS } from '#operator/flags.ts';
import { NODE, REPOSITORY } from './worlds.ts';

function parse(argv: readonly string[], environment: Record<string, string> = {}) {
  return parseFlags(EMBEDDED_FLAGS, { argv, environment, takesPaths: false });
}

function values(argv: readonly string[], environment: Record<string, string> = {}) {
  const parsed = parse(argv, environment);
  if ('problem' in parsed) throw new Error(parsed.problem);
  return parsed.values;
}

describe('the table of flags', () => {
  it('has the documented defaults', () => {
    expect(values([])).toEqual({
      manifests: [],
      host: '127.0.0.1',
      port: 8787,
      'admin-port': 8788,
      data: '.model-gateway',
      'request-host': [],
      'organisation-namespace': 'model-gateway',
      'api-key-prefix': 'mgw_',
      'user-api-key-rotation-period': undefined,
      'user-api-key-ttl-days': undefined,
      'alert-webhook': undefined,
      store: undefined,
      'store-ca-file': undefined,
      'store-password-file': undefined,
      'store-timeout-ms': 25,
      'cache-bytes': 67_108_864,
      'cache-key-file': undefined,
      'embedding-model': undefined,
      open: false,
      'log-level': 'info',
      help: false,
      version: false,
    });
  });

  it.each(['hook', 'ftp://alerts.example/', '//alerts.example'])(
    '--alert-webhook does not take %s, nor tells it',
    (url) => {
      const parsed = parseFlags(EMBEDDED_FLAGS, { argv: ['--alert-webhook', url], environment: {}, takesPaths: false });
      expect(parsed).toEqual({ problem: '--alert-webhook: must be a URL such as https://alerts.example/hook' });
    },
  );

  it('reads both spellings, repetitions, and the last of several', () => {
    const read = values([
      '--manifests',
      'a',
      '--manifests=b',
      '--port',
      '1',
      '--port=2',
      '--open',
      '--request-host',
      'HTTPS://LLM.example:443',
    ]);
    expect(read).toMatchObject({ manifests: ['a', 'b'], port: 2, open: true, 'request-host': ['https://llm.example'] });
  });

  it('takes the environment where no flag is given', () => {
    const environment = {
      MODEL_GATEWAY_PORT: '1',
      MODEL_GATEWAY_MANIFESTS: 'a, b',
      MODEL_GATEWAY_OPEN: 'true',
      MODEL_GATEWAY_HOST: '',
    };
    expect(values([], environment)).toMatchObject({ port: 1, manifests: ['a', 'b'], open: true, host: '127.0.0.1' });
    expect(values(['--port', '2', '--manifests', 'c', '--open=false'], environment)).toMatchObject({
      port: 2,
      manifests: ['c'],
      open: false,
    });
    expect(values([], { MODEL_GATEWAY_VERSION: '1.2.3', MODEL_GATEWAY_HELP: 'x' })).toMatchObject({
      version: false,
      help: false,
    });
  });

  it.each([
    [['--prt', '1'], 'unknown flag --prt (did you mean --port?); see --help'],
    [['--toString'], 'unknown flag --toString; see --help'],
    [['--__proto__=1'], 'unknown flag --__proto__; see --help'],
    [['-p', '1'], 'unknown flag -p; see --help'],
    [['--'], 'unknown flag --; see --help'],
    [['here'], 'unexpected argument "here"; see --help'],
    [['--port'], '--port: needs a value, as --port PORT'],
    [['--data', '--open'], '--data: needs a value, as --data DIR'],
    [['--port', '65536'], '--port: must be a port from 0 to 65535, not "65536"'],
    [['--port', '80a'], '--port: must be a port from 0 to 65535, not "80a"'],
    [['--port='], '--port: must be a port from 0 to 65535, not ""'],
    [['--host='], '--host: must not be empty'],
    [['--open=maybe'], '--open: must be true or false, not "maybe"'],
    [['--log-level', 'loud'], '--log-level: must be one of debug, info, warn, error, silent, not "loud"'],
    [
      ['--organisation-namespace', 'Team A'],
      '--organisation-namespace: must be a Kubernetes namespace (lower-case letters, digits and "-"), not "Team A"',
    ],
    [
      ['--request-host', 'https://a.example/path'],
      '--request-host: must be an origin such as https://llm.example:8443, not "https://a.example/path"',
    ],
    [
      ['--request-host', 'ftp://a.example'],
      '--request-host: must be an origin such as https://llm.example:8443, not "ftp://a.example"',
    ],
    [
      ['--request-host', 'https://me@a.example'],
      '--request-host: must be an origin such as https://llm.example:8443, not "https://me@a.example"',
    ],
  ])('refuses %j in one line', (argv, problem) => {
    expect(parse(argv)).toEqual({ problem });
  });

  it('names the variable where that is wrong', () => {
    expect(parse([], { MODEL_GATEWAY_ADMIN_PORT: 'x' })).toEqual({
      problem: 'MODEL_GATEWAY_ADMIN_PORT: must be a port from 0 to 65535, not "x"',
    });
  });

  it('shows every flag in the help', () => {
    for (const table of [EMBEDDED_FLAGS, VALIDATE_FLAGS]) {
      for (const [name, { help }] of Object.entries(table)) {
        expect(helpOf(table)).toContain(`--${name}`);
        expect(helpOf(table)).toContain(help);
      }
    }
    expect(environmentName('admin-port')).toBe('MODEL_GATEWAY_ADMIN_PORT');
  });

  it.each([
    ['127.0.0.1', true],
    ['127.1.2.3', true],
    ['localhost', true],
    ['::1', true],
    ['0.0.0.0', false],
    ['::', false],
    ['10.0.0.1', false],
    ['127.0.0.1.example.com', false],
    ['localhost.example.com', false],
  ])('%s is loopback: %s', (host, expected) => expect(isLoopback(host)).toBe(expected));
});

describe('npm start', () => {
  function start(...argv: string[]) {
    return spawnSync(NODE, ['operator/embedded.ts', ...argv], {
      cwd: REPOSITORY,
      encoding: 'utf8',
      timeout: 20_000,
      env: { PATH: process.env.PATH },
    });
  }

  it('answers --help and --version', () => {
    const help = start('--help');
    expect([help.status, help.stderr]).toEqual([0, '']);
    expect(help.stdout).toContain('Usage: npm start');
    const { version } = JSON.parse(readFileSync(join(REPOSITORY, 'package.json'), 'utf8'));
    expect(start('--version')).toMatchObject({ status: 0, stdout: `${version}\n`, stderr: '' });
  });

  it.each([
    [['--prt', '1'], 'model-gateway: unknown flag --prt (did you mean --port?); see --help\n'],
    [['--port', 'x'], 'model-gateway: --port: must be a port from 0 to 65535, not "x"\n'],
    [
      ['--open', '--host', '0.0.0.0'],
      'model-gateway: --open: is for a loopback host only, and --host is 0.0.0.0: everybody could call without a key\n',
    ],
  ])('%j: one line and status 2', (argv, stderr) => {
    expect(start(...argv)).toMatchObject({ status: 2, stderr, stdout: '' });
  });

  it('names a directory that does not exist', () => {
    const { status, stderr } = start('--manifests', '/nowhere/at/all');
    expect([status, stderr]).toEqual([2, 'model-gateway: --manifests: /nowhere/at/all does not exist\n']);
  });
});
