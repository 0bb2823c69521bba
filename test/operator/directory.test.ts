/** The directory source against a real file system: live, patient, and never losing what was good. */
import {
  appendFileSync,
  chmodSync,
  mkdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { openDirectory } from '#operator/source/directory/directory.ts';
import type { Source } from '#operator/source/source.ts';
import { type Folder, makeFolder, names, open, problems, sleep, until } from './folder.ts';
import { documents, manifest } from './worlds.ts';

const config = (name: string, model = 'echo') =>
  manifest('GatewayConfig', 'default', name, { provider: 'simulator', override_params: { model } });

const ends: (() => unknown)[] = [];
afterEach(async () => {
  for (const end of ends.splice(0).reverse()) await end();
});

function folderWith(files: Record<string, string>): Folder {
  const folder = makeFolder(files);
  ends.push(() => folder.remove());
  return folder;
}

async function openIn(folder: Folder, options?: Parameters<typeof open>[1]): Promise<Source> {
  const source = await open(folder, options);
  ends.push(() => source.close());
  return source;
}

function modelOf(source: Source, name: string): unknown {
  const found = source.observe().manifests.find((one) => one.name === name);
  return (found?.raw.spec as { override_params?: { model?: string } } | undefined)?.override_params?.model;
}

describe('reading', () => {
  it('takes yaml, yml and json of all sub-folders, and nothing else', async () => {
    const folder = folderWith({
      'a.yaml': documents(config('a1'), config('a2')),
      'deep/er/b.yml': config('b'),
      'deep/c.json': config('c'),
      'README.md': config('readme'),
      '.hidden/d.yaml': config('hidden'),
      '.#a.yaml': config('lock'),
      'a.yaml~': config('backup'),
      'node_modules/x/e.yaml': config('dependency'),
      'empty.yaml': '',
      'comments.yaml': '# nothing yet\n---\n# nor here\n',
    });
    const source = await openIn(folder, { live: false });
    expect(names(source)).toEqual(['a1', 'a2', 'c', 'b'].map((name) => `GatewayConfig default/${name}`));
    expect(problems(source)).toEqual([]);
  });

  it('keeps file and line of every document', async () => {
    const text = `# a comment\n\n${config('first')}---\n# another\n${config('second')}`;
    const source = await openIn(folderWith({ 'sub/a.yaml': text }), { live: false });
    expect(source.observe().manifests.map(({ place }) => place)).toEqual([
      { file: 'sub/a.yaml', line: 3 },
      { file: 'sub/a.yaml', line: 6 },
    ]);
  });

  it.each([
    ['unclosed.yaml', 'a: 1\nb: [1, 2\n', /^unclosed\.yaml:\d+: Unparsable: /],
    ['tabs.yaml', 'a:\n\tb: 1\n', /^tabs\.yaml:2: Unparsable: /],
    ['twice.yaml', 'a: 1\na: 2\n', /^twice\.yaml:2: Unparsable: .*unique/],
    ['cut.json', '{"a": 1,\n"b": ', /^cut\.json:2: Unparsable: /],
    [
      'bomb.yaml',
      `a: &a [x, x, x, x, x, x, x, x, x, x]\n${'bcdefgh'
        .split('')
        .map((key, index) => `${key}: &${key} [${Array(10).fill(`*${'abcdefgh'[index]}`).join(', ')}]\n`)
        .join('')}`,
      /^bomb\.yaml:1: Unparsable: /,
    ],
    ['deep.yaml', '['.repeat(50_000), /^deep\.yaml:\d+: Unparsable: /],
    ['binary.yaml', '\u0000\u0001\u0002{{{', /^binary\.yaml:\d+: (Unparsable|InvalidManifest): /],
  ])('names the line of %s and reads the rest', async (file, text, expected) => {
    const source = await openIn(folderWith({ [file]: text, 'good.yaml': config('good') }), { live: false });
    expect(names(source)).toEqual(['GatewayConfig default/good']);
    expect(problems(source)).toHaveLength(1);
    expect(problems(source)[0]).toMatch(expected);
  });

  it('refuses a file that is too large by its size', async () => {
    const source = await openIn(folderWith({ 'huge.yaml': `# ${'x'.repeat(9 * 1024 * 1024)}\n` }), { live: false });
    expect(problems(source)).toEqual(['huge.yaml:1: Unparsable: the file is larger than 8 MiB']);
  });

  it('gives precedence to roots in their order, then to paths', async () => {
    const folder = folderWith({
      'z/a.yaml': config('chat', 'z'),
      'a/b.yaml': config('chat', 'b'),
      'a/a.yaml': config('chat', 'a'),
    });
    const source = await openIn(folder, { live: false, roots: [folder.at('z'), folder.at('a')] });
    expect(source.observe().manifests.map(({ place }) => place?.file)).toEqual(['z/a.yaml', 'a/a.yaml', 'a/b.yaml']);
  });

  it('reads a file that two roots contain once, and a root that is a file', async () => {
    const folder = folderWith({ 'a/a.yaml': config('a'), 'b.yaml': config('b') });
    const source = await openIn(folder, { live: false, roots: [folder.path, folder.at('a'), folder.at('b.yaml')] });
    expect(names(source)).toEqual(['GatewayConfig default/a', 'GatewayConfig default/b']);
  });

  it('follows links, and is not caught in a circle of them', async () => {
    const folder = folderWith({ 'real/a.yaml': config('a') });
    symlinkSync(folder.path, folder.at('real/loop'));
    symlinkSync('nowhere.yaml', folder.at('dangling.yaml'));
    const source = await openIn(folder, { live: false });
    expect(names(source)).toEqual(['GatewayConfig default/a']);
    expect(problems(source)).toEqual([]);
  });

  it('decodes Secrets and reads the environment', async () => {
    const text = `apiVersion: v1
kind: Secret
metadata: {name: s}
data: {a: ${Buffer.from('plain').toString('base64')}, b: ${Buffer.from('loses').toString('base64')}}
stringData: {b: wins, c: "$\{env:OPENAI_KEY}"}
`;
    const source = await openIn(folderWith({ 's.yaml': text }), { live: false });
    const [secret] = source.observe().secrets;
    expect(Object.fromEntries(secret?.values ?? [])).toEqual({ a: 'plain', b: 'wins', c: 'sk-from-the-environment' });
  });
});

describe('live', () => {
  it('sees an edit, a new file and a new folder within a second', async () => {
    const folder = folderWith({ 'a.yaml': config('a', 'one') });
    const source = await openIn(folder);
    folder.write('a.yaml', config('a', 'two'));
    await until(() => modelOf(source, 'a') === 'two');
    folder.write('b.yaml', config('b'));
    await until(() => names(source).includes('GatewayConfig default/b'));
    folder.write('new/folder/c.yaml', config('c'));
    await until(() => names(source).includes('GatewayConfig default/c'));
    folder.write('new/folder/c.yaml', config('c', 'two'));
    await until(() => modelOf(source, 'c') === 'two');
  });

  it('tells of each change, and of nothing when nothing changed', async () => {
    const folder = folderWith({ 'a.yaml': config('a') });
    const source = await openIn(folder);
    let calls = 0;
    source.onChange(() => {
      calls += 1;
    });
    await sleep(900);
    expect(calls).toBe(0);
    folder.write('a.yaml', config('a', 'two'));
    await until(() => calls === 1);
  });

  it('sees a file that was replaced by a rename, as editors do, without ever losing it', async () => {
    const folder = folderWith({ 'a.yaml': config('a', 'one') });
    const source = await openIn(folder);
    const seen = watchNames(source);
    for (const model of ['two', 'three']) {
      renameSync(folder.at('a.yaml'), folder.at('a.yaml~'));
      await sleep(100);
      folder.write('.a.yaml.tmp', config('a', model));
      renameSync(folder.at('.a.yaml.tmp'), folder.at('a.yaml'));
      await until(() => modelOf(source, 'a') === model);
    }
    expect(seen()).toEqual(['GatewayConfig default/a']);
  });

  it('removes the objects of a deleted file, a deleted folder and a deleted document', async () => {
    const folder = folderWith({
      'a.yaml': documents(config('a1'), config('a2')),
      'b/b.yaml': config('b'),
      'c.yaml': config('c'),
    });
    const source = await openIn(folder);
    rmSync(folder.at('c.yaml'));
    await until(() => !names(source).includes('GatewayConfig default/c'));
    rmSync(folder.at('b'), { recursive: true });
    await until(() => !names(source).includes('GatewayConfig default/b'));
    folder.write('a.yaml', config('a1'));
    await until(() => !names(source).includes('GatewayConfig default/a2'));
    expect(names(source)).toEqual(['GatewayConfig default/a1']);
  });

  it('keeps what was good while a file does not parse, and says where', async () => {
    const folder = folderWith({ 'a.yaml': documents(config('a', 'one'), config('b')), 'c.yaml': config('c') });
    const source = await openIn(folder);
    folder.write('a.yaml', `${config('a', 'two')}---\nkind: [\n`);
    await until(() => problems(source).length === 1);
    expect(problems(source)[0]).toMatch(/^a\.yaml:\d+: Unparsable: .*; its 2 last good objects are kept$/);
    expect(modelOf(source, 'a')).toBe('one');
    expect(names(source)).toHaveLength(3);
    folder.write('a.yaml', documents(config('a', 'three'), config('b')));
    await until(() => modelOf(source, 'a') === 'three' && problems(source).length === 0);
  });

  it('loses nothing to a file that is written in pieces', async () => {
    const whole = documents(config('a', 'two'), config('b', 'two'), config('c', 'two'));
    const folder = folderWith({ 'a.yaml': documents(config('a', 'one'), config('b', 'one'), config('c', 'one')) });
    const source = await openIn(folder);
    const seen = watchNames(source);
    writeFileSync(folder.at('a.yaml'), '');
    for (let at = 0; at < whole.length; at += Math.ceil(whole.length / 12)) {
      await sleep(40);
      appendFileSync(folder.at('a.yaml'), whole.slice(at, at + Math.ceil(whole.length / 12)));
    }
    await until(() => modelOf(source, 'c') === 'two');
    expect(seen()).toEqual(['a', 'b', 'c'].map((name) => `GatewayConfig default/${name}`));
    expect(modelOf(source, 'a')).toBe('two');
  });

  it('keeps the objects of a file that stays empty, and drops them with the file', async () => {
    const folder = folderWith({ 'a.yaml': config('a') });
    const source = await openIn(folder);
    folder.write('a.yaml', '');
    await until(() => problems(source).length === 1);
    expect(problems(source)[0]).toContain('EmptyFile');
    expect(names(source)).toEqual(['GatewayConfig default/a']);
    rmSync(folder.at('a.yaml'));
    await until(() => names(source).length === 0 && problems(source).length === 0);
  });

  it('never misses an object that moves from file to file, nor a renamed file', async () => {
    const folder = folderWith({ 'a.yaml': documents(config('mover'), config('stays')), 'b.yaml': config('other') });
    const source = await openIn(folder);
    const seen = watchNames(source);
    folder.write('a.yaml', config('stays'));
    folder.write('b.yaml', documents(config('other'), config('mover')));
    await until(() => source.observe().manifests.find(({ name }) => name === 'mover')?.place?.file === 'b.yaml');
    renameSync(folder.at('b.yaml'), folder.at('z.yaml'));
    await until(() => source.observe().manifests.find(({ name }) => name === 'mover')?.place?.file === 'z.yaml');
    await until(() => names(source).length === 3);
    expect(seen()).toEqual(['mover', 'other', 'stays'].map((name) => `GatewayConfig default/${name}`));
  });

  it('follows the swap of a mounted volume', async () => {
    const folder = makeVolume('..first', config('a', 'one'));
    const source = await openIn(folder);
    expect(names(source)).toEqual(['GatewayConfig default/a']);
    for (const [version, model] of [
      ['..second', 'two'],
      ['..third', 'three'],
    ] as const) {
      folder.write(`${version}/a.yaml`, config('a', model));
      symlinkSync(version, folder.at('..data_tmp'));
      renameSync(folder.at('..data_tmp'), folder.at('..data'));
      await until(() => modelOf(source, 'a') === model);
    }
    expect(names(source)).toEqual(['GatewayConfig default/a']);
  });

  it('keeps everything while a root is gone, and reads it anew when it is back', async () => {
    const folder = folderWith({ 'root/a.yaml': config('a', 'one') });
    const source = await openIn(folder, { roots: [folder.at('root')] });
    renameSync(folder.at('root'), folder.at('away'));
    await until(() => problems(source).some((line) => line.includes('Unreadable')));
    await sleep(500);
    expect(names(source)).toEqual(['GatewayConfig default/a']);
    mkdirSync(folder.at('root'));
    folder.write('root/a.yaml', config('a', 'two'));
    await until(() => modelOf(source, 'a') === 'two' && problems(source).length === 0);
  });

  it('sees an edit that leaves size and time as they were', async () => {
    const folder = folderWith({ 'a.yaml': config('a', 'one') });
    const source = await openIn(folder);
    const { atime, mtime } = statSync(folder.at('a.yaml'));
    const { utimesSync } = await import('node:fs');
    writeFileSync(folder.at('a.yaml'), config('a', 'two'));
    utimesSync(folder.at('a.yaml'), atime, mtime);
    await until(() => modelOf(source, 'a') === 'two');
  });

  it('stops when it is closed', async () => {
    const folder = folderWith({ 'a.yaml': config('a', 'one') });
    const source = await open(folder);
    await source.close();
    folder.write('a.yaml', config('a', 'two'));
    await sleep(700);
    expect(modelOf(source, 'a')).toBe('one');
  });
});

describe('generated Secrets', () => {
  const secret = {
    namespace: 'team-a',
    name: 'k-api-key',
    values: { api_key: 'mgw_123: "quoted"\n#' },
    owner: 'ApiKey team-a/k',
  };

  async function openWithSecrets(folder: Folder): Promise<Source> {
    const source = await openDirectory({
      manifests: [folder.at('manifests')],
      secretsDirectory: folder.at('data/secrets'),
      environment: () => undefined,
      shownFrom: folder.path,
      live: true,
    });
    ends.push(() => source.close());
    return source;
  }

  it('are private files, observed at once, and still there after a restart', async () => {
    const folder = folderWith({ 'manifests/a.yaml': config('a') });
    const source = await openWithSecrets(folder);
    await source.writeSecret(secret);
    const path = folder.at('data/secrets/team-a/k-api-key.yaml');
    expect(statSync(path).mode & 0o777).toBe(0o600);
    expect(statSync(join(path, '..')).mode & 0o777).toBe(0o700);
    expect(statSync(folder.at('data/secrets')).mode & 0o777).toBe(0o700);
    for (const opened of [source, await openWithSecrets(folder)]) {
      expect(opened.observe().secrets).toMatchObject([
        { namespace: 'team-a', name: 'k-api-key', generated: true, refused: undefined },
      ]);
      expect(opened.observe().secrets[0]?.values.get('api_key')).toBe(secret.values.api_key);
    }
  });

  it('never replace a file, whatever is in it', async () => {
    const folder = folderWith({
      'manifests/a.yaml': config('a'),
      'data/secrets/team-a/k-api-key.yaml': 'not: [parsable',
    });
    const source = await openWithSecrets(folder);
    await expect(source.writeSecret(secret)).rejects.toThrow(/exist/i);
    expect(readFileSync(folder.at('data/secrets/team-a/k-api-key.yaml'), 'utf8')).toBe('not: [parsable');
  });

  it.each(['../../etc', 'a/b', '', '.hidden', 'A'])('never leave their folder: %j', async (name) => {
    const folder = folderWith({ 'manifests/a.yaml': config('a') });
    const source = await openWithSecrets(folder);
    await expect(source.writeSecret({ ...secret, name })).rejects.toThrow('no name of a Secret');
    await expect(source.writeSecret({ ...secret, namespace: name })).rejects.toThrow('no name of a Secret');
  });

  it('vanish with their file', async () => {
    const folder = folderWith({ 'manifests/a.yaml': config('a') });
    const source = await openWithSecrets(folder);
    await source.writeSecret(secret);
    chmodSync(folder.at('data/secrets'), 0o700);
    rmSync(folder.at('data'), { recursive: true });
    await until(() => source.observe().secrets.length === 0);
    expect(names(source)).toEqual(['GatewayConfig default/a']);
  });
});

/** Names that were there all along. */
function watchNames(source: Source): () => string[] {
  let always = [...new Set(names(source))].sort();
  source.onChange(() => {
    const now = names(source);
    always = always.filter((name) => now.includes(name));
  });
  return () => always;
}

function makeVolume(version: string, text: string): Folder {
  const folder = folderWith({ [`${version}/a.yaml`]: text });
  symlinkSync(version, folder.at('..data'));
  symlinkSync('..data/a.yaml', folder.at('a.yaml'));
  return folder;
}
