/** What holds for every check of the catalogue, whatever it looks for. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { z } from '#crds/config/words.ts';
import { CATALOG } from '#gateway/catalog.ts';
import type { Check } from '#gateway/checks/check.ts';
import { CHECKS, compileCheck, findCheck } from '#gateway/checks/checks.ts';
import { runChecks } from '#gateway/checks/run-checks.ts';
import type { Subject } from '#gateway/checks/subject.ts';
import { type Cases, type CheckCase, startCases } from './cases.ts';
import { hanging, testMeans } from './means.ts';
import { answered, asked, checkOf, problemOf, request } from './subjects.ts';

const ROWS = CHECKS.map((check) => [check.id, check] as const);

let cases: Cases;
beforeAll(async () => {
  cases = await startCases();
});
afterAll(() => cases.close());

function caseOf(id: string): CheckCase {
  const found = cases.of.get(id);
  if (found === undefined) throw new Error(`${id} has no case`);
  return found;
}

const defects: unknown[] = [];

/** Through the runner: what a guardrail would say. */
async function results(id: string, subject: Subject, more: object = {}, means = caseOf(id).means) {
  const check = checkOf(id, { ...caseOf(id).parameters, ...more }, means);
  const run = await runChecks([check], subject, {
    sequential: false,
    totalMs: 20_000,
    signal: new AbortController().signal,
    onDefect: (_id, thrown) => defects.push(thrown),
  });
  const [result] = run.results;
  if (result === undefined) throw new Error('there is a result');
  return { ...result, body: run.subject.body };
}

function takes(check: Check, parameter: string): boolean {
  const schema = z.toJSONSchema(check.parameters, { io: 'input', unrepresentable: 'any' });
  return Object.hasOwn(schema.properties ?? {}, parameter);
}

describe('the catalogue', () => {
  it('has every id once, whatever its case', () => {
    const ids = CHECKS.flatMap(({ id, aliases }) => [id, ...aliases].map((name) => name.toLowerCase()));
    expect(new Set(ids).size).toBe(ids.length);
    expect([...cases.of.keys()].sort()).toEqual(CHECKS.map(({ id }) => id).sort());
  });

  it.each([
    ['regexMatch', 'default.regexMatch'],
    ['REGEXMATCH', 'default.regexMatch'],
    ['default.REGEXmatch', 'default.regexMatch'],
    ['allUppercase', 'default.alluppercase'],
    ['isAllUpperCase', 'default.alluppercase'],
    ['default.isAllLowerCase', 'default.alllowercase'],
    ['allLowercase', 'default.alllowercase'],
    ['acme.classify', '<vendor>.classify'],
    ['Acme-AI.Classify', '<vendor>.classify'],
    ['zscaler.policy', '<vendor>.policy'],
  ])('%s means %s', (id, meant) => {
    expect(findCheck(id)?.id).toBe(meant);
  });

  it.each([
    '',
    'nothing',
    'default.',
    'acme.nothing',
    'constructor',
    '__proto__',
    'default.toString',
    '.classify',
    'a b.classify',
    'x.y.classify',
  ])('has no check %j', (id) => {
    expect(findCheck(id)).toBeUndefined();
    expect(compileCheck(id, {}, testMeans())).toMatch(/is no check of the catalogue/);
    expect(problemOf(id, {})).toMatch(/catalogue/);
  });

  it('calls a check of a vendor by the vendor, any other by the canonical id', () => {
    expect(checkOf('ACME.classify', { apiEndpoint: 'http://x.example' }).id).toBe('acme.classify');
    expect(checkOf('NOTNULL', {}).id).toBe('default.notNull');
  });

  it('is what the operator is told', () => {
    expect(CATALOG.checks.map(({ id }) => id)).toEqual(CHECKS.map(({ id }) => id));
    expect(problemOf('wordCount', { minWords: 'x' })).toBe('parameters.minWords must be an integer, got a string');
    expect(problemOf('wordCount', undefined)).toBeUndefined();
  });
});

