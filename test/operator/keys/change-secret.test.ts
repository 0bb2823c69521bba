/** How a source changes a Secret that it made: whole, and only if it still is what was observed. */
import { chmodSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { afterEach, describe, expect, it } from 'vitest';
import { openDirectory } from '#operator/source/directory/directory.ts';
import type { Source } from '#operator/source/source.ts';
import type { SecretObject } from '#operator/world.ts';
import { type Folder, makeFolder, until } from '../folder.ts';

const ends: (() => unknown)[] = [];
afterEach(async () => {
  for (const end of ends.splice(0).reverse()) await end();
});

const PATH = 'secrets/team-a/k-api-key.yaml';

async function opened(): Promise<{ folder: Folder; source: Source; secret: () => SecretObject }> {
  const folder = makeFolder({ 'm/a.yaml': '' });
  ends.push(() => folder.remove());
  const source = await openDirectory({
    manifests: [folder.at('m')],
    secretsDirectory: folder.at('secrets'),
    environment: (name) => (name === 'WORD' ? 'from-the-environment' : undefined),
    shownFrom: folder.path,
    live: true,
  });
  ends.push(() => source.close());
  const values = { api_key: 'the-first-key-of-all', created_at: '2026-01-01T00:00:00Z' };
  await source.writeSecret({ namespace: 'team-a', name: 'k-api-key', values, owner: 'ApiKey team-a/k' });
  return { folder, source, secret: () => source.observe().secrets[0] as SecretObject };
}

const valuesOf = ({ values }: SecretObject) => Object.fromEntries(values);

describe('a generated Secret in a directory', () => {
  it('is changed field by field, and observed at once', async () => {
    const { folder, source, secret } = await opened();
    await source.changeSecret(secret(), { next_api_key: 'the-second-key-of-all', created_at: undefined });
    expect(valuesOf(secret())).toEqual({ api_key: 'the-first-key-of-all', next_api_key: 'the-second-key-of-all' });
    expect(statSync(folder.at(PATH)).mode & 0o777).toBe(0o600);
    expect(readFileSync(folder.at(PATH), 'utf8')).toMatch(/^# Generated for ApiKey team-a\/k/);
    expect(readdirSync(folder.at('secrets/team-a'))).toEqual(['k-api-key.yaml']);
  });

  it('that somebody edited since is left alone', async () => {
    const { folder, source, secret } = await opened();
    const seen = secret();
    const text = readFileSync(folder.at(PATH), 'utf8').replace('the-first-key', 'another-key');
    writeFileSync(folder.at(PATH), text);
    await expect(source.changeSecret(seen, { next_api_key: 'x' })).rejects.toThrow('changed by somebody else');
    expect(readFileSync(folder.at(PATH), 'utf8')).toBe(text);
    await until(() => secret() !== seen, 5_000);
    await source.changeSecret(secret(), { next_api_key: 'the-next-key-by-far' });
    expect(valuesOf(secret())).toMatchObject({ api_key: 'another-key-of-all', next_api_key: 'the-next-key-by-far' });
  });

  it('keeps comments, references and fields of others', async () => {
    const { folder, source, secret } = await opened();
    const text = [
      '# ours',
      'apiVersion: v1',
      'kind: Secret',
      'metadata: {name: k-api-key, namespace: team-a}',
      `data: {note: ${Buffer.from('hands off').toString('base64')}, rotated_at: ${Buffer.from('then').toString('base64')}}`,
      'stringData:',
      '  api_key: the-first-key-of-all # the key',
      `  word: $\{env:WORD}`,
      '',
    ].join('\n');
    writeFileSync(folder.at(PATH), text);
    await until(() => secret().values.has('word'), 5_000);
    await source.changeSecret(secret(), { rotated_at: 'now', next_api_key: 'the-second-key-of-all' });
    expect(valuesOf(secret())).toEqual({
      note: 'hands off',
      api_key: 'the-first-key-of-all',
      word: 'from-the-environment',
      rotated_at: 'now',
      next_api_key: 'the-second-key-of-all',
    });
    const changed = readFileSync(folder.at(PATH), 'utf8');
    for (const kept of ['# ours', '# the key', `$\{env:WORD}`]) expect(changed).toContain(kept);
    expect(changed).not.toContain('from-the-environment');
  });

  it.each([
    ['is gone', undefined, /ENOENT|no such file/],
    [
      'holds something else besides',
      '---\n{apiVersion: v1, kind: Secret, metadata: {name: b}}\n',
      /one Secret and nothing else/,
    ],
    ['cannot be read', '\n  : [', /cannot be read|one Secret/],
  ])('that %s is not written', async (_, more, why) => {
    const { folder, source, secret } = await opened();
    const seen = secret();
    const path = folder.at(PATH);
    const text = readFileSync(path, 'utf8');
    if (more === undefined) folder.remove();
    else writeFileSync(path, text + more);
    await expect(source.changeSecret(seen, { next_api_key: 'x' })).rejects.toThrow(why);
    if (more !== undefined) expect(readFileSync(path, 'utf8')).toBe(text + more);
  });

  it.runIf(process.getuid?.() !== 0)('is as it was where its folder takes no new file', async () => {
    const { folder, source, secret } = await opened();
    const before = readFileSync(folder.at(PATH), 'utf8');
    chmodSync(folder.at('secrets/team-a'), 0o500);
    ends.push(() => chmodSync(folder.at('secrets/team-a'), 0o700));
    await expect(source.changeSecret(secret(), { next_api_key: 'x' })).rejects.toThrow('EACCES');
    expect(readFileSync(folder.at(PATH), 'utf8')).toBe(before);
  });
});
