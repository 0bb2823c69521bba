/** Where the control plane is: each of these and all below it, with and without `/v1` before it. */
const ROOTS = ['/policies', '/api-keys', '/prompts', '/labels', '/collections'] as const;
const PREFIXES = ['/v1', ''] as const;

/** With each prefix, e.g. `/v1/policies`. */
export function controlPlanePaths(root: string): readonly string[] {
  return PREFIXES.map((prefix) => prefix + root);
}

const PATHS = ROOTS.flatMap(controlPlanePaths);

/** `path` without its query. */
export function isControlPlanePath(path: string): boolean {
  return PATHS.some((known) => path.startsWith(known) && (path.length === known.length || path[known.length] === '/'));
}
