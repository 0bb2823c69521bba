/** Runs the Lua that Argo CD's health checks are written in, as far as ours goes: local, if, for over ipairs, return, tables. */
import { runInNewContext } from 'node:vm';

type Rewrite = readonly [from: RegExp, to: string];

const REWRITES: readonly Rewrite[] = [
  [/\blocal (\w+)/g, 'let $1'],
  [/\bfor _, (\w+) in ipairs\((.+?)\) do\b/g, 'for (const $1 of $2) {'],
  [/\bif (.+?) then\b/g, 'if ($1) {'],
  [/\bend\b/g, '}'],
  [/ and /g, ' && '],
  [/ or /g, ' || '],
  [/~=/g, '!='],
  [/\bnil\b/g, 'undefined'],
  [/ \.\. /g, ' + '],
];
const TABLE = /\{ ([^{}]*=[^{}]*) \}/g;
const TEXT = /"(?:[^"\\]|\\.)*"/g;

/** What the script returns for `obj`. Throws SyntaxError for what is not known here. */
export function runHealthLua(script: string, object: object): { readonly status: string; readonly message: string } {
  const texts = script.match(TEXT) ?? [];
  let count = 0;
  const bare = script.replace(TEXT, () => `$${count++}$`);
  const tables = bare.replace(TABLE, (_, fields: string) => `({ ${fields.replace(/(\w+) = /g, '$1: ')} })`);
  const code = REWRITES.reduce((out, [from, to]) => out.replace(from, to), tables);
  const whole = code.replace(/\$(\d+)\$/g, (_, index) => texts[index] ?? '');
  return { ...runInNewContext(`(function () {\n${whole}\n})()`, { obj: object }) };
}
