import { describe, expect, it } from 'vitest';
import { changedObjects, recordsByObject } from '#operator/apply/fingerprints.ts';
import { compileText, documents, manifest } from '../worlds.ts';

const SECRET = manifest('Secret', 'team-a', 'openai', { key: 'sk-one' });
const KEY_SECRET = manifest('Secret', 'team-a', 'k-api-key', { api_key: 'key-number-one-of-the-test' });
const CONFIG = manifest('GatewayConfig', 'team-a', 'chat', {
  strategy: { mode: 'fallback' },
  targets: [
    { provider: 'openai', api_key: 'sk-plain' },
    { provider: 'anthropic', api_key: 'sk-other' },
  ],
});
const INTEGRATION = manifest('Integration', 'team-a', 'openai', {
  provider: 'openai',
  secret_mappings: [{ target_field: 'api_key', secret_name: 'openai', secret_key: 'key' }],
});
const KEY = manifest('ApiKey', 'team-a', 'k', { type: 'workspace-service' });
const BAD = manifest('GatewayConfig', 'team-a', 'bad', { provider: 'nobody' });
const ALL = documents(SECRET, KEY_SECRET, CONFIG, INTEGRATION, KEY, BAD);

const recordsOf = (text: string) => recordsByObject(compileText(text).snapshot);
const changed = (before: string, after: string) => [...changedObjects(recordsOf(before), recordsOf(after))].sort();

describe('records by object', () => {
  it('has every object that the snapshot tells of, with all its records', () => {
    const counts = [...recordsOf(ALL)].map(([identity, records]) => [identity, records.length]);
    expect(Object.fromEntries(counts)).toEqual({
      'GatewayConfig team-a/chat': 3,
      'Integration team-a/openai': 2,
      'ApiKey team-a/k': 1,
      'GatewayConfig team-a/bad': 1,
    });
  });
});

describe('changed objects', () => {
  it.each([
    ['the same world compiled twice: none', ALL, ALL, []],
    ['another order of manifests: none', ALL, documents(BAD, KEY, INTEGRATION, CONFIG, KEY_SECRET, SECRET), []],
    ['a spec', ALL, ALL.replace('"fallback"', '"loadbalance"'), ['GatewayConfig team-a/chat']],
    ['a credential in a spec', ALL, ALL.replace('sk-other', 'sk-new'), ['GatewayConfig team-a/chat']],
    ['a credential in a Secret', ALL, ALL.replace('sk-one', 'sk-two'), ['Integration team-a/openai']],
    ['a key', ALL, ALL.replace('key-number-one', 'key-number-two'), ['ApiKey team-a/k']],
    ['why one is refused', ALL, ALL.replace('{"provider":"nobody"}', '{"nothing":1}'), ['GatewayConfig team-a/bad']],
    ['one that is new', ALL.replace(KEY, manifest('Secret', 'x', 'y', {})), ALL, ['ApiKey team-a/k']],
    ['one that is gone', ALL, ALL.replace(CONFIG, SECRET.replace('openai', 'z')), ['GatewayConfig team-a/chat']],
  ] as const)('%s', (_, before, after, expected) => {
    expect(changed(before, after)).toEqual(expected);
  });

  it('are found among thousands without stalling', () => {
    const many = Array.from({ length: 3000 }, (_, index) =>
      manifest('GatewayConfig', `team-${index % 20}`, `c${index}`, { provider: 'simulator', retry: { attempts: 2 } }),
    );
    const before = recordsOf(documents(...many));
    many[7] = (many[7] ?? '').replace('"attempts":2', '"attempts":3');
    const { snapshot } = compileText(documents(...many));
    const startedMs = performance.now();
    expect([...changedObjects(before, recordsByObject(snapshot))]).toEqual(['GatewayConfig team-7/c7']);
    expect(performance.now() - startedMs).toBeLessThan(300);
  });
});
