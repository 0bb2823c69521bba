/** Names by which versions are found. */
import { MAX_PROMPT_NAME_CHARS, versionName } from '#crds/prompts/version-name.ts';
import type { AcceptedObject } from './check.ts';
import type { Verdict } from './status.ts';

/** A prompt's must leave room for those of its versions, and a version's must be that of its number. */
export function promptNameVerdict(object: AcceptedObject): Verdict | undefined {
  const { name } = object.manifest;
  if (object.kind === 'PromptVersion') {
    const { kind, prompt, version } = object.spec;
    const right = versionName(kind, prompt, version);
    return name === right ? undefined : invalid(`must be ${right}, as its spec has it`);
  }
  if (object.kind !== 'Prompt' && object.kind !== 'PromptPartial') return undefined;
  if (name.length <= MAX_PROMPT_NAME_CHARS) return undefined;
  return invalid(`must have at most ${MAX_PROMPT_NAME_CHARS} characters, got ${name.length}`);
}

function invalid(what: string): Verdict {
  return { reason: 'InvalidSpec', message: `metadata.name: ${what}` };
}
