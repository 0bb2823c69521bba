/** Embedded mode, as `npm start` runs it: a key that is replaced by a word in a manifest. */
import { readFileSync, statSync } from 'node:fs';
import { afterEach, describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { isMisspelt } from '#crds/keys/key-form.ts';
import { waitFor } from '../fakes/wait-for.ts';
import { endAll, type Running, start } from '../operator/embedded-process.ts';
import { type Folder, makeFolder } from '../operator/folder.ts';

afterEach(endAll);

const SOON_MS = 20_000;

function manifests(word?: string): string {
  const metadata =
    word === undefined ? '{name: app}' : `{name: app, annotations: {modelgateway.dev/rotate: "${word}"}}`;
  return `
apiVersion: modelgateway.dev/v1alpha1
kind: GatewayConfig
metadata: {name: house, annotations: {modelgateway.dev/default: "true"}}
spec: {provider: simulator}
---
apiVersion: modelgateway.dev/v1alpha1
kind: ApiKey
metadata: ${metadata}
spec: {type: workspace-service}
`;
}

const SECRET = 'data/secrets/default/app-api-key.yaml';
const ARGV = ['--manifests', 'm', '--data', 'data', '--api-key-prefix', 'acme-'];

function secretIn(folder: Folder): Readonly<Record<string, string>> {
  return parse(readFileSync(folder.at(SECRET), 'utf8')).stringData;
}

async function statusOf({ origin }: Running, key: string): Promise<number> {
  const response = await fetch(`${origin}/v1/chat/completions`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', authorization: `Bearer ${key}` },
    body: JSON.stringify({ model: 'm', messages: [{ role: 'user', content: 'Hello' }] }),
  });
  await response.text();
  return response.status;
}

describe('embedded mode', () => {
  it('replaces a key for a word in its manifest; both work, over a kill and a restart too', {
    timeout: 90_000,
  }, async () => {
    const folder = makeFolder({ 'm/all.yaml': manifests() });
    const first = await start(folder, ARGV);
    const { api_key: former = '' } = secretIn(folder);
    expect(former).toMatch(/^acme-[0-9A-Za-z]{49}$/);
    expect(isMisspelt(former, 'acme-')).toBe(false);
    expect(await statusOf(first, former)).toBe(200);
    folder.write('m/all.yaml', manifests('leaked'));
    await waitFor(() => secretIn(folder)['api_key'] !== former, 'a new key', SOON_MS);
    const { api_key: present = '', rotation_word: word } = secretIn(folder);
    expect(word).toBe('leaked');
    expect(statSync(folder.at(SECRET)).mode & 0o777).toBe(0o600);
    expect(await statusOf(first, present)).toBe(200);
    expect(await statusOf(first, former)).toBe(200);
    first.child.kill('SIGKILL');
    await first.ended;
    const second = await start(folder, ARGV);
    expect(secretIn(folder)['api_key']).toBe(present);
    expect([await statusOf(second, present), await statusOf(second, former)]).toEqual([200, 200]);
    expect(await statusOf(second, `${present.slice(0, -1)}${present.endsWith('a') ? 'b' : 'a'}`)).toBe(401);
    for (const { out, errors } of [first, second]) {
      for (const key of [former, present]) expect(errors()).not.toContain(key);
      expect(out()).not.toContain(present);
    }
  });

  it('goes on with a rotation that a kill cut in two', { timeout: 90_000 }, async () => {
    const folder = makeFolder({ 'm/all.yaml': manifests() });
    const first = await start(folder, ARGV);
    first.child.kill('SIGKILL');
    await first.ended;
    const { api_key: former = '' } = secretIn(folder);
    const next = `brought-along-${'n'.repeat(30)}`;
    folder.write(
      SECRET,
      readFileSync(folder.at(SECRET), 'utf8').replace('stringData:', `stringData:\n  next_api_key: ${next}`),
    );
    const second = await start(folder, ARGV);
    await waitFor(() => secretIn(folder)['api_key'] === next, 'the end of the rotation', SOON_MS);
    expect([await statusOf(second, next), await statusOf(second, former)]).toEqual([200, 200]);
    expect(secretIn(folder)).not.toHaveProperty('next_api_key');
  });

  it('ends a former key at the start where its time is over', { timeout: 90_000 }, async () => {
    const folder = makeFolder({ 'm/all.yaml': manifests() });
    const first = await start(folder, ARGV);
    folder.write('m/all.yaml', manifests('one'));
    await waitFor(() => 'previous_expires_at' in secretIn(folder), 'a transition', SOON_MS);
    first.child.kill('SIGKILL');
    await first.ended;
    const text = readFileSync(folder.at(SECRET), 'utf8');
    folder.write(SECRET, text.replace(/previous_expires_at: .*/, 'previous_expires_at: 2026-01-01T00:00:00Z'));
    await start(folder, ARGV);
    await waitFor(() => !('previous_expires_at' in secretIn(folder)), 'its end', SOON_MS);
    expect(secretIn(folder)).not.toHaveProperty('previous_api_key_sha256');
  });
});
