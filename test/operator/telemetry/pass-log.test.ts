import { beforeEach, describe, expect, it } from 'vitest';
import { PassLog } from '#operator/telemetry/pass-log.ts';
import { object, pass } from './passes.ts';

let lines: unknown[];
let log: PassLog;

beforeEach(() => {
  lines = [];
  log = new PassLog({ event: (level, message, fields) => lines.push([level, message, fields]) });
});

const told = (...given: Parameters<typeof pass>) => {
  lines = [];
  log.pass(pass(...given));
  return lines;
};
const A = 'GatewayConfig default/a';

describe('the log of passes', () => {
  it('has a line for each publication', () => {
    const published = ['info', 'snapshot published', { generation: 1, objects: 1, duration_ms: 20 }];
    expect(told([object('a', 'pending')])).toEqual([published]);
    expect(told([object('a', 'served')])).toEqual([]);
    expect(told([object('a', 'served')], { generation: 2, tookMs: 3.7 })).toEqual([
      ['info', 'snapshot published', { generation: 2, objects: 1, duration_ms: 4 }],
    ]);
  });

  it('has a line for what is the matter with an object, when that changes, and when it is over', () => {
    told([]);
    const bad = (reason: string, message: string) => ['warn', 'object not in order', { object: A, reason, message }];
    expect(told([object('a', 'bad')])).toEqual([bad('InvalidSpec', 'spec: bad')]);
    expect(told([object('a', 'bad', 2)])).toEqual([]);
    expect(told([object('a', 'bad', 3, 'spec: worse')])).toEqual([bad('InvalidSpec', 'spec: worse')]);
    expect(told([object('a', 'refused', 4, 'gw-1: no')])).toEqual([bad('RefusedByGateway', 'gw-1: no')]);
    expect(told([object('a', 'served')])).toEqual([['info', 'object in order', { object: A }]]);
    told([object('a', 'bad')]);
    expect(told([])).toEqual([['info', 'object removed', { object: A }]]);
  });

  it('has none for what only takes its time', () => {
    told([]);
    for (const how of ['pending', 'unpublished', 'served']) expect(told([object('a', how)])).toEqual([]);
  });

  it('has a line for each Secret that cannot be written', () => {
    told([]);
    const failure = 'Secret default/k: forbidden';
    expect(told([], { writeFailures: [failure] })).toEqual([['error', 'not written', { failure }]]);
    expect(told([], { writeFailures: [failure] })).toEqual([]);
  });

  it('is not flooded by a great many', () => {
    told([]);
    const lines = told(Array.from({ length: 500 }, (_, index) => object(`o${index}`, 'bad')));
    expect(lines).toHaveLength(51);
    expect(lines.at(-1)).toEqual(['warn', 'more changes than are logged', { more: 450 }]);
  });
});
