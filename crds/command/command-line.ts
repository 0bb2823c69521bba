/** The command line of a program, read or answered: --help, --version and wrong flags end it at once. */
import { answerAndExit, projectVersion, refuseToStart } from './entry.ts';
import { type FlagInput, type FlagTable, type FlagValues, helpOf, parseFlags } from './parse-flags.ts';

export interface CommandLine<T extends FlagTable> {
  readonly values: FlagValues<T>;
  /** What stands there besides flags. */
  readonly paths: readonly string[];
}

/** `usage`: what --help says before the flags. */
export function readCommandLine<T extends FlagTable>(
  table: T,
  usage: string,
  { environment, takesPaths = false }: Pick<FlagInput, 'environment'> & Partial<Pick<FlagInput, 'takesPaths'>>,
): CommandLine<T> {
  const parsed = parseFlags(table, { argv: process.argv.slice(2), environment, takesPaths });
  if ('problem' in parsed) refuseToStart(parsed.problem);
  const { help, version }: { readonly help?: unknown; readonly version?: unknown } = parsed.values;
  if (help === true) answerAndExit(`${usage}\n${helpOf(table)}`);
  if (version === true) answerAndExit(projectVersion());
  return parsed;
}
