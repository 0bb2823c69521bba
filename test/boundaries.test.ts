/** The rooms and their one direction. How files are written: `file-shape.test.ts`. */
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';

const ROOT = join(import.meta.dirname, '..');
const ROOMS = ['crds', 'gateway', 'operator', 'test'] as const;
type Room = (typeof ROOMS)[number];

interface Source {
  readonly path: string;
  readonly room: Room;
  readonly text: string;
  /** What it imports, as written. */
  readonly imports: readonly string[];
}

const SOURCES: readonly Source[] = ROOMS.flatMap((room) =>
  globSync(`${room}/**/*.ts`, { cwd: ROOT }).map((path) => {
    const text = readFileSync(join(ROOT, path), 'utf8');
    const imports = [...text.matchAll(/(?:from|import)\s*\(?\s*'([^']+)'/g)].map((match) => match[1] ?? '');
    return { path, room, text, imports };
  }),
);
const PRODUCT = SOURCES.filter(({ room }) => room !== 'test');

/** The room that an import leads to; undefined for a package. */
function roomOf(specifier: string): string | undefined {
  return /^#(\w+)\//.exec(specifier)?.[1];
}

/** A tool, no part of the language: it writes the references of errors, prices and checks too. */
const GENERATOR = 'crds/generate/main.ts';

const MAY_USE: Readonly<Record<Room, readonly string[]>> = {
  crds: [],
  gateway: ['crds'],
  operator: ['crds', 'gateway'],
  test: ['crds', 'gateway', 'operator', 'test'],
};

describe('rooms', () => {
  it('there are files to look at', () => {
    for (const room of ROOMS) expect(SOURCES.filter((source) => source.room === room).length).toBeGreaterThan(20);
  });

  it.each(ROOMS)('%s imports only what lies before it', (room) => {
    const wrong = SOURCES.filter((source) => source.room === room && source.path !== GENERATOR).flatMap(
      ({ path, imports }) =>
        imports
          .map((specifier) => [roomOf(specifier), specifier] as const)
          .filter(([other]) => other !== undefined && !MAY_USE[room].includes(other))
          .map(([, specifier]) => `${path}: ${specifier}`),
    );
    expect(wrong).toEqual([]);
  });

  it('the operator knows of the gateway only its catalogue; embedded mode alone its server', () => {
    const wrong = SOURCES.filter(({ room, path }) => room === 'operator' && path !== 'operator/embedded.ts').flatMap(
      ({ path, imports }) =>
        imports
          .filter((specifier) => specifier.startsWith('#gateway/') && specifier !== '#gateway/catalog.ts')
          .map((specifier) => `${path}: ${specifier}`),
    );
    expect(wrong).toEqual([]);
  });
});

describe('the code', () => {
  it('reads the environment only where a process begins', () => {
    const reading = PRODUCT.filter(({ text }) => /process\.env\b/.test(text)).map(({ path }) => path);
    const entries = ['operator/embedded.ts', 'operator/validate.ts', 'operator/main.ts', 'gateway/main.ts'];
    expect(reading.filter((path) => !entries.includes(path))).toEqual([]);
  });

  it('has no file of more than 350 lines', () => {
    const long = PRODUCT.map(({ path, text }) => [path, text.split('\n').length] as const).filter(
      ([, lines]) => lines > 351,
    );
    expect(long).toEqual([]);
  });

  it('skips, focuses and mocks nothing in its tests', () => {
    const loose = /\.(?:skip|only|todo)\(|\bit\.fails|\bvi\.mock\(/;
    const own = 'test/boundaries.test.ts';
    expect(
      SOURCES.filter(({ room, path, text }) => room === 'test' && path !== own && loose.test(text)).map(
        ({ path }) => path,
      ),
    ).toEqual([]);
  });
});
