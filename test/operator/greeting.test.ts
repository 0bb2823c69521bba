/** The call that is offered to a new user, for every kind of beginning. */
import { describe, expect, it } from 'vitest';
import { compile } from '#operator/compile/compile.ts';
import { type GreetingInput, greetingOf } from '#operator/greeting.ts';
import { documents, manifest, TOOLS, worldOf } from './worlds.ts';

const key = manifest('ApiKey', 'default', 'k', { type: 'workspace-user' });
const secret = manifest('Secret', 'default', 'k-api-key', { api_key: "it's-a-key-of-16-or-more" });
const isDefault = { 'modelgateway.dev/default': 'true' };
const config = manifest(
  'GatewayConfig',
  'default',
  'chat',
  { provider: 'simulator', override_params: { model: 'small' } },
  isDefault,
);

function greet(text: string, options: Partial<GreetingInput> & { generated?: boolean } = {}): string {
  const { generated = false, ...rest } = options;
  const world = worldOf({ 'a.yaml': text });
  const observation = { ...world, secrets: world.secrets.map((one) => ({ ...one, generated })) };
  const { snapshot } = compile(observation, new Map(), TOOLS);
  const origins = { origin: 'http://127.0.0.1:1', adminOrigin: 'http://127.0.0.1:2' };
  return greetingOf({
    ...origins,
    snapshot,
    observation,
    open: false,
    terminal: false,
    pathOf: (file) => `/data/${file}`,
    ...rest,
  });
}

describe('the greeting', () => {
  it('shows a generated key on a terminal, quoted for the shell', () => {
    expect(greet(documents(config, key, secret), { generated: true, terminal: true })).toContain(
      `-H 'x-gateway-api-key: it'\\''s-a-key-of-16-or-more'`,
    );
  });

  it('shows only where the key is in a log', () => {
    const text = greet(documents(config, key, secret), { generated: true });
    expect(text).not.toContain('16-or-more');
    expect(text).toContain(`$(sed -n 's/^ *api_key: //p' '/data/a.yaml')`);
  });

  it.each([true, false])("never shows a user's own key (terminal: %s)", (terminal) => {
    const text = greet(documents(config, key, secret), { terminal });
    expect(text).not.toContain('16-or-more');
    expect(text).toContain('<api_key of Secret default/k-api-key>');
  });

  it('offers the model of the default config, else one of an Integration', () => {
    expect(greet(documents(config, key, secret))).toContain('"model":"small"');
    const integration = manifest('Integration', 'default', 'sim', { provider: 'simulator', models: [{ slug: 'm' }] });
    expect(greet(documents(integration, key, secret))).toContain('"model":"@sim/m"');
  });

  it("follows the key's own config", () => {
    const bound = manifest('ApiKey', 'default', 'k', { type: 'workspace-user', defaults: { config_id: 'other' } });
    const other = manifest('GatewayConfig', 'default', 'other', {
      provider: 'simulator',
      override_params: { model: 'large' },
    });
    expect(greet(documents(config, other, bound, secret))).toContain('"model":"large"');
  });

  it('offers nothing that would fail', () => {
    expect(greet(config)).toContain('every call ends in 401');
    expect(greet(config)).not.toContain('curl');
    expect(greet(documents(key, secret))).toContain('Nothing in default can answer yet');
    const spent = manifest('ApiKey', 'default', 'k', { type: 'workspace-user', disabled: true });
    expect(greet(documents(config, spent, secret))).not.toContain('curl');
  });

  it('needs no key where none is asked', () => {
    const text = greet(config, { open: true });
    expect(text).toContain('curl');
    expect(text).not.toContain('x-gateway-api-key');
  });
});
