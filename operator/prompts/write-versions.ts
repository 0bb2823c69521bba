/** Versions of prompts are stored before they are served: what is referred to by its number must never be lost. */
import { ApiError } from '#crds/api/api-error.ts';
import type { Compiled } from '../compile/compile.ts';
import { inParallel } from '../in-parallel.ts';
import type { Source } from '../source/source.ts';

const AT_ONCE = 16;
const CONFLICT = 409;

/** What could not be written: `PromptVersion ns/name: why`. */
export async function writeVersions(
  { lacking, unmarked }: Compiled['versions'],
  source: Pick<Source, 'writeObject' | 'annotate'>,
): Promise<readonly string[]> {
  const failures: string[] = [];
  const note = ({ namespace, name }: { readonly namespace: string; readonly name: string }, error: unknown) => {
    if (!isTaken(error)) failures.push(`PromptVersion ${namespace}/${name}: ${(error as Error).message}`);
  };
  await inParallel(lacking, AT_ONCE, (version) => source.writeObject(version).catch((error) => note(version, error)));
  await inParallel(unmarked, AT_ONCE, ({ manifest, annotations }) =>
    source.annotate(manifest, annotations).catch((error) => note(manifest, error)),
  );
  return failures.sort();
}

/** Somebody else made a version of that number: the next pass counts it. */
function isTaken(error: unknown): boolean {
  return error instanceof ApiError && error.status === CONFLICT;
}
