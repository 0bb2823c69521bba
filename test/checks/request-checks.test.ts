/** Checks of what surrounds a text: model, metadata, endpoint. */
import { describe, expect, it, test } from 'vitest';
import { answered, asked, find, problemOf, verdict } from './subjects.ts';

const withModel = (model: string | undefined) => asked('', { model });
const withMetadata = (metadata: Record<string, string>) => asked('', { metadata });

describe('default.modelWhitelist', () => {
  test.each<[models: string[], model: string, listed: boolean]>([
    [['gpt-4o'], 'gpt-4o', true],
    [['gpt-4o'], 'gpt-4o-mini', false],
    [['gpt-4o'], 'GPT-4o', false],
    [['gpt-4o*'], 'gpt-4o-mini', true],
    [['@team/*'], '@team/gpt-4o', true],
    [['@team/*'], '@teams/gpt-4o', false],
    [['*'], 'anything', true],
    [['a', 'b'], 'b', true],
    [['g.t'], 'gpt', false],
    [['x'], 'constructor', false],
  ])('%j and %s: %s', async (models, model, listed) => {
    expect(await find('modelWhitelist', { models }, withModel(model))).toEqual({ verdict: listed, data: { model } });
    expect(await verdict('modelWhitelist', { models, not: true }, withModel(model))).toBe(!listed);
  });

  it('fails a request without a model, turned round or not', async () => {
    expect(await verdict('modelWhitelist', { models: ['*'] }, withModel(undefined))).toBe(false);
    expect(await verdict('modelWhitelist', { models: ['*'], not: true }, withModel(undefined))).toBe(false);
  });

  it('works on answers as well', async () => {
    expect(await verdict('modelWhitelist', { models: ['m'] }, answered('x', { model: 'm' }))).toBe(true);
  });
});

describe('default.modelRules', () => {
  const rules = {
    defaults: ['small'],
    metadata: { tier: { gold: ['large', 'small'], tin: ['tiny*'] }, team: { research: ['lab-*'] } },
  };

  test.each<[metadata: Record<string, string>, model: string, allowed: boolean]>([
    [{}, 'small', true],
    [{}, 'large', false],
    [{ tier: 'gold' }, 'large', true],
    [{ tier: 'tin' }, 'tiny-2', true],
    [{ tier: 'tin' }, 'small', false],
    [{ tier: 'silver' }, 'small', true],
    [{ tier: 'silver' }, 'large', false],
    [{ tier: 'tin', team: 'research' }, 'lab-7', true],
    [{ tier: 'tin', team: 'research' }, 'tiny', true],
    [{ tier: 'tin', team: 'research' }, 'large', false],
    [{ tier: 'constructor' }, 'small', true],
    [{ constructor: 'gold' }, 'large', false],
  ])('%j may use %s: %s', async (metadata, model, allowed) => {
    expect(await verdict('modelRules', { rules }, asked('', { metadata, model }))).toBe(allowed);
    expect(await verdict('modelRules', { rules, not: true }, asked('', { metadata, model }))).toBe(!allowed);
  });

  it('says which rules applied', async () => {
    const subject = asked('', { metadata: { tier: 'gold', team: 'research' }, model: 'large' });
    expect((await find('modelRules', { rules }, subject)).data).toEqual({ model: 'large', rules: ['tier', 'team'] });
    expect((await find('modelRules', { rules }, withModel('x'))).data).toEqual({ model: 'x', rules: ['defaults'] });
  });

  it('allows nothing where no rule applies and there are no defaults', async () => {
    const only = { rules: { metadata: { tier: { gold: ['large'] } } } };
    expect(await verdict('modelRules', only, withModel('large'))).toBe(false);
    expect(await verdict('modelRules', only, withModel(undefined))).toBe(false);
  });
});

describe('default.allowedRequestTypes', () => {
  test.each<[parameters: object, type: string, passes: boolean]>([
    [{ allowedTypes: ['chatComplete'] }, 'chatComplete', true],
    [{ allowedTypes: ['chatComplete'] }, 'messages', false],
    [{ blockedTypes: ['embed'] }, 'chatComplete', true],
    [{ blockedTypes: ['embed'] }, 'embed', false],
    [{ allowedTypes: ['embed'], blockedTypes: ['embed'] }, 'embed', false],
    [{ blockedTypes: ['embed'], not: true }, 'embed', true],
    [{ allowedTypes: ['proxy'] }, 'constructor', false],
  ])('%j and %s: %s', async (parameters, endpointType, passes) => {
    expect(await verdict('allowedRequestTypes', parameters, asked('', { endpointType }))).toBe(passes);
  });
});