describe.each(ROWS)('%s', (id, check) => {
  it('is documented: a sentence, an example that compiles, parameters that are described', () => {
    expect(check.does).toMatch(/^[A-Z].*\.$/);
    expect(problemOf(id, check.example)).toBeUndefined();
    const { properties = {} } = z.toJSONSchema(check.parameters, { io: 'input', unrepresentable: 'any' });
    for (const [name, schema] of Object.entries(properties)) {
      expect(schema, name).toHaveProperty('description');
    }
  });

  it('passes what it should', async () => {
    const { verdict, error, transformed } = await results(id, caseOf(id).pass);
    expect({ verdict, error }).toEqual({ verdict: true, error: null });
    if (caseOf(id).fail === undefined && id !== 'default.log') expect(transformed).toBe(true);
  });

  it('fails what it should', async () => {
    const { fail } = caseOf(id);
    if (fail === undefined) return expect(takes(check, 'not')).toBe(false);
    expect(await results(id, fail)).toMatchObject({ verdict: false, error: null, transformed: false });
  });

  it('says the contrary with `not`', async () => {
    const { pass, fail } = caseOf(id);
    if (!takes(check, 'not')) return expect(problemOf(id, { ...caseOf(id).parameters, not: true })).toMatch(/not/);
    expect(await results(id, pass, { not: true })).toMatchObject({ verdict: false, error: null });
    if (fail !== undefined)
      expect(await results(id, fail, { not: true })).toMatchObject({ verdict: true, error: null });
  });

  it('names the field of wrong parameters, and never throws', () => {
    const { parameters, bad } = caseOf(id);
    expect(problemOf(id, { ...parameters, unheardOf: 1 })).toContain('unknown key "unheardOf"');
    expect(problemOf(id, { ...parameters, failOnError: 'no' })).toContain('parameters.failOnError must be');
    for (const [wrong, field] of bad) {
      const problem = compileCheck(id, wrong, testMeans());
      expect(problem, JSON.stringify(wrong).slice(0, 200)).toBeTypeOf('string');
      expect(problem).toContain(field);
    }
    for (const nothing of [7, 'x', [], true]) expect(problemOf(id, nothing)).toMatch(/parameters must be/);
  });

  it.each([
    ['empty', ''],
    ['emoji', '👩‍👩‍👧‍👦🏳️‍🌈 ok'],
    ['right to left', 'שלום \u202eعالم'],
    ['combining', 'e\u0301\u0301\u0301 Z\u0335\u0321a\u0334'],
    ['a lone surrogate', 'x\ud800y'],
    ['NUL and controls', 'a\0b\u0007\u2028'],
    ['names of prototypes', '{"__proto__": {"a": 1}, "constructor": 1} hasOwnProperty'],
  ])('comes to a verdict on a text that is %s', async (_what, said) => {
    for (const subject of [asked(said, caseOf(id).facts), answered(said, caseOf(id).facts)]) {
      expect((await results(id, subject)).error).toBeNull();
    }
    expect(defects).toEqual([]);
  });

  it('comes to a verdict on a body without any text', async () => {
    for (const body of [{}, { messages: [] }, { messages: [{ role: 'user', content: null }] }]) {
      expect((await results(id, request(body, caseOf(id).facts))).error).toBeNull();
    }
  });

  it('takes 1 MB in bounded time, or says that it is too long', async () => {
    const huge = `${'The quick brown fox, number 12 of 345, jumps. '.repeat(21_700)}${'ab'.repeat(700)}`;
    const began = performance.now();
    const { error } = await results(id, asked(huge, caseOf(id).facts));
    expect(performance.now() - began).toBeLessThan(4_000);
    if (error !== null) expect(error.message).toMatch(/too long|too many/i);
  });

  it('fails closed where the text is beyond all windows', async () => {
    const { error, verdict, data } = await results(id, asked('x '.repeat(1_500_000), caseOf(id).facts));
    if (error === null) return;
    expect(verdict).toBe(false);
    expect(error.message).toMatch(/too long/);
    expect(data).toMatchObject({ length: 3_000_000 });
  });

  it('never changes the body that it was given', async () => {
    const { pass } = caseOf(id);
    const before = structuredClone(pass.body);
    await results(id, pass);
    expect(pass.body).toEqual(before);
  });
});

