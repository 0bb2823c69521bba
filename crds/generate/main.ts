/** `npm run generate` writes crds/generated; with --check it writes nothing and exits 1 naming what is not current. */
import { fileURLToPath } from 'node:url';
import { ERRORS } from '#gateway/errors.ts';
import { KINDS } from '../kinds/kinds.ts';
import { outputs, staleFiles, writeFiles } from './outputs.ts';

const directory = fileURLToPath(new URL('../generated/', import.meta.url));
const flags = process.argv.slice(2);
const unknown = flags.find((flag) => flag !== '--check');
if (unknown !== undefined) {
  console.error(`unknown argument ${unknown}: use --check, or nothing`);
  process.exit(2);
}

const errors = Object.entries(ERRORS).map(([code, [status, type, fix]]) => ({ code, status, type, fix }));
const files = outputs(KINDS, errors);
const stale = staleFiles(directory, files);
if (!flags.includes('--check')) {
  writeFiles(directory, files);
  console.log(`crds/generated: ${files.size} files written, ${stale.length} changed`);
} else if (stale.length > 0) {
  console.error(`not current, run npm run generate: ${stale.map((name) => `crds/generated/${name}`).join(', ')}`);
  process.exitCode = 1;
}
