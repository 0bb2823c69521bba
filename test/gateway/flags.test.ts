/** The flags of a gateway in a cluster: what charts and scripts rely on. */
import { describe, expect, it } from 'vitest';
import { parseFlags } from '#crds/command/parse-flags.ts';
import { GATEWAY_FLAGS } from '#gateway/flags.ts';

function parse(argv: readonly string[], environment: Record<string, string> = {}) {
  return parseFlags(GATEWAY_FLAGS, { argv, environment, takesPaths: false });
}

describe('the flags of the gateway', () => {
  it('have the documented defaults', () => {
    expect(parse([])).toEqual({
      paths: [],
      values: {
        host: '0.0.0.0',
        port: 8787,
        'admin-host': '0.0.0.0',
        'admin-port': 8788,
        'snapshot-dir': '/var/run/model-gateway/snapshot',
        'state-dir': '/var/run/model-gateway/state',
        release: 'model-gateway',
        namespace: undefined,
        'max-shards': 16,
        'operator-url': undefined,
        'replica-name': undefined,
        replicas: 1,
        store: undefined,
        'store-password-file': undefined,
        'store-ca-file': undefined,
        'store-timeout-ms': 25,
        'cache-bytes': 67_108_864,
        'cache-key-file': undefined,
        'embedding-model': undefined,
        'no-api-watch': false,
        kubeconfig: undefined,
        context: undefined,
        'grace-ms': 5_000,
        'drain-ms': 300_000,
        'log-level': 'info',
        help: false,
        version: false,
      },
    });
  });

  it('each have an environment variable', () => {
    const environment = {
      MODEL_GATEWAY_RELEASE: 'rel',
      MODEL_GATEWAY_NAMESPACE: 'ns',
      MODEL_GATEWAY_MAX_SHARDS: '4',
      MODEL_GATEWAY_NO_API_WATCH: '1',
      MODEL_GATEWAY_GRACE_MS: '0',
    };
    expect(parse([], environment)).toMatchObject({
      values: { release: 'rel', namespace: 'ns', 'max-shards': 4, 'no-api-watch': true, 'grace-ms': 0 },
    });
    expect(parse(['--max-shards=8'], environment)).toMatchObject({ values: { 'max-shards': 8 } });
  });

  it.each(['0', '-1', '1.5', '10000', 'two'])('--replicas does not take %s', (count) => {
    expect(parse(['--replicas', count])).toEqual({
      problem: `--replicas: must be a number from 1 to 9999, not "${count}"`,
    });
  });

  it.each(['1', '2', '16', '128'])('--max-shards takes %s', (count) => {
    expect(parse(['--max-shards', count])).toMatchObject({ values: { 'max-shards': Number(count) } });
  });

  it.each([
    ['--max-shards', '0', /^--max-shards: must be .*power of two/],
    ['--max-shards', '3', /^--max-shards: must be .*power of two/],
    ['--max-shards', '256', /^--max-shards: must be .*power of two/],
    ['--max-shards', '1.0', /^--max-shards: must be .*power of two/],
    ['--drain-ms', '86400001', /^--drain-ms: must be whole milliseconds, at most 86400000/],
    ['--drain-ms', '1e3', /^--drain-ms: must be whole milliseconds/],
    ['--release', 'Rel', /^--release: must be at most 53 lower-case letters, digits and "-", not "Rel"$/],
    ['--release', 'a'.repeat(54), /^--release: must be at most 53/],
    ['--namespace', 'a_b', /^--namespace: must be a Kubernetes namespace/],
  ])('%s %s is refused in one line', (flag, value, problem) => {
    expect(parse([flag, value])).toEqual({ problem: expect.stringMatching(problem) });
  });
});
