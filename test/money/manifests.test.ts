/** Prices in the manifest of an Integration: what is taken over, and what is refused. */
import { describe, expect, it } from 'vitest';
import { complaintsOf, MemoryWorld } from '../fakes/memory-world.ts';
import { object } from '../fakes/objects.ts';

function compiled(spec: object) {
  const { snapshot, statuses } = new MemoryWorld().compile(
    object('Integration', 'main', { provider: 'simulator', ...spec }),
  );
  return { record: snapshot.integrations[0], complaints: complaintsOf(statuses) };
}

function priced(pricing: object): object {
  return { models: [{ slug: 'm', pricing_config: pricing }] };
}

describe('prices of an Integration', () => {
  it('reach the gateways as they are written', () => {
    const pricing_adjustments = {
      multiplier: { default: '0.85', reasoning_token: 2, prediction_accepted_token: 0, image: { default: '1.5' } },
    };
    const pay_as_you_go = {
      request: { price: 0.001 },
      request_token: { price: '0.00000015' },
      cache_read_audio_input_token: { price: '0.000000000000000001' },
      tiers: [{ above_tokens: 200_000, request_token: { price: '0.0000003' } }],
    };
    const { record, complaints } = compiled({
      pricing_adjustments,
      ...priced({ pay_as_you_go, version: 'contract 7' }),
    });
    expect(complaints).toEqual([]);
    expect(record).toMatchObject({
      pricing_adjustments,
      models: [
        { slug: 'm', pricing_config: { type: 'static', currency: 'USD', version: 'contract 7', pay_as_you_go } },
      ],
    });
  });

  it('are not there where none are set', () => {
    const { record } = compiled({ models: [{ slug: 'm' }] });
    expect(record).not.toHaveProperty('pricing_adjustments');
    expect(record?.models).toEqual([{ slug: 'm', enabled: true }]);
  });

  const price = (value: unknown) => priced({ pay_as_you_go: { request_token: { price: value } } });
  it.each<[string, object, RegExp]>([
    ['below 0', price(-1), /spec\.models\[0\]\.pricing_config\.pay_as_you_go\.request_token\.price: .*/],
    ['a word', price('cheap'), /request_token\.price: .*decimal/],
    ['more digits than there are', price('0.0000000000000000001'), /request_token\.price: .*decimal/],
    ['an exponent in a text', price('1e-7'), /request_token\.price: .*decimal/],
    ['no object', priced({ pay_as_you_go: { request_token: 1 } }), /pay_as_you_go\.request_token/],
    ['of an unknown kind', priced({ pay_as_you_go: { request_tokens: { price: 1 } } }), /"request_tokens"/],
    ['without prices', priced({ type: 'static' }), /pricing_config\.pay_as_you_go/],
    ['in another currency', priced({ pay_as_you_go: {}, currency: 'EUR' }), /pricing_config\.currency.*USD/],
    ['of another way', priced({ pay_as_you_go: {}, type: 'dynamic' }), /pricing_config\.type.*static/],
    [
      'of a tier from no token on',
      priced({ pay_as_you_go: { tiers: [{ above_tokens: 0 }] } }),
      /pay_as_you_go\.tiers\[0\]\.above_tokens/,
    ],
    [
      'of too many tiers',
      priced({ pay_as_you_go: { tiers: Array.from({ length: 9 }, (_, index) => ({ above_tokens: index + 1 })) } }),
      /pay_as_you_go\.tiers/,
    ],
    ['multiplied by less than 0', { pricing_adjustments: { multiplier: { default: -0.5 } } }, /multiplier\.default/],
    [
      'multiplied by a word',
      { pricing_adjustments: { multiplier: { request_token: 'x' } } },
      /multiplier\.request_token/,
    ],
    ['multiplied for an unknown kind', { pricing_adjustments: { multiplier: { tokens: 1 } } }, /multiplier.*"tokens"/],
    [
      'of images multiplied without saying of which',
      { pricing_adjustments: { multiplier: { image: 2 } } },
      /multiplier\.image/,
    ],
    ['adjusted by nothing', { pricing_adjustments: {} }, /pricing_adjustments\.multiplier/],
  ])('%s are refused, naming the field', (_what, spec, message) => {
    const { record, complaints } = compiled(spec);
    expect(record).toBeUndefined();
    expect(complaints).toHaveLength(1);
    expect(complaints[0]).toMatch(message);
  });
});
