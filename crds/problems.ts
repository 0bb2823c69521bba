/** Problems of a manifest or an inline config, as a user reads them. */
import type { z } from 'zod';

export interface Problem {
  /** Where, e.g. `config.targets[0].retry.attempts`. */
  readonly path: string;
  /** What would be right, e.g. `must be at most 5, got 9`. */
  readonly message: string;
}

type Issue = z.core.$ZodIssue;
type Path = readonly PropertyKey[];

function step(key: PropertyKey): string {
  if (typeof key === 'number') return `[${key}]`;
  const name = String(key);
  return /^[A-Za-z_$][\w$]*$/.test(name) ? `.${name}` : `[${JSON.stringify(name)}]`;
}

/** `config` and `['targets', 0, 'retry']` give `config.targets[0].retry`; without a root, `targets[0].retry`. */
export function formatPath(root: string, path: Path): string {
  const text = root + path.map(step).join('');
  return text.startsWith('.') ? text.slice(1) : text;
}

function isAboutType(issue: Issue): boolean {
  return issue.path.length === 0 && (issue.code === 'invalid_type' || issue.code === 'invalid_value');
}

/** Of alternatives, the one that the value was meant to be: whose type fits. None fits: all that would have. */
function flatten(issue: Issue, path: Path): { path: Path; message: string }[] {
  if (issue.code !== 'invalid_union') return [{ path, message: issue.message }];
  const meant = issue.errors.find((issues) => !issues.some(isAboutType));
  if (meant !== undefined) return meant.flatMap((inner) => flatten(inner, [...path, ...inner.path]));
  const wishes = issue.errors.flatMap((issues) => issues.filter(isAboutType).map(({ message }) => message));
  const [first = 'is not valid', ...others] = [...new Set(wishes)];
  const rest = others.map((wish) => wish.replace(/^must be /, '').replace(/, got .*$/, ''));
  return [{ path, message: rest.length === 0 ? first : first.replace(/, got /, ` or ${rest.join(' or ')}, got `) }];
}

/** Every problem once, in the order in which they were found. `root` names the whole: `config`, `spec`, ... */
export function problemsOf(error: z.ZodError, root = 'config'): Problem[] {
  const problems = error.issues.flatMap((issue) => flatten(issue, issue.path));
  const unique = new Map(
    problems.map(({ path, message }) => {
      const where = formatPath(root, path);
      return [`${where}\n${message}`, { path: where, message }];
    }),
  );
  return [...unique.values()];
}
