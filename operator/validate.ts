/** Checks manifests offline with the operator's own compile. Exit status: 0 all accepted, 1 some refused, 2 wrong usage. */
import { resolve } from 'node:path';
import { readCommandLine } from '#crds/command/command-line.ts';
import { assertExist, refuseToStart } from '#crds/command/entry.ts';
import { CATALOG } from '#gateway/catalog.ts';
import { compile } from './compile/compile.ts';
import { VALIDATE_FLAGS } from './flags.ts';
import { openDirectory } from './source/directory/directory.ts';
import { verdictLines } from './verdict-lines.ts';

const USAGE =
  'Usage: npm run validate -- [flags] PATH...\n\nChecks manifests: files, or directories with all below them.\n';

const here = process.env.INIT_CWD ?? process.cwd();
const parsed = readCommandLine(VALIDATE_FLAGS, USAGE, { environment: process.env, takesPaths: true });
if (parsed.paths.length === 0) refuseToStart('validate: name at least one file or directory; see --help');
const paths = parsed.paths.map((path) => resolve(here, path));
assertExist('validate', paths);

const source = await openDirectory({
  manifests: paths,
  secretsDirectory: undefined,
  // Credentials are where the gateway runs, not where manifests are checked.
  environment: (name) => `value-of-environment-variable-${name}`,
  shownFrom: here,
  live: false,
});
const observation = source.observe();
const settings = { organisationNamespace: parsed.values['organisation-namespace'], requestHosts: [] };
const { statuses } = compile({ ...observation, settings }, new Map(), { catalog: CATALOG });
const { lines, isValid } = verdictLines(statuses, observation);
process.stdout.write(`${lines.join('\n')}\n`);
process.exitCode = isValid ? 0 : 1;
