/** What `--store` takes. */
import { describe, expect, it } from 'vitest';
import { shownAddress, storeAddress } from '#crds/command/store-address.ts';

const PLAIN = { kind: 'single', isTls: false, master: '', database: 0, username: undefined, password: undefined };

describe('the address of a store', () => {
  it.each([
    ['redis://db', { ...PLAIN, nodes: [{ host: 'db', port: 6379 }] }],
    ['redis://db:7000/3', { ...PLAIN, database: 3, nodes: [{ host: 'db', port: 7000 }] }],
    ['rediss://[fd00::1]:7000', { ...PLAIN, isTls: true, nodes: [{ host: 'fd00::1', port: 7000 }] }],
    ['redis://:s%2Fcret@db', { ...PLAIN, password: 's/cret', nodes: [{ host: 'db', port: 6379 }] }],
    ['redis://word@db', { ...PLAIN, password: 'word', nodes: [{ host: 'db', port: 6379 }] }],
    ['redis://us:pa:ss@db', { ...PLAIN, username: 'us', password: 'pa:ss', nodes: [{ host: 'db', port: 6379 }] }],
    ['redis://us:@db/', { ...PLAIN, username: 'us', nodes: [{ host: 'db', port: 6379 }] }],
    [
      'redis+sentinel://a,b:27000/counts/2',
      {
        ...{ ...PLAIN, kind: 'sentinel', master: 'counts', database: 2 },
        nodes: [
          { host: 'a', port: 26379 },
          { host: 'b', port: 27000 },
        ],
      },
    ],
    [
      'rediss+cluster://:pw@a:1,b:2',
      {
        ...{ ...PLAIN, kind: 'cluster', isTls: true, password: 'pw' },
        nodes: [
          { host: 'a', port: 1 },
          { host: 'b', port: 2 },
        ],
      },
    ],
  ])('%s', (text, value) => {
    expect(storeAddress(text)).toEqual({ value });
  });

  it.each([
    ['http://:geheim@db', /^must be redis:\/\/host/],
    ['geheim@db:6379', /^must be redis:\/\//],
    ['redis://', /^must be redis:\/\//],
    ['redis://:geheim@a,b', /several hosts: must begin with redis\+sentinel/],
    ['redis://:geheim@db:99999', /host:port/],
    ['redis://:geheim@db:0', /host:port/],
    ['redis://:geheim@db/name', /database by a number/],
    ['redis+sentinel://:geheim@a,b', /must end with \/<the master's name>/],
    ['redis+cluster://:geheim@a/1', /must name no database/],
    ['redis://:geheim%zz@db', /special characters .* as %XX/],
  ])('%s is refused, without a word of its password', (text, problem) => {
    const outcome = storeAddress(text);
    expect(outcome).toEqual({ problem: expect.stringMatching(problem) });
    expect(JSON.stringify(outcome)).not.toContain('geheim');
  });

  it.each([
    ['redis://us:pw@db', 'redis://db:6379'],
    ['rediss+sentinel://us:pw@a,[::1]/counts', 'rediss+sentinel://a:26379,[::1]:26379/counts'],
  ])('%s is shown as %s', (text, shown) => {
    const outcome = storeAddress(text);
    expect('value' in outcome && shownAddress(outcome.value)).toBe(shown);
  });
});
