/** `npm run generate` writes what is generated; with --check it writes nothing and exits 1 naming what is not current. */
import { fileURLToPath } from 'node:url';
import { CHECKS } from '#gateway/checks/checks.ts';
import { ERRORS } from '#gateway/errors.ts';
import { PROVIDERS } from '#gateway/providers/registry.ts';
import { KINDS } from '../kinds/kinds.ts';
import { chartFolders } from './chart-files.ts';
import { outputs, staleFiles, writeFiles } from './outputs.ts';

const root = new URL('../../', import.meta.url);
const flags = process.argv.slice(2);
const unknown = flags.find((flag) => flag !== '--check');
if (unknown !== undefined) {
  console.error(`unknown argument ${unknown}: use --check, or nothing`);
  process.exit(2);
}

const errors = Object.entries(ERRORS).map(([code, [status, type, fix]]) => ({ code, status, type, fix }));
const prices = [...PROVIDERS.values()].flatMap(({ name, models }) =>
  models === undefined ? [] : [{ name, ...models }],
);
const folders = [
  { path: 'crds/generated/', files: outputs(KINDS, errors, prices, CHECKS), isOurs: true },
  ...chartFolders(KINDS),
];
const stale = folders.flatMap(({ path, files, isOurs }) =>
  staleFiles(fileURLToPath(new URL(path, root)), files, isOurs).map((name) => `${path}${name}`),
);
if (!flags.includes('--check')) {
  for (const { path, files } of folders) {
    writeFiles(fileURLToPath(new URL(path, root)), files);
    console.log(`${path}: ${files.size} files written`);
  }
  console.log(`${stale.length} changed`);
} else if (stale.length > 0) {
  console.error(`not current, run npm run generate: ${stale.join(', ')}`);
  process.exitCode = 1;
}
