/** How imports are written, which doors a file may open, how files are called. The rooms themselves: `boundaries.test.ts`. */
import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { describe, expect, it } from 'vitest';
import { PROVIDERS } from '#gateway/providers/registry.ts';

const ROOT = join(import.meta.dirname, '..');
const ROOMS = ['crds', 'gateway', 'operator', 'test'] as const;
type Room = (typeof ROOMS)[number];

interface SourceFile {
  /** From the repository's root, e.g. `gateway/server.ts`. */
  readonly path: string;
  readonly text: string;
  /** Without comments. */
  readonly code: string;
}

function withoutComments(text: string): string {
  return text.replace(/\/\*[\s\S]*?\*\//g, '').replace(/^\s*\/\/.*$/gm, '');
}

function filesOf(room: Room): SourceFile[] {
  return readdirSync(join(ROOT, room), { recursive: true, encoding: 'utf8' })
    .filter((name) => /\.(ts|mjs)$/.test(name))
    .map((name) => {
      const path = join(room, name);
      const text = readFileSync(join(ROOT, path), 'utf8');
      return { path, text, code: withoutComments(text) };
    });
}

const FILES: Readonly<Record<Room, readonly SourceFile[]>> = {
  crds: filesOf('crds'),
  gateway: filesOf('gateway'),
  operator: filesOf('operator'),
  test: filesOf('test'),
};
const SOURCES = [...FILES.crds, ...FILES.gateway, ...FILES.operator];
const ALL = [...SOURCES, ...FILES.test];

/** Static, dynamic, of types, and for their effects. */
const IMPORT = /(?:\bfrom|\bimport)\s*\(?\s*['"]([^'"]+)['"]/g;

function importsOf({ code }: SourceFile): string[] {
  return [...code.matchAll(IMPORT)].map((match) => match[1] ?? '');
}

/** The room that an import leads to, where it leads to one. */
function roomOf(file: SourceFile, name: string): string | undefined {
  if (name.startsWith('#')) return name.slice(1, name.indexOf('/'));
  if (!name.startsWith('.')) return undefined;
  return relative(ROOT, join(ROOT, dirname(file.path), name)).split('/')[0];
}

/** `path: what` for each file where `find` finds something. */
function findings(files: readonly SourceFile[], find: (file: SourceFile) => readonly string[]): string[] {
  return files.flatMap((file) => find(file).map((what) => `${file.path}: ${what}`));
}

function matchesOf(pattern: RegExp): (file: SourceFile) => string[] {
  return ({ code }) => [...code.matchAll(pattern)].map((match) => match[0]);
}

describe('the arrows between the rooms', () => {
  it('are looked for in many files', () => {
    for (const room of ROOMS) expect(FILES[room].length, room).toBeGreaterThan(20);
    expect(ALL.flatMap(importsOf).length).toBeGreaterThan(1_000);
  });

  it.each(ROOMS)('within %s imports are relative, across rooms they name the room', (room) => {
    const wrong = findings(FILES[room], (file) =>
      importsOf(file).filter((name) => {
        const to = roomOf(file, name);
        return to !== undefined && name.startsWith('#') === (to === room);
      }),
    );
    expect(wrong).toEqual([]);
  });

  it('imports of files end in .ts', () => {
    const bare = findings(ALL, (file) =>
      importsOf(file).filter((name) => /^[.#]/.test(name) && !/\.(ts|json)$/.test(name)),
    );
    expect(bare).toEqual([]);
  });
});

describe('doors', () => {
  /** Names by which a module of Node's opens a connection; `createServer` and `isIP` open none. */
  const OPENERS = /\b(?:connect|request|get|createConnection|Socket|TLSSocket|Agent|Pool|Client|fetch)\b/;
  const NETWORK = /^import (?!type\b)([^;]+?) from '(?:node:)?(?:net|tls|http|https|http2|dgram|undici)';$/gm;

  it('upstream sockets are opened at one place', () => {
    const openers = FILES.gateway.filter(({ code }) =>
      [...code.matchAll(NETWORK)].some(([, names = '']) => OPENERS.test(names.replace(/\btype \w+/g, ''))),
    );
    expect(openers.map(({ path }) => path)).toEqual(['gateway/upstream/http1/connection.ts']);
  });

  it('nothing else of the platform opens one', () => {
    const others = matchesOf(
      /\bfetch\(|\bnew (?:WebSocket|EventSource|Socket)\(|\* as \w+ from 'node:(?:net|tls|https?|http2)'/g,
    );
    expect(findings([...FILES.gateway, ...FILES.operator], others)).toEqual([]);
  });

  it('only what starts and ends a process ends it', () => {
    const enders = new Set(
      findings(SOURCES, matchesOf(/\bprocess\.(?:exit\(|exitCode\b|abort\(|kill\()/g)).map(
        (line) => line.split(':')[0],
      ),
    );
    const entries = /(?:^|\/)(?:main|embedded|validate|entry)\.ts$|bootstrap\.mjs$/;
    expect([...enders].filter((path) => !entries.test(path ?? ''))).toEqual([]);
  });
});

describe('providers', () => {
  /** The wire format that others have as well. */
  const SHARED = 'openai';
  /** Two names are those of wire formats too, which callers speak as well. */
  const DIALECTS = new Set(['openai', 'anthropic']);
  const outside = FILES.gateway.filter(({ path }) => !path.startsWith('gateway/providers/'));

  it.each([...PROVIDERS.keys()].filter((name) => !DIALECTS.has(name)))(
    '%s is named in its own folder alone',
    (name) => {
      const found = findings([...outside, ...FILES.operator], ({ code }) => {
        return code.includes(`'${name}'`) || code.includes(`"${name}"`) ? [name] : [];
      });
      expect(found).toEqual([]);
    },
  );

  it.each([...DIALECTS])('%s is compared with as a dialect alone', (name) => {
    const compared = findings(outside, matchesOf(new RegExp(`(\\w+(?:\\.\\w+)*) [!=]== '${name}'`, 'g')));
    expect(compared.filter((line) => !/dialect [!=]==/i.test(line))).toEqual([]);
  });

  it('do not know each other, but for the wire format that many share', () => {
    const strangers = findings(FILES.gateway, (file) => {
      const own = /^gateway\/providers\/([^/]+)\//.exec(file.path)?.[1];
      if (own === undefined) return [];
      return importsOf(file).filter((name) => {
        const other = /^gateway\/providers\/([^/]+)\//.exec(relative(ROOT, join(ROOT, dirname(file.path), name)))?.[1];
        return other !== undefined && other !== own && other !== SHARED;
      });
    });
    expect(strangers).toEqual([]);
  });
});

describe('every file', () => {
  /** They name what is nowhere else. */
  const ABOUT_WORDS = new Set(['test/boundaries.test.ts', 'test/file-shape.test.ts']);

  it.each([
    ['the type any', /(?::|\bas|<|\|)\s*any\b(?!\w)(?=\s*[;,)>=|[\]{}]|$)/gm],
    ['a default export', /^export default (?!defineConfig)/gm],
    ['an enum or a namespace', /^\s*(?:export )?(?:declare )?(?:const )?(?:enum|namespace) \w+ /gm],
    ['a debugger statement', /^\s*debugger\b/gm],
  ])('has nowhere %s', (_what, pattern) => {
    expect(findings(ALL, matchesOf(pattern))).toEqual([]);
  });

  it.each(['ts-ignore', 'ts-expect-error', 'ts-nocheck', 'biome-ignore', 'eslint-disable', 'TODO', 'FIXME', 'XXX'])(
    'has nowhere %s',
    (word) => {
      const others = ALL.filter(({ path }) => !ABOUT_WORDS.has(path));
      expect(others.filter(({ text }) => new RegExp(`\\b${word}\\b`).test(text)).map(({ path }) => path)).toEqual([]);
    },
  );

  it('is named after what it holds, in kebab case', () => {
    const VAGUE = /(?:^|-)(?:utils?|helpers?|common|misc|manager|service|handler|impl|base|data|info)(?:-|$)/;
    const names = ALL.map(
      ({ path }) =>
        [
          path,
          path
            .split('/')
            .at(-1)
            ?.replace(/(?:\.test)?\.(?:ts|mjs)$/, '') ?? '',
        ] as const,
    );
    const wrong = names.filter(([, name]) => VAGUE.test(name) || !/^[a-z0-9]+(?:-[a-z0-9]+)*(?:\.config)?$/.test(name));
    expect(wrong.map(([path]) => path)).toEqual([]);
  });
});
