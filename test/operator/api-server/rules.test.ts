/** The API server in memory keeps the rules of the real one: what that answered is written down in `rules/*.txt`. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { CONFIG_MAPS } from '#crds/api/api-object.ts';
import { cluster, startOwnCluster } from '../../cluster/cluster.ts';
import { describeCluster } from '../../cluster/describe-cluster.ts';
import { startApiServer } from '../../fakes/api-server/api-server.ts';
import { Asking } from './asking.ts';
import { APPLY_RULES } from './rules/applies.ts';
import { BUILT_IN_RULES } from './rules/built-in.ts';
import { CUSTOM_RULES } from './rules/custom.ts';
import { READ_RULES } from './rules/reads.ts';
import { FORGETTING_RULES, WATCH_RULES } from './rules/watches.ts';
import { WRITE_RULES } from './rules/writes.ts';
import { inCluster, inMemory, linesOf, type Rule, type RuleServer } from './server.ts';

type Table = readonly [name: string, rules: readonly Rule[]];

const TABLES: readonly Table[] = [
  ['writes', WRITE_RULES],
  ['custom', CUSTOM_RULES],
  ['applies', APPLY_RULES],
  ['built-in', BUILT_IN_RULES],
  ['reads', READ_RULES],
  ['watches', WATCH_RULES],
];
const FORGETTING: Table = ['forgetting', FORGETTING_RULES];

function fileOf(table: string): string {
  return join(import.meta.dirname, 'rules', `${table}.txt`);
}

/** By the name of the rule. */
function writtenDown(table: string): ReadonlyMap<string, readonly string[]> {
  const parts = readFileSync(fileOf(table), 'utf8').split(/^## /m).slice(1);
  return new Map(
    parts.map((part) => {
      const [name = '', ...lines] = part.trimEnd().split('\n');
      return [name, lines];
    }),
  );
}

async function answersOf(rules: readonly Rule[], server: RuleServer): Promise<string> {
  const parts = await Promise.all(rules.map((rule) => answerOf(rule, server)));
  return parts.join('\n');
}

async function answerOf(rule: Rule, server: RuleServer): Promise<string> {
  return `## ${rule.name}\n${(await linesOf(rule, server)).join('\n')}\n`;
}

describe('the API server in memory', () => {
  describe.each([...TABLES, FORGETTING])('%s', (table, rules) => {
    const written = writtenDown(table);
    let server: RuleServer;
    beforeAll(() => {
      server = inMemory();
    });
    afterAll(() => server.close());

    it('is asked all that was written down', () => {
      expect([...written.keys()]).toEqual(rules.map(({ name }) => name));
    });

    it.concurrent.each(rules.map((rule) => [rule.name, rule] as const))('%s', async (name, rule) => {
      expect(await linesOf(rule, server)).toEqual(written.get(name));
    });
  });

  it('refuses more requests than it can bear where a test says so', async () => {
    const server = startApiServer({ namespaces: ['busy'] });
    server.faults.onRequest({ times: 1 }, { status: 429, retryAfterSeconds: 7 });
    const transport = server.transport();
    const asking = new Asking(transport, 'busy');
    await asking.list(CONFIG_MAPS);
    await asking.list(CONFIG_MAPS);
    expect(asking.lines).toEqual([
      'GET /api/v1/namespaces/ns/configmaps -> 429 TooManyRequests {"retryAfterSeconds":7}',
      expect.stringContaining(' -> 200 {'),
    ]);
    server.faults.onRequest({}, { status: 429, retryAfterSeconds: 7 });
    const answer = await transport.send({ method: 'GET', path: '/api/v1/namespaces/busy/configmaps' });
    expect(answer.headers['retry-after']).toBe('7');
    server.close();
  });
});

describeCluster('a real API server', () => {
  let server: RuleServer;
  beforeAll(async () => {
    server = await inCluster(cluster());
  }, 60_000);
  afterAll(() => server?.close());

  it.each(TABLES)('%s: answers as it is written down', { timeout: 60_000 }, async (table, rules) => {
    await expect(await answersOf(rules, server)).toMatchFileSnapshot(fileOf(table));
  });
});

describeCluster('a real API server that forgets', () => {
  let own: Awaited<ReturnType<typeof startOwnCluster>>;
  let server: RuleServer;
  beforeAll(async () => {
    own = await startOwnCluster({ watchCache: false });
    server = await inCluster(own.cluster, () => own.plane.compact());
  }, 90_000);
  afterAll(async () => {
    await server?.close();
    await own?.plane.stop();
  });

  it('answers as it is written down', async () => {
    const [table, rules] = FORGETTING;
    const answers: string[] = [];
    for (const rule of rules) answers.push(await answerOf(rule, server));
    await expect(answers.join('\n')).toMatchFileSnapshot(fileOf(table));
  });
});