describe('default.requiredMetadataKeys', () => {
  test.each<[operator: string, metadata: Record<string, string>, passes: boolean]>([
    ['all', { a: '1', b: '2' }, true],
    ['all', { a: '1' }, false],
    ['any', { b: '' }, true],
    ['any', { c: '1' }, false],
    ['none', { c: '1' }, true],
    ['none', { a: '1' }, false],
  ])('%s of a and b in %j: %s', async (operator, metadata, passes) => {
    const parameters = { metadataKeys: ['a', 'b'], operator };
    expect(await verdict('requiredMetadataKeys', parameters, withMetadata(metadata))).toBe(passes);
    expect(await verdict('requiredMetadataKeys', { ...parameters, not: true }, withMetadata(metadata))).toBe(!passes);
  });

  it('knows no inherited key', async () => {
    expect(await verdict('requiredMetadataKeys', { metadataKeys: ['toString'] }, withMetadata({}))).toBe(false);
  });

  it('says which are missing, without their values', async () => {
    const { data } = await find('requiredMetadataKeys', { metadataKeys: ['a', 'b'] }, withMetadata({ a: 'canary' }));
    expect(data).toEqual({ operator: 'all', present: ['a'], missing: ['b'] });
  });
});

describe('default.requiredMetadataKeyPairs', () => {
  test.each<[matchType: string | undefined, wanted: string | string[], value: string, holds: boolean]>([
    [undefined, 'prod', 'prod', true],
    [undefined, 'prod', 'production', false],
    ['exact', ['prod', 'test'], 'test', true],
    ['exact', 'Prod', 'prod', false],
    ['contains', 'prod', 'eu-prod-1', true],
    ['contains', ['x', 'prod'], 'eu-prod-1', true],
    ['contains', ['x', 'y'], 'eu-prod-1', false],
    ['containsAll', ['eu', 'prod'], 'eu-prod-1', true],
    ['containsAll', ['us', 'prod'], 'eu-prod-1', false],
    ['regex', '^eu-(prod|test)-\\d$', 'eu-prod-1', true],
    ['regex', ['^us', '^eu'], 'eu-prod-1', true],
    ['regex', '^us', 'eu-prod-1', false],
    ['exact', '.*', 'x', false],
  ])('%s %j and %j: %s', async (matchType, wanted, value, holds) => {
    const parameters = { metadataPairs: { env: wanted }, ...(matchType !== undefined && { matchType }) };
    expect(await verdict('requiredMetadataKeyPairs', parameters, withMetadata({ env: value }))).toBe(holds);
    expect(await verdict('requiredMetadataKeyPairs', { ...parameters, not: true }, withMetadata({ env: value }))).toBe(
      !holds,
    );
    expect(await verdict('requiredMetadataKeyPairs', parameters, withMetadata({}))).toBe(false);
  });

  test.each<[operator: string, metadata: Record<string, string>, passes: boolean]>([
    ['all', { a: '1', b: '2' }, true],
    ['all', { a: '1', b: '3' }, false],
    ['any', { a: '0', b: '2' }, true],
    ['any', { a: '0' }, false],
    ['none', { a: '0' }, true],
    ['none', { b: '2' }, false],
  ])('%s of the pairs in %j: %s', async (operator, metadata, passes) => {
    const parameters = { metadataPairs: { a: '1', b: '2' }, operator };
    expect(await verdict('requiredMetadataKeyPairs', parameters, withMetadata(metadata))).toBe(passes);
  });

  it('refuses lookahead, naming the pair', () => {
    const parameters = { metadataPairs: { ok: 'x', env: ['a', '(?=b)'] }, matchType: 'regex' };
    expect(problemOf('requiredMetadataKeyPairs', parameters)).toMatch(
      /^parameters\.metadataPairs\.env must be a pattern in RE2/,
    );
  });

  it('tries hostile patterns in linear time (G20)', async () => {
    const parameters = { metadataPairs: { env: '^(a+)+$' }, matchType: 'regex' };
    const began = performance.now();
    expect(await verdict('requiredMetadataKeyPairs', parameters, withMetadata({ env: `${'a'.repeat(10_000)}!` }))).toBe(
      false,
    );
    expect(performance.now() - began).toBeLessThan(1_000);
  });
});
