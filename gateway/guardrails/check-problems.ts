/** What is wrong with the checks of a manifest or an inline config, before anything runs. */
import { guardItems, INPUT_LISTS, OUTPUT_LISTS } from '#crds/config/guard-items.ts';
import type { Config } from '#crds/config/schema.ts';
import { nearest } from '#crds/config/spelling.ts';
import { formatPath, type Problem, problemsOf } from '#crds/problems.ts';
import { CHECKS, findCheck } from '../checks/checks.ts';

export interface CheckProblem extends Problem {
  /** The catalogue has no such check. */
  readonly isUnknown: boolean;
}

/** Where the id of a check stands, and where its parameters do. */
interface Places {
  readonly id: string;
  readonly parameters: string;
}

export function checkProblems(id: string, parameters: unknown, places: Places): readonly CheckProblem[] {
  const check = findCheck(id);
  if (check === undefined) return [{ path: places.id, message: unknownCheck(id), isUnknown: true }];
  const { error } = check.parameters.safeParse(parameters);
  if (error === undefined) return [];
  return problemsOf(error, places.parameters).map((problem) => ({ ...problem, isUnknown: false }));
}

function unknownCheck(id: string): string {
  const known = CHECKS.map((check) => check.id);
  const meant = nearest(id.includes('.') ? id : `default.${id}`, known);
  const hint = meant === undefined ? 'see the list of checks in the reference' : `did you mean "${meant}"?`;
  return `the catalogue has no check "${id.slice(0, 64)}": ${hint}`;
}

/** Of one config, not of the targets below it. `root` names it, e.g. `spec.targets[0]`. */
export function configCheckProblems(config: Config, root: string): readonly CheckProblem[] {
  return [...INPUT_LISTS, ...OUTPUT_LISTS]
    .flatMap((list) => guardItems(config, list) ?? [])
    .flatMap(({ checks = [] }) => checks)
    .flatMap(({ id, parameters, idPath, parametersPath }) =>
      checkProblems(id, parameters, { id: formatPath(root, idPath), parameters: formatPath(root, parametersPath) }),
    );
}

/** As above, with the targets below it. */
export function treeCheckProblems(config: Config, root: string): readonly CheckProblem[] {
  const below = (config.targets ?? []).flatMap((target, index) =>
    treeCheckProblems(target, `${root}.targets[${index}]`),
  );
  return [...configCheckProblems(config, root), ...below];
}
