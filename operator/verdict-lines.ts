/** What `validate` prints: a line for each thing that is wrong, and a summary. Pure text. */
import { conditionOf, type ObjectStatus } from './compile/status.ts';
import { problemLine, shownPlace } from './report.ts';
import type { Observation } from './world.ts';

export interface VerdictLines {
  readonly lines: readonly string[];
  /** Nothing is refused, and there was something to check. */
  readonly isValid: boolean;
}

/** Manifests are often checked without the Secrets that they need: that these are missing is no news. */
const EXPECTED: ReadonlySet<string> = new Set(['SecretNotFound', 'SecretPending', 'VersionPending']);

export function verdictLines(
  statuses: readonly ObjectStatus[],
  { manifests, secrets, problems }: Observation,
): VerdictLines {
  const refused = statuses.filter((status) => conditionOf(status, 'Accepted')?.status === 'False');
  const wrong = problems.filter(({ severity }) => severity === 'refused');
  const ignored = problems.length - wrong.length;
  const objects = manifests.length + secrets.length;
  const count = refused.length + wrong.length;
  const summary = [
    `${objects} ${objects === 1 ? 'object' : 'objects'}`,
    `${objects - refused.length} accepted`,
    `${count} refused`,
    ...(ignored === 0 ? [] : [`${ignored} ignored`]),
  ].join(', ');
  const empty = objects === 0 && count === 0 ? ['no objects of modelgateway.dev were found'] : [];
  return {
    lines: [...problems.map(problemLine), ...statuses.flatMap(linesOf), ...empty, summary],
    isValid: count === 0 && objects > 0,
  };
}

function linesOf(status: ObjectStatus): string[] {
  const subject = `${shownPlace(status.place)} ${status.kind}/${status.name}`;
  const accepted = conditionOf(status, 'Accepted');
  if (accepted?.status === 'False') return [`${subject}: ${accepted.reason}: ${accepted.message}`];
  const resolved = conditionOf(status, 'ResolvedRefs');
  const notes = [
    resolved?.status === 'False' && !EXPECTED.has(resolved.reason) ? resolved : undefined,
    conditionOf(status, 'Warning'),
  ];
  return notes.flatMap((note) => (note === undefined ? [] : [`${subject}: warning: ${note.reason}: ${note.message}`]));
}
