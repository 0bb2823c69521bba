export interface ErrorRow {
  readonly code: string;
  readonly status: number;
  readonly type: string;
  /** What the caller can do. */
  readonly fix: string;
}

/** Markdown table of the error codes, by status and code. */
export function errorsReference(rows: readonly ErrorRow[]): string {
  const sorted = [...rows].sort((a, b) => a.status - b.status || (a.code < b.code ? -1 : 1));
  const lines = sorted.map(
    ({ code, status, type, fix }) => `| \`${code}\` | ${status} | \`${type}\` | ${fix.replaceAll('|', '\\|')} |`,
  );
  return [
    '# Errors',
    '',
    'Written by `npm run generate` from the table of errors; do not edit.',
    'Every error is `{"error": {"message", "type", "code", "param"}}`; an error of a provider keeps its own status, type and code.',
    '',
    '| code | status | type | what to do |',
    '|---|---|---|---|',
    ...lines,
    '',
  ].join('\n');
}
