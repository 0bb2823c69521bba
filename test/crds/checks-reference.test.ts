/** The page of checks: whole, and what it shows works. */
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { checksReference } from '#crds/generate/checks-reference.ts';
import { jsonSchemaOf } from '#crds/generate/json-schema.ts';
import { CHECKS, compileCheck } from '#gateway/checks/checks.ts';
import { testMeans } from '../checks/means.ts';

const PAGE = checksReference(CHECKS);
const [INTRODUCTION = '', ...SECTIONS] = PAGE.split(/^## /m);

function sectionOf(id: string): string {
  return SECTIONS.find((section) => section.startsWith(`\`${id}\`\n`)) ?? '';
}

/** Cells of the rows of its table. */
function rowsOf(section: string): string[][] {
  const lines = section.split('\n').filter((line) => line.startsWith('| `'));
  return lines.map((line) => line.split(/(?<!\\)\|/).map((cell) => cell.trim()));
}

describe('checks.md', () => {
  it('has every check once, in the order of the catalogue', () => {
    expect(SECTIONS.map((section) => section.split('\n')[0])).toEqual(CHECKS.map(({ id }) => `\`${id}\``));
  });

  it.each(CHECKS)('tells what $id does, where, and under which other names', ({ id, does, sides, aliases }) => {
    const section = sectionOf(id);
    expect(section).toContain(`\n${does}\n`);
    expect(section).toContain({ request: 'requests only', response: 'answers only', both: 'and answers' }[sides]);
    for (const alias of aliases) expect(section).toContain(`\`${alias}\``);
  });

  it.each(CHECKS)('has a row with a meaning for every parameter of $id', ({ id, parameters }) => {
    const rows = rowsOf(sectionOf(id));
    const { properties = {}, required = [] } = jsonSchemaOf(parameters);
    const top = rows.map(([, name = '']) => name).filter((name) => !/[.[]/.test(name));
    const named = Object.keys(properties).map((name) => `\`${name}\`${required.includes(name) ? ' (required)' : ''}`);
    expect(top).toEqual(named);
    for (const row of rows) {
      expect(row, row.join('|')).toHaveLength(7);
      expect(row[2], `type of ${row[1]}`).not.toBe('');
      expect(row[5], `meaning of ${row[1]}`).not.toBe('');
    }
  });

  it.each(CHECKS)('shows an example of $id that works, and what becomes of errors', ({ id }) => {
    const yaml = /```yaml\n([\s\S]*?)```/.exec(sectionOf(id))?.[1] ?? '';
    const [item, ...more] = parse(yaml) as { id: string; parameters?: unknown }[];
    expect(more).toEqual([]);
    const compiled = compileCheck(item?.id ?? '', item?.parameters, testMeans());
    const failOnError = rowsOf(sectionOf(id)).find(([, name]) => name === '`failOnError`')?.[4];
    expect(compiled).toMatchObject({ id: item?.id, failOnError: failOnError === '`true`' });
    expect(failOnError).toMatch(/^`(?:true|false)`$/);
  });

  it.each([
    '| `words` (required) | list of string | 1 to 1000 items; each 1 to 1024 characters |  | Words or phrases, found inside other words too. |',
    '| `operator` | `any`, `all`, `none` |  | `"any"` | How many of them must occur. |',
    '| `metadataPairs` (required) | object of (string or list of string) |  |  |',
    '| `rules.metadata` | object of (object of (list of string)) |  | `{}` | Key of the metadata -> its rules. |',
    '| `headers` | object of strings |  | `{}` |',
  ])('%s', (row) => expect(PAGE).toContain(row));

  it('links to every section', () => {
    const links = [...INTRODUCTION.matchAll(/\]\(#([a-z0-9-]+)\)/g)].map((match) => match[1]);
    expect(links).toHaveLength(CHECKS.length);
    expect(new Set(links).size).toBe(CHECKS.length);
    expect(links).toContain('defaultregexmatch');
    expect(links).toContain('vendorclassify');
  });
});
