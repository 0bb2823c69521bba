/** `npm run validate`, as a GitOps repository's CI runs it. */
import { spawnSync } from 'node:child_process';
import { afterEach, describe, expect, it } from 'vitest';
import { type Folder, makeFolder } from './folder.ts';
import { documents, manifest, NODE, REPOSITORY } from './worlds.ts';

let folder: Folder | undefined;
afterEach(() => folder?.remove());

function validate(files: Record<string, string>, ...argv: string[]) {
  folder = makeFolder(files);
  return spawnSync(NODE, [`${REPOSITORY}/operator/validate.ts`, ...argv], {
    cwd: folder.path,
    encoding: 'utf8',
    timeout: 20_000,
    env: { PATH: process.env.PATH, INIT_CWD: folder.path },
  });
}

const good = manifest('GatewayConfig', 'default', 'good', { provider: 'simulator' });

describe('validate', () => {
  it('passes what is well, without asking for Secrets or the environment', () => {
    const result = validate(
      {
        'a.yaml': documents(
          good,
          manifest('ApiKey', 'default', 'k', { type: 'workspace-user' }),
          manifest('ApiKey', 'default', 'own', { type: 'workspace-user' }),
          manifest('Secret', 'default', 'own-api-key', { api_key: `$\{env:NOT_SET_HERE}` }),
          manifest('Integration', 'default', 'i', {
            provider: 'openai',
            secret_mappings: [{ target_field: 'api_key', secret_name: 's', secret_key: 'k' }],
          }),
        ),
      },
      '.',
    );
    expect(result).toMatchObject({ status: 0, stdout: '5 objects, 5 accepted, 0 refused\n', stderr: '' });
  });

  it('names file, line, kind, name, reason and field of what is refused', () => {
    const result = validate(
      {
        'sub/a.yaml': documents(
          good,
          manifest('GatewayConfig', 'default', 'bad', { provider: 'simulator', retry: { attempts: 9 } }),
        ),
        'b.yaml': 'kind: [\n',
        'c.yaml': manifest('GatewayConfig', 'default', 'dangling', { provider: '@nobody' }),
        'd.yaml': '{"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web"}}',
      },
      'sub',
      'b.yaml',
      'c.yaml',
      'd.yaml',
    );
    expect(result.stdout.split('\n')).toEqual([
      expect.stringMatching(/^b\.yaml:\d: Unparsable: /),
      expect.stringMatching(/^d\.yaml:1 Deployment\/web: ForeignKind: /),
      'sub/a.yaml:3 GatewayConfig/bad: InvalidSpec: spec.retry.attempts: must be at most 5, got 9',
      expect.stringMatching(/^c\.yaml:1 GatewayConfig\/dangling: warning: RefNotFound: spec\.provider: /),
      '3 objects, 2 accepted, 2 refused, 1 ignored',
      '',
    ]);
    expect([result.status, result.stderr]).toEqual([1, '']);
  });

  it('names both files of a conflict', () => {
    const { status, stdout } = validate({ 'a.yaml': good, 'b.yaml': good }, '.');
    expect(status).toBe(1);
    expect(stdout).toContain(
      'b.yaml:1 GatewayConfig/good: Conflicted: metadata.name: a.yaml:1 and b.yaml:1 both define',
    );
  });

  it('fails where there is nothing to check', () => {
    expect(validate({ 'README.md': '' }, '.')).toMatchObject({
      status: 1,
      stdout: expect.stringContaining('no objects'),
    });
  });

  it.each([
    [[], 'model-gateway: validate: name at least one file or directory; see --help\n'],
    [['--port', '1', '.'], 'model-gateway: unknown flag --port; see --help\n'],
    [['nowhere'], expect.stringMatching(/^model-gateway: validate: .*nowhere does not exist\n$/)],
  ])('%j: one line and status 2', (argv, stderr) => {
    expect(validate({ 'a.yaml': good }, ...argv)).toMatchObject({ status: 2, stderr, stdout: '' });
  });

  it('knows the organisation namespace that it is told', () => {
    const shared = manifest(
      'GatewayConfig',
      'acme',
      'shared',
      { provider: 'simulator' },
      { 'modelgateway.dev/allowed-workspaces': '*' },
    );
    expect(validate({ 'a.yaml': shared }, 'a.yaml').status).toBe(1);
    expect(validate({ 'a.yaml': shared }, '--organisation-namespace', 'acme', 'a.yaml').status).toBe(0);
  });

  it('finds nothing wrong with the quick start', () => {
    expect(validate({}, `${REPOSITORY}/crds/examples/quickstart`)).toMatchObject({
      status: 0,
      stdout: '9 objects, 9 accepted, 0 refused\n',
    });
  });
});