const IDS = CHECKS.map(({ id }) => id);

describe('a check that asks somebody', () => {
  const SECRET = 'canary-credential';
  const asks = (id: string) => checkOf(id, caseOf(id).parameters).timeoutMs !== undefined;

  it('are most of the remote ones', () => {
    expect(IDS.filter(asks).length).toBeGreaterThanOrEqual(11);
  });

  it.each([
    ['refuses', () => Promise.reject(new Error(`connect to ${SECRET}`))],
    ['answers 500', async () => ({ status: 500, headers: {}, text: SECRET })],
    ['answers with HTML', async () => ({ status: 200, headers: {}, text: `<html>${SECRET}` })],
    ['answers with JSON of another shape', async () => ({ status: 200, headers: {}, text: `{"x":"${SECRET}"}` })],
    ['answers with null', async () => ({ status: 200, headers: {}, text: 'null' })],
  ])('fails closed where the service %s, and tells nothing of it', async (_what, call) => {
    const complete = async () => (await call()).text;
    const moderate = async () => JSON.parse((await call()).text) ?? {};
    const means = { ...testMeans(), call, complete, moderate, resolves: () => Promise.reject(new Error(SECRET)) };
    for (const id of IDS.filter(asks)) {
      if (id === 'default.inlineImageUrls' || id === 'default.log') continue;
      const { pass } = caseOf(id);
      const result = await results(id, pass, {}, means);
      expect(result, id).toMatchObject({ verdict: false, fail_on_error: true, transformed: false });
      expect(result.error?.message, id).toMatch(/\.$/);
      expect(JSON.stringify(result), id).not.toContain(SECRET);
      expect(await results(id, pass, { failOnError: false }, means), id).toMatchObject({
        verdict: true,
        fail_on_error: false,
      });
    }
  });

  it('is ended by its time, even where the service takes no notice', async () => {
    const never = () => new Promise<never>(() => undefined);
    for (const slow of [never, ({ signal }: { signal: AbortSignal }) => hanging(signal)]) {
      const means = {
        ...testMeans(),
        call: slow,
        complete: slow,
        moderate: slow,
        download: slow,
        resolves: (_: URL, signal: AbortSignal) => slow({ signal }),
      };
      for (const id of IDS.filter(asks)) {
        const name = id === 'default.inlineImageUrls' ? 'timeoutMs' : 'timeout';
        const began = performance.now();
        const result = await results(id, caseOf(id).pass, { [name]: 40 }, means);
        expect(performance.now() - began, id).toBeLessThan(3_000);
        expect(result.error?.message, id).toMatch(/longer than|could not be/);
        expect(result.verdict, id).toBe(id === 'default.inlineImageUrls');
      }
    }
  });

  it('works over real connections, and fails closed where they break', async () => {
    for (const { service, ...given } of cases.of.values()) {
      if (service === undefined) continue;
      const before = service.calls.length;
      const id = [...cases.of].find(([, { service: other }]) => other === service)?.[0] ?? '';
      const means = testMeans();
      expect((await results(id, given.pass, {}, means)).verdict, id).toBe(true);
      expect(service.calls.length, id).toBeGreaterThan(before);
    }
  });
});

describe('replies of services', () => {
  it.each([301, 400, 404, 429, 503])('with status %i are errors', async (status) => {
    for (const id of [
      '<vendor>.classify',
      '<vendor>.policy',
      'default.webhook',
      'default.presidio',
      'default.bedrockGuardrails',
    ]) {
      const means = testMeans({
        call: async () => ({ status, headers: {}, text: '{"verdict":true,"action":"NONE"}' }),
      });
      const result = await results(id, caseOf(id).pass, {}, means);
      expect(result.error?.message, id).toContain(String(status));
    }
  });
});
