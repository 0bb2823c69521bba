import { describe, expect, test } from 'vitest';
import { movesOn } from '#gateway/route/fallback.ts';
import type { Reply } from '#gateway/route/reply.ts';
import { NETWORK, reply, TIMEOUT } from './world.ts';

const STAYS = [
  200, 201, 204, 246, 300, 304, 400, 402, 405, 406, 410, 411, 412, 413, 414, 415, 416, 417, 418, 422, 423, 424, 426,
  428, 431, 446, 451,
];
const MOVES = [401, 403, 404, 408, 409, 425, 429, 500, 501, 502, 503, 504, 505, 507, 508, 511, 520, 529, 599];

describe('movesOn', () => {
  test.each(MOVES)('%d moves on by default', (status) => {
    expect(movesOn(reply(status), undefined)).toBe(true);
  });

  test.each(STAYS)('%d stays by default', (status) => {
    expect(movesOn(reply(status), undefined)).toBe(false);
  });

  test('with a list exactly the list decides, for every status', () => {
    const codes = new Set([246, 404, 422, 446, 503]);
    for (const status of [...STAYS, ...MOVES])
      expect([status, movesOn(reply(status), codes)]).toEqual([status, codes.has(status)]);
  });

  test.each<[string, Reply, number[] | undefined, boolean]>([
    ['network error', NETWORK, undefined, true],
    ['network error, 502 listed', NETWORK, [502], true],
    ['network error, 502 not listed', NETWORK, [503], false],
    ['timeout', TIMEOUT, undefined, true],
    ['timeout, 408 listed', TIMEOUT, [408], true],
    ['timeout, 408 not listed', TIMEOUT, [504], false],
    ['small context', reply(400, { contextTooSmall: true }), undefined, true],
    ['small context, only 503 listed', reply(400, { contextTooSmall: true }), [503], false],
    ['any 400 where it is listed', reply(400), [400], true],
    ['a small context is a 400 or nothing', reply(413, { contextTooSmall: true }), undefined, false],
    ['our refusal 403', reply(403, { failure: 'refused' }), undefined, true],
    ['our refusal 501', reply(501, { failure: 'refused' }), undefined, true],
    ['our refusal 400', reply(400, { failure: 'refused' }), undefined, false],
    ['our refusal 403, not listed', reply(403, { failure: 'refused' }), [429], false],
    ['final', reply(502, { failure: 'network', final: true }), undefined, false],
    ['final, though listed', reply(502, { failure: 'network', final: true }), [502], false],
    ['a stream that runs, though listed', reply(200, { streaming: true }), [200], false],
    ['an empty list', reply(503), [], false],
  ])('%s', (_name, answered, codes, expected) => {
    expect(movesOn(answered, codes && new Set(codes))).toBe(expected);
  });
});
