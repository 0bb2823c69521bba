/** What a config is told of a cache that is to compare meanings. */
import { describe, expect, it } from 'vitest';
import type { WorldSettings } from '#operator/world.ts';
import { MemoryWorld } from '../fakes/memory-world.ts';
import { config, object } from '../fakes/objects.ts';

const EMBEDDER = { slug: 'embedder', model: 'e-3' };

function warningOf(manifests: string, settings: Partial<WorldSettings>): string | undefined {
  const { statuses } = new MemoryWorld(settings).compile(manifests);
  const status = statuses.find(({ kind }) => kind === 'GatewayConfig');
  return status?.conditions.find(({ type }) => type === 'Warning')?.message;
}

function integration(namespace: string): string {
  return object('Integration', 'embedder', { provider: 'simulator' }, { namespace });
}

const ALIKE = config('alike', { provider: 'simulator', cache: { mode: 'semantic' } });

describe('a config with a semantic cache', () => {
  it('is warned where the installation names no model', () => {
    expect(warningOf(ALIKE, {})).toBe(
      'spec.cache.mode: semantic is as simple here: the installation names no --embedding-model',
    );
  });

  it('is warned where the Integration of the model is not in the organisation namespace', () => {
    for (const elsewhere of ['', integration('default')])
      expect(warningOf(ALIKE + elsewhere, { embeddingModel: EMBEDDER })).toContain('--embedding-model: ');
  });

  it('is not where it is there', () => {
    expect(warningOf(ALIKE + integration('model-gateway'), { embeddingModel: EMBEDDER })).toBeUndefined();
  });

  it('names each place', () => {
    const targets = [{ provider: 'simulator' }, { provider: 'simulator', cache: { mode: 'semantic' } }];
    const warning = warningOf(
      config('alike', { strategy: { mode: 'fallback' }, cache: { mode: 'semantic' }, targets }),
      {},
    );
    expect(warning).toContain('spec.cache.mode, spec.targets[1].cache.mode: ');
  });

  it('is told nothing of a simple one', () => {
    expect(warningOf(config('equal', { provider: 'simulator', cache: { mode: 'simple' } }), {})).toBeUndefined();
  });
});
