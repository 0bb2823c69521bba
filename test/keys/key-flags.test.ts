/** What an installation says of the keys that it makes, by flag or variable. */
import { describe, expect, it } from 'vitest';
import { parseFlags } from '#crds/command/parse-flags.ts';
import { EMBEDDED_FLAGS, OPERATOR_FLAGS, worldSettings } from '#operator/flags.ts';

type Environment = Readonly<Record<string, string>>;

describe.each([
  ['the operator', OPERATOR_FLAGS],
  ['embedded mode', EMBEDDED_FLAGS],
])('%s', (_, table) => {
  const parse = (argv: readonly string[], environment: Environment = {}) =>
    parseFlags(table, { argv, environment, takesPaths: false });

  function settings(argv: readonly string[], environment?: Environment) {
    const parsed = parse(argv, environment);
    if ('problem' in parsed) throw new Error(parsed.problem);
    const { keyPrefix, userKeys } = worldSettings(parsed.values);
    return { keyPrefix, ...userKeys };
  }

  it.each<[string, readonly string[], Environment, object]>([
    ['has the documented defaults', [], {}, { keyPrefix: 'mgw_', rotationPeriod: undefined, ttlDays: undefined }],
    [
      'takes flags',
      ['--api-key-prefix=acme-', '--user-api-key-rotation-period', 'weekly', '--user-api-key-ttl-days=90'],
      {},
      { keyPrefix: 'acme-', rotationPeriod: 'weekly', ttlDays: 90 },
    ],
    [
      'takes variables',
      [],
      {
        MODEL_GATEWAY_API_KEY_PREFIX: 'a_',
        MODEL_GATEWAY_USER_API_KEY_ROTATION_PERIOD: 'monthly',
        MODEL_GATEWAY_USER_API_KEY_TTL_DAYS: '1',
      },
      { keyPrefix: 'a_', rotationPeriod: 'monthly', ttlDays: 1 },
    ],
    ['takes API_KEY_PREFIX', [], { API_KEY_PREFIX: 'b_' }, { keyPrefix: 'b_' }],
    [
      'takes its own variable first',
      [],
      { API_KEY_PREFIX: 'b_', MODEL_GATEWAY_API_KEY_PREFIX: 'a_' },
      { keyPrefix: 'a_' },
    ],
    [
      'takes a flag before both',
      ['--api-key-prefix', 'c_'],
      { API_KEY_PREFIX: 'b_', MODEL_GATEWAY_API_KEY_PREFIX: 'a_' },
      { keyPrefix: 'c_' },
    ],
  ])('%s', (_what, argv, environment, expected) => expect(settings(argv, environment)).toMatchObject(expected));

  it.each<[readonly string[], Environment, RegExp]>([
    [['--api-key-prefix', 'with blank'], {}, /^--api-key-prefix: must be 1 to 16 letters, digits, "_" and "-"/],
    [['--api-key-prefix', 'a'.repeat(17)], {}, /^--api-key-prefix: must be 1 to 16/],
    [[], { API_KEY_PREFIX: 'ä' }, /^API_KEY_PREFIX: must be 1 to 16/],
    [
      ['--user-api-key-rotation-period', 'daily'],
      {},
      /^--user-api-key-rotation-period: must be weekly or monthly, not "daily"/,
    ],
    [['--user-api-key-ttl-days', '0'], {}, /^--user-api-key-ttl-days: must be whole days from 1 to 3650, not "0"/],
    [['--user-api-key-ttl-days', '3651'], {}, /must be whole days/],
    [['--user-api-key-ttl-days', '1.5'], {}, /must be whole days/],
  ])('refuses %j %j', (argv, environment, problem) => {
    expect(parse(argv, environment)).toEqual({ problem: expect.stringMatching(problem) });
  });
});
