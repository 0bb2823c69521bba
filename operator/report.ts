/** What a user reads of the loop: a table at the start, and a line for each thing that changes. Pure text. */
import { type ConditionType, conditionOf, type ObjectStatus } from './compile/status.ts';
import type { Pass } from './loop.ts';
import { identityOf, type Place, type Problem } from './world.ts';

export type Report = Pick<Pass, 'statuses' | 'problems' | 'writeFailures'>;

const COLUMNS = ['Accepted', 'ResolvedRefs', 'Programmed', 'Ready'] as const;
const TITLES = ['KIND', 'OBJECT', 'ACCEPTED', 'RESOLVED', 'PROGRAMMED', 'READY', 'FROM'];
/** First of these that does not hold explains the object. */
const EXPLAINING: readonly ConditionType[] = ['Accepted', 'ResolvedRefs', 'Programmed'];

/** A row per object, the reason below each that is not ready, then what was read and is no object. */
export function tableOf(report: Report): string {
  const rows = report.statuses.map((status) => [
    status.kind,
    `${status.namespace}/${status.name}`,
    ...COLUMNS.map((type) => conditionOf(status, type)?.status ?? '-'),
    shownPlace(status.place),
  ]);
  const widths = TITLES.map((title, column) => Math.max(title.length, ...rows.map((row) => row[column]?.length ?? 0)));
  const line = (cells: readonly string[]) =>
    cells
      .map((cell, column) => cell.padEnd(widths[column] ?? 0))
      .join('  ')
      .trimEnd();
  const lines = rows.map((row, index) =>
    [line(row), ...notesOf(report.statuses[index]).map((note) => `    ${note}`)].join('\n'),
  );
  const table = rows.length === 0 ? ['no objects'] : [line(TITLES), ...lines];
  return [...table, ...report.problems.map(problemLine), ...report.writeFailures.map(failureLine)].join('\n');
}

/** One line for each change between two passes; [] when there is nothing to tell. */
export function changesBetween(before: Report, after: Report): string[] {
  const known = new Map(before.statuses.map((status) => [subjectOf(status), status]));
  const current = new Map(after.statuses.map((status) => [subjectOf(status), status]));
  const gone = [...known].filter(([subject]) => !current.has(subject));
  return [
    ...gone.map(
      ([subject, status]) => `${subject}: ${status.kind === 'Secret' ? 'can be used now, or is gone' : 'removed'}`,
    ),
    ...[...current].flatMap(([subject, status]) => statusChange(subject, known.get(subject), status)),
    ...newLines(before.problems.map(problemLine), after.problems.map(problemLine)),
    ...solved(before.problems, after.problems),
    ...newLines(before.writeFailures.map(failureLine), after.writeFailures.map(failureLine)),
  ];
}

/** `file:line subject: reason: message`, the one form of everything that is wrong. */
export function problemLine({ place, subject, reason, message }: Problem): string {
  return `${shownPlace(place)}${subject === '' ? '' : ` ${subject}`}: ${reason}: ${message}`;
}

/** Why an object is not ready, and its warnings. */
export function notesOf(status: ObjectStatus | undefined): string[] {
  if (status === undefined) return [];
  const failing = EXPLAINING.map((type) => conditionOf(status, type)).find((condition) => condition?.status !== 'True');
  const warning = conditionOf(status, 'Warning');
  return [failing, warning].flatMap((condition) => {
    if (condition === undefined) return [];
    const label = condition.type === 'Warning' ? 'warning: ' : '';
    return [`${label}${condition.reason}${condition.message === '' ? '' : `: ${condition.message}`}`];
  });
}

export function shownPlace(place: Place | undefined): string {
  return place === undefined ? '-' : `${place.file}:${place.line}`;
}

function statusChange(subject: string, before: ObjectStatus | undefined, after: ObjectStatus): string[] {
  const word = (type: (typeof COLUMNS)[number]) => `${type}=${conditionOf(after, type)?.status ?? '-'}`;
  if (before !== undefined && fingerprint(before) === fingerprint(after)) return [];
  const changed = COLUMNS.filter(
    (type) => conditionOf(before ?? after, type)?.status !== conditionOf(after, type)?.status,
  );
  const shown = before === undefined || changed.length === 0 ? (['Ready'] as const) : changed;
  const notes = notesOf(after).map((note) => `; ${note}`);
  return [
    `${subject}: ${before === undefined ? 'new, ' : ''}${shown.map(word).join(' ')}${notes.join('')} (${shownPlace(after.place)})`,
  ];
}

/** Generation numbers in messages are no change of a condition. */
function fingerprint(status: ObjectStatus): string {
  return JSON.stringify([COLUMNS.map((type) => conditionOf(status, type)?.status), notesOf(status)]);
}

function subjectOf(status: ObjectStatus): string {
  return status.isDuplicate ? `${identityOf(status)} in ${status.place?.file ?? 'the cluster'}` : identityOf(status);
}

function newLines(before: readonly string[], after: readonly string[]): string[] {
  return after.filter((line) => !before.includes(line));
}

/** A place that had problems and has none. */
function solved(before: readonly Problem[], after: readonly Problem[]): string[] {
  const files = new Set(before.filter(({ severity }) => severity === 'refused').map(({ place }) => place.file));
  for (const { place, severity } of after) if (severity === 'refused') files.delete(place.file);
  return [...files].map((file) => `${file}: its problem is solved`);
}

function failureLine(failure: string): string {
  return `could not be written: ${failure}`;
}
